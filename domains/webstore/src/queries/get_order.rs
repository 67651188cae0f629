//! `GET /customers/{customerId}/orders/{orderId}`.

use axum::extract::State;
use tributary_functions::{
    cosmos::confirm,
    http::{Actor, ApiError, Conditions, ItemResponse, Params, found},
};

use crate::{
    Customers,
    model::{CustomerId, OrderId, PublicOrder},
};

/// Returns an order: one point read.
pub async fn get_order(
    State(customers): State<Customers>,
    actor: Actor,
    Params((customer_id, id)): Params<(CustomerId, OrderId)>,
    conditions: Conditions,
) -> Result<ItemResponse<PublicOrder>, ApiError> {
    actor.must_be(customer_id.as_str())?;
    let find = async |reads| {
        let order = customers.reading(reads).order(&customer_id, &id).await?;
        let order = order.ok_or(ApiError::NotFound("order"))?;
        Ok(found(&conditions, &order.item.public, &order.etag))
    };
    confirm(find).await
}
