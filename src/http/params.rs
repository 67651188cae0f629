//! Path parameters as types that cannot hold a bad value.

use axum::{
    extract::{FromRequestParts, Path, path::ErrorKind, rejection::PathRejection},
    http::request::Parts,
};
use serde::de::DeserializeOwned;

use super::ApiError;

/// The parameters of the path; a bad one is a 400 that names it.
pub struct Params<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned + Send> FromRequestParts<S> for Params<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        match Path::from_request_parts(parts, state).await {
            Ok(Path(params)) => Ok(Self(params)),
            Err(PathRejection::FailedToDeserializePathParams(error)) => {
                Err(match error.into_kind() {
                    ErrorKind::DeserializeError { key, message, .. } => {
                        ApiError::invalid(key, message)
                    }
                    ErrorKind::InvalidUtf8InPathParam { key } => {
                        ApiError::invalid(key, "must be UTF-8, percent-encoded")
                    }
                    _ => ApiError::invalid("path", "is not valid"),
                })
            }
            Err(_) => Err(ApiError::invalid("path", "is not valid")),
        }
    }
}
