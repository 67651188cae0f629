//! Path parameters as types that cannot hold a bad value.

use axum::{
    extract::{FromRequestParts, Path, RawPathParams, path::ErrorKind, rejection::PathRejection},
    http::request::Parts,
};
use serde::de::DeserializeOwned;

use super::ApiError;

/// The parameters of the path; a bad one is a 400 that names it.
pub struct Params<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned + Send> FromRequestParts<S> for Params<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let error = match Path::from_request_parts(parts, state).await {
            Ok(Path(params)) => return Ok(Self(params)),
            Err(PathRejection::FailedToDeserializePathParams(error)) => error.into_kind(),
            Err(_) => return Err(ApiError::invalid("path", "is not valid")),
        };
        Err(match error {
            ErrorKind::DeserializeError { key, message, .. } => ApiError::invalid(key, message),
            ErrorKind::InvalidUtf8InPathParam { key } => {
                ApiError::invalid(key, "must be UTF-8, percent-encoded")
            }
            // axum does not name the parameter when there is only one.
            ErrorKind::Message(message) => {
                let params = RawPathParams::from_request_parts(parts, state).await.ok();
                let name = params.as_ref().and_then(|params| params.iter().next());
                ApiError::invalid(name.map_or("path", |(name, _)| name), message)
            }
            _ => ApiError::invalid("path", "is not valid"),
        })
    }
}
