//! `DELETE /customers/{customerId}/orders/{orderId}`.

use axum::{extract::State, http::StatusCode};
use tributary_functions::{
    cosmos::{Attempt, Reads, retry},
    engines::counted_children::{Deletion, Request},
    http::{Actor, ApiError, Conditions, Params},
    values::CommandId,
};

use crate::webstore::{
    Customers,
    model::{CustomerId, OrderId},
};

/// Deletes an order and counts it off, in one transaction: two store requests, and one more under a
/// condition.
pub async fn delete_order(
    State(customers): State<Customers>,
    actor: Actor,
    Params((customer_id, id)): Params<(CustomerId, OrderId)>,
    conditions: Conditions,
    command: CommandId,
) -> Result<StatusCode, ApiError> {
    actor.must_be(customer_id.as_str())?;
    let attempt = async |reads: Reads| {
        let customers = customers.reading(reads);
        let mut request = Request::new(&command, reads);
        if id.as_str() == customer_id.as_str() {
            // The customer is an item of the same partition, under its own id.
            return Err(ApiError::NotFound("order"));
        }
        if !conditions.is_empty() {
            let customer = customers.customer(&customer_id).await?;
            let customer = customer.ok_or(ApiError::NotFound("customer"))?;
            if customer.item.recent.knows(&command) {
                return Ok(StatusCode::NO_CONTENT);
            }
            let order = customers.order(&customer_id, &id).await?;
            let order = order.ok_or(ApiError::NotFound("order"))?;
            conditions.check(Some(&order.etag))?;
            request = request.if_match(Some(order.etag)).seen(customer);
        }
        match customers.orders.delete(&customer_id, id.clone(), request).await? {
            Deletion::Deleted => Ok(StatusCode::NO_CONTENT),
            Deletion::Missing => Err(ApiError::NotFound("order")),
            Deletion::NoParent => Err(ApiError::NotFound("customer")),
        }
    };
    retry(async |Attempt { answer_lost, reads }| match attempt(reads).await {
        // It was there when an earlier attempt began, which has deleted it.
        Err(ApiError::NotFound(_)) if answer_lost => Ok(StatusCode::NO_CONTENT),
        Err(ApiError::NotFound(what)) => Err(conditions.missing(what)),
        result => result,
    })
    .await
}
