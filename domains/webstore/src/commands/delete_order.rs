//! `DELETE /customers/{customerId}/orders/{orderId}`.

use axum::{extract::State, http::StatusCode};
use tributary_functions::http::{Actor, ApiError, ItemCommand, Params};

use crate::{
    Customers,
    model::{CustomerId, OrderId, SalesOrder},
};

/// Deletes an order and counts it off, in one transaction: two store requests, and one more under a
/// condition.
pub async fn delete_order(
    State(customers): State<Customers>,
    actor: Actor,
    Params((customer_id, id)): Params<(CustomerId, OrderId)>,
    command: ItemCommand,
) -> Result<StatusCode, ApiError> {
    actor.must_be(customer_id.as_str())?;
    let owner: fn(&SalesOrder) -> &str = |order| order.public.customer_id.as_str();
    command.delete_child(&customers.orders, (&customer_id, id), &Actor::ANY_USER, owner).await
}
