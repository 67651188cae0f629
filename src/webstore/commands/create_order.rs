//! `POST /customers/{customerId}/orders`.

use axum::extract::State;
use tributary_functions::{
    cosmos::{Attempt, Stored, retry},
    engines::{
        counted_children::{CreateOutcome, FamilyRequest},
        idempotency::IdempotencyKey,
    },
    http::{self, Actor, ApiError, ItemResponse, JsonBody, Params, from_form},
    values::CommandId,
};

use crate::{
    Customers,
    model::{
        CategoryId, CustomerId, MAX_LINES, NewOrder, NewOrderLine, OrderId, ProductId, PublicOrder,
        Quantity, SalesOrder,
    },
};

from_form!(NewOrder(objects("items", 1..=MAX_LINES)));

from_form!(NewOrderLine {
    product_id: text("productId", ProductId::parse),
    category_id: text("categoryId", CategoryId::parse),
    quantity: number("quantity", Quantity::parse),
});

/// Creates an order and counts it, in one transaction, with the names and prices that its products
/// have now: three store requests, and one more for each category beyond the first.
pub async fn create_order(
    State(customers): State<Customers>,
    actor: Actor,
    Params(customer_id): Params<CustomerId>,
    key: Option<IdempotencyKey>,
    command: CommandId,
    JsonBody(new): JsonBody<NewOrder>,
) -> Result<ItemResponse<PublicOrder>, ApiError> {
    actor.must_be(customer_id.as_str())?;
    let from_key = |key| OrderId::from_key(&customer_id, key);
    let id = key.as_ref().map_or_else(OrderId::fresh, from_key);
    retry(async |Attempt { reads, .. }| {
        let customers = customers.reading(reads);
        let products = customers.products_of(&new).await?;
        let Some(order) = new.priced(id.clone(), customer_id.clone(), &products) else {
            // A product may have been deleted since an earlier request with this key.
            let known = match &key {
                Some(_) => customers.order(&customer_id, &id).await?,
                None => None,
            };
            return known.map_or(Err(ApiError::NotFound("product")), |it| repeated(&it, &new));
        };
        let request = FamilyRequest::new(&command, reads);
        match customers.orders.create(&customer_id, order.clone(), request).await? {
            CreateOutcome::Created(etag) => Ok(created(&Stored { item: order, etag })),
            // An earlier attempt, or an earlier request with this key, has created the order.
            CreateOutcome::Exists(stored) => repeated(&stored, &new),
            CreateOutcome::Deleted => Err(ApiError::Conflict(
                "This order was created before and has been deleted. Use another Idempotency-Key to create a new one.",
            )),
            CreateOutcome::NoParent => Err(ApiError::NotFound("customer")),
        }
    })
    .await
}

/// Returns the answer to a request whose order exists. The names and prices of its products may have
/// changed since then, so the lines of the requests are compared.
fn repeated(
    stored: &Stored<SalesOrder>,
    new: &NewOrder,
) -> Result<ItemResponse<PublicOrder>, ApiError> {
    if stored.item.request == new.digest() {
        Ok(created(stored))
    } else {
        Err(ApiError::Conflict("This Idempotency-Key was used with another body."))
    }
}

fn created(
    Stored { item: SalesOrder { public, .. }, etag }: &Stored<SalesOrder>,
) -> ItemResponse<PublicOrder> {
    let location = format!("/api/customers/{}/orders/{}", public.customer_id, public.id);
    http::created(&location, public, etag)
}
