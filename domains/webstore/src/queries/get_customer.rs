//! `GET /customers/{customerId}`.

use axum::{
    Json,
    extract::{RawQuery, State},
};
use schemars::JsonSchema;
use serde::Serialize;
use tributary_functions::{
    cosmos::{Reads, confirm},
    engines::child_list::ParentAndChildren,
    http::{Actor, ApiError, Conditions, ItemResponse, Params, found, parameter_of},
};

use super::list_orders::ORDER_LIST;
use crate::{
    Customers,
    model::{CustomerId, PublicCustomer, PublicOrder},
};

/// The most orders in an answer with `include=orders`.
pub const MAX_INCLUDED_ORDERS: u32 = 100;

/// A customer as an object of Cosmos DB SQL. The password is not part of the object.
const CUSTOMER_OBJECT: &str = "{id: c.id, customerId: c.customerId, title: c.title, \
    firstName: c.firstName, lastName: c.lastName, emailAddress: c.emailAddress, \
    phoneNumber: c.phoneNumber, addresses: c.addresses, salesOrderCount: c.salesOrderCount, \
    creationDate: c.creationDate}";

/// The answer, which depends on `include`.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
pub enum CustomerAnswer {
    Alone(PublicCustomer),
    WithOrders { customer: PublicCustomer, orders: Vec<PublicOrder> },
}

/// Returns a customer: one point read. With `include=orders`, returns the customer and at most 100
/// orders, newest first: one query in the customer's logical partition.
pub async fn get_customer(
    State(customers): State<Customers>,
    actor: Actor,
    Params(id): Params<CustomerId>,
    RawQuery(query): RawQuery,
    conditions: Conditions,
) -> Result<ItemResponse<CustomerAnswer>, ApiError> {
    actor.must_be(id.as_str())?;
    let included = parameter_of(query.as_deref(), "include")?;
    match included.as_deref() {
        None => {
            let find = async |reads| {
                let customer = customers.reading(reads).public_customer(&id).await?;
                let customer = customer.ok_or(ApiError::NotFound("customer"))?;
                Ok(found(&conditions, &CustomerAnswer::Alone(customer.item), &customer.etag))
            };
            confirm(find).await
        }
        Some("orders") => {
            let find = async |reads| with_orders(&customers, &id, reads).await;
            Ok(Json(confirm(find).await?).into())
        }
        Some(_) => Err(ApiError::invalid("include", "must be `orders`")),
    }
}

/// Returns a customer and its newest orders, from one query.
async fn with_orders(
    customers: &Customers,
    id: &CustomerId,
    reads: Reads,
) -> Result<CustomerAnswer, ApiError> {
    let container = customers.customers.reading(reads);
    let list =
        ORDER_LIST.with_parent(&container, id.as_str(), MAX_INCLUDED_ORDERS, CUSTOMER_OBJECT);
    let ParentAndChildren { parent, children } =
        list.await?.ok_or(ApiError::NotFound("customer"))?;
    Ok(CustomerAnswer::WithOrders { customer: parent, orders: children })
}
