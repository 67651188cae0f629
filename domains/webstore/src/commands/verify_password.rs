//! `POST /customers/{customerId}/password/verify`.

use axum::{extract::State, http::StatusCode};
use tributary_functions::{
    cosmos::Reads,
    http::{Actor, ApiError, JsonBody, Params},
};

use super::put_password::not_hashed;
use crate::{
    Customers,
    model::{CustomerId, Password, PasswordHash},
};

/// Compares a password with that of a customer: one store request, and a hash in its turn.
///
/// A wrong password, a customer without a password, and a missing customer have the same answer at
/// the same cost: one read and one hash. The read is of the latest committed state, so a replaced
/// password is invalid at once, at every instance.
pub async fn verify_password(
    State(customers): State<Customers>,
    actor: Actor,
    Params(id): Params<CustomerId>,
    JsonBody(password): JsonBody<Password>,
) -> Result<StatusCode, ApiError> {
    actor.must_be(id.as_str())?;
    let stored = customers.reading(Reads::Latest).customer(&id).await?;
    let known = stored.and_then(|stored| stored.item.password);
    let compare = move || PasswordHash::matches(known.as_ref(), &password);
    if customers.hashing.run(compare).await.map_err(not_hashed)? {
        Ok(StatusCode::NO_CONTENT)
    } else {
        Err(ApiError::Unauthorized("The customer or the password is not right."))
    }
}
