//! `GET /customers/{customerId}/orders`.

use axum::{Json, extract::State};
use tributary_functions::{
    engines::child_list::{ChildList, ListOrder, SortKey},
    http::{Actor, ApiError, List, PageRequest, Params},
};

use crate::{
    Customers,
    model::{CustomerId, PublicOrder},
};

/// The list of a customer's orders, newest first. In the alphabet the type `salesOrder` comes after
/// `customer`.
pub(crate) const ORDER_LIST: ChildList = ChildList {
    key: "customerId",
    parent: "customer",
    child: "salesOrder",
    types: "c.type >= @parent",
    date: "orderDate",
    id_prefix: "",
    shape: "{id: c.id, customerId: c.customerId, orderDate: c.orderDate, items: c.items, \
             total: c.total}",
    order: ListOrder::NewestFirst,
};

/// Returns a page of a customer's orders: one query in the customer's logical partition.
pub async fn list_orders(
    State(customers): State<Customers>,
    actor: Actor,
    Params(id): Params<CustomerId>,
    page: PageRequest<SortKey>,
) -> Result<Json<List<PublicOrder>>, ApiError> {
    actor.must_be(id.as_str())?;
    let key = |order: &PublicOrder| SortKey(order.order_date, order.id.to_string());
    page.of_children(&ORDER_LIST, &customers.customers, id.as_str(), key).await
}
