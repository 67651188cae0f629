//! Commands of orders.

use tributary_functions::{http::KEY_USED, prelude::*};

use crate::{
    WebStore,
    model::{CustomerId, NewOrder, OrderId, PublicOrder, SalesOrder},
};

/// Creates an order and counts it, in one transaction, with the names and prices that its products
/// have now: three store requests, and one more for each category beyond the first.
pub async fn create_order(
    State(store): State<WebStore>,
    actor: Actor,
    Params(customer_id): Params<CustomerId>,
    key: Option<IdempotencyKey>,
    command: CommandId,
    JsonBody(new): JsonBody<NewOrder>,
) -> Result<ItemResponse<PublicOrder>, ApiError> {
    actor.must_be(customer_id.as_str())?;
    let id: OrderId = new_id(key.as_ref(), &format!("order {customer_id}"))?;
    let is_same = |known: &SalesOrder| known.request == new.digest();
    let created = retry(async |_| {
        let products = store.products_of(&new).await?;
        let Some(order) = new.priced(id.clone(), customer_id.clone(), &products) else {
            // A product may have been deleted since an earlier request with this key, and the order as
            // well: a replica that is behind still has it.
            let none = ApiError::NotFound("product");
            let Some(_) = &key else { return Err(none) };
            let orders = store.latest_committed().customers;
            let known = orders.item::<SalesOrder>(&customer_id, &id).await?.ok_or(none)?;
            return if is_same(&known.item) { Ok(known) } else { Err(KEY_USED) };
        };
        store.orders.create_once(&customer_id, order, FamilyRequest::new(&command), is_same).await
    });
    let Stored { item: SalesOrder { public, .. }, etag } = created.await?;
    Ok(http::created(&format!("/api/customers/{customer_id}/orders/{id}"), &public, &etag))
}

/// Deletes an order and counts it off, in one transaction: two store requests, and one more under a
/// condition.
pub async fn delete_order(
    State(store): State<WebStore>,
    actor: Actor,
    Params((customer_id, id)): Params<(CustomerId, OrderId)>,
    command: ItemCommand,
) -> Result<StatusCode, ApiError> {
    actor.must_be(customer_id.as_str())?;
    let owner: fn(&SalesOrder) -> &str = |order| order.public.customer_id.as_str();
    command.delete_child(&store.orders, (&customer_id, id), &Actor::ANY_USER, owner).await
}
