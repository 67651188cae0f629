//! The identity of a request, by which a repeated one is recognised: the invocation of the Functions host,
//! and the caller's `Idempotency-Key`.

use std::convert::Infallible;

use axum::{
    extract::{FromRequestParts, OptionalFromRequestParts},
    http::request::Parts,
};

use super::ApiError;
use crate::{
    engines::idempotency::IdempotencyKey,
    values::{CommandId, fresh_id},
};

/// The header that the host sets, replacing one that a client sends. Without a host, the client is
/// responsible for the value.
pub const INVOCATION_ID: &str = "x-azure-functions-invocationid";

/// The id comes from the invocation id. The host repeats a request without a body up to 40 times when the
/// handler or its connection ends, always with the same invocation id.
impl<S: Sync> FromRequestParts<S> for CommandId {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        let invocation = parts.headers.get(INVOCATION_ID).and_then(|id| id.to_str().ok());
        Ok(match invocation.filter(|id| !id.is_empty()) {
            // An invocation is one request; method and path guard against a reused id.
            Some(id) => Self::from_text(&format!("{id} {} {}", parts.method, parts.uri.path())),
            None => Self::fresh(),
        })
    }
}

/// Returns the id of a new item: the one that its caller's key stands for in a
/// scope, or a fresh one.
pub fn new_id<T: TryFrom<String>>(
    key: Option<&IdempotencyKey>,
    scope: &str,
) -> Result<T, ApiError> {
    let id = key.map_or_else(fresh_id, |key| key.derived_id(scope));
    T::try_from(id).map_err(|_| ApiError::Internal)
}

impl<S: Sync> OptionalFromRequestParts<S> for IdempotencyKey {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Option<Self>, ApiError> {
        let Some(value) = parts.headers.get("idempotency-key") else {
            return Ok(None);
        };
        // The rule refuses a value that is no ASCII text, too.
        let key = IdempotencyKey::parse(value.to_str().unwrap_or_default());
        key.map(Some).map_err(|error| ApiError::invalid("Idempotency-Key", error.to_string()))
    }
}
