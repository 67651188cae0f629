//! The queries: each is one store request in one logical partition, top customers excepted.

use schemars::JsonSchema;
use serde::Serialize;
use tributary_functions::{
    engines::name_list::{NameKey, NameList},
    http::{found, limit_of, parameter_of},
    prelude::*,
};

use crate::{
    WebStore,
    model::{
        CategoryId, CustomerId, CustomerView, LEADERBOARD_PARTITION, LabelId, Name, OrderId,
        Product, ProductId, PublicCustomer, PublicLabel, PublicOrder, PublicProduct,
        RankedCustomer, SalesOrder,
    },
};

/// Returns a label: one point read.
pub async fn get_label<Id: LabelId>(
    State(store): State<WebStore>,
    Params(id): Params<Id>,
    conditions: Conditions,
) -> Result<ItemResponse<PublicLabel>, ApiError> {
    let label = store.label(&id).await?;
    Ok(found(&conditions, &label.item.public, &label.etag))
}

const LABEL_LIST: NameList =
    NameList { key: "type", kind: ("state", "live"), select: "c.id, c.name" };

/// Returns all categories, or all tags, by name: one query in their partition.
pub async fn list_labels<Id: LabelId>(
    State(store): State<WebStore>,
    page: PageRequest<NameKey<Name>>,
) -> Result<Json<List<PublicLabel>>, ApiError> {
    let key = |label: &PublicLabel| NameKey::new(&label.name, &label.id);
    Ok(Json(page.of_names(&LABEL_LIST, &store.labels, Id::KIND.as_str(), key).await?))
}

/// Returns a product with the names of its labels: one point read.
pub async fn get_product(
    State(store): State<WebStore>,
    Params((category_id, id)): Params<(CategoryId, ProductId)>,
    conditions: Conditions,
) -> Result<ItemResponse<PublicProduct>, ApiError> {
    let product = store.products.item::<Product>(&category_id, &id).await?;
    let product = product.ok_or(ApiError::NotFound("product"))?;
    Ok(found(&conditions, &product.item.public(), &product.etag))
}

const PRODUCT_LIST: NameList = NameList {
    key: "categoryId",
    kind: ("type", "product"),
    select: "c.id, c.categoryId, c.categoryName, c.sku, c.name, c.description, c.price, c.tags",
};

/// Returns the products of a category by name: one query in its partition.
///
/// A category in use is never deleted, so its products show that it exists. If the page is empty, the
/// category is read, too.
pub async fn list_products(
    State(store): State<WebStore>,
    Params(category_id): Params<CategoryId>,
    page: PageRequest<NameKey<Name>>,
) -> Result<Json<List<PublicProduct>>, ApiError> {
    let key = |product: &PublicProduct| NameKey::new(&product.name, product.id.as_str());
    let list = page.of_names(&PRODUCT_LIST, &store.products, category_id.as_str(), key).await?;
    if list.is_empty() {
        store.label(&category_id).await?;
    }
    Ok(Json(list))
}

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
    State(store): State<WebStore>,
    actor: Actor,
    Params(id): Params<CustomerId>,
    RawQuery(query): RawQuery,
    conditions: Conditions,
) -> Result<ItemResponse<CustomerAnswer>, ApiError> {
    actor.must_be(id.as_str())?;
    let included = parameter_of(query.as_deref(), "include")?;
    match included.as_deref() {
        None => {
            // Read as a type without a field for a password.
            let stored = store.customers.read(id.as_str(), id.as_str()).await?;
            let customer = stored.and_then(|it| it.filter_map(CustomerView::customer));
            let customer = customer.ok_or(ApiError::NotFound("customer"))?;
            Ok(found(&conditions, &CustomerAnswer::Alone(customer.item), &customer.etag))
        }
        Some("orders") => {
            let id = id.as_str();
            let customers = &store.customers;
            let list = ORDER_LIST.with_parent(customers, id, MAX_INCLUDED_ORDERS, CUSTOMER_OBJECT);
            let (customer, orders) = list.await?.ok_or(ApiError::NotFound("customer"))?;
            Ok(Json(CustomerAnswer::WithOrders { customer, orders }).into())
        }
        Some(_) => Err(ApiError::invalid("include", "must be `orders`")),
    }
}

/// Returns an order: one point read.
pub async fn get_order(
    State(store): State<WebStore>,
    actor: Actor,
    Params((customer_id, id)): Params<(CustomerId, OrderId)>,
    conditions: Conditions,
) -> Result<ItemResponse<PublicOrder>, ApiError> {
    actor.must_be(customer_id.as_str())?;
    let order = store.customers.item::<SalesOrder>(&customer_id, &id).await?;
    let order = order.ok_or(ApiError::NotFound("order"))?;
    Ok(found(&conditions, &order.item.public, &order.etag))
}

/// The list of a customer's orders, newest first. In the alphabet the type `salesOrder` comes after
/// `customer`.
const ORDER_LIST: ChildList = ChildList {
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
    State(store): State<WebStore>,
    actor: Actor,
    Params(id): Params<CustomerId>,
    page: PageRequest<SortKey>,
) -> Result<Json<List<PublicOrder>>, ApiError> {
    actor.must_be(id.as_str())?;
    let key = |order: &PublicOrder| SortKey(order.order_date, order.id.to_string());
    page.of_children(&ORDER_LIST, &store.customers, id.as_str(), key).await
}

/// Returns the customers with the most orders, at most 100; equal counts by id. E-mail addresses, phone
/// numbers and addresses are not part of a report.
///
/// `source=query`, the default, is a fan-out to all partitions of the customers: at least one store
/// request for each physical partition. `source=leaderboard` reads the one partition of the
/// leaderboard, which is as far behind as the change feed.
pub async fn get_top_customers(
    State(store): State<WebStore>,
    RawQuery(query): RawQuery,
) -> Result<StoredItems<RankedCustomer>, ApiError> {
    let limit = limit_of(query.as_deref(), 10)?;
    let source = parameter_of(query.as_deref(), "source")?;
    let (container, scope) = match source.as_deref() {
        None | Some("query") => (&store.customers, Scope::Container),
        Some("leaderboard") => (&store.leaderboard, Scope::Partition(LEADERBOARD_PARTITION)),
        Some(_) => return Err(ApiError::invalid("source", "must be `query` or `leaderboard`")),
    };
    // The query reads the fields of `RankedCustomer`, and no private ones.
    let query = Query::from(
        "SELECT TOP @limit c.id, c.customerId, c.title, c.firstName, c.lastName, \
         c.salesOrderCount, c.creationDate FROM c \
         WHERE c.type = 'customer' ORDER BY c.salesOrderCount DESC, c.id ASC",
    );
    let query = query.with_parameter("@limit", limit)?;
    Ok(container.query(query, scope, limit).await?.into())
}
