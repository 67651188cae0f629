//! Path parameters as types that cannot hold a bad value.

use axum::{
    extract::{FromRequestParts, Path, RawPathParams, path::ErrorKind, rejection::PathRejection},
    http::request::Parts,
};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::{ApiError, FieldError};
use crate::values::{Invalid, check_id, check_length};

/// The parameters of the path, all of them ids or partition keys; a 400 names the bad ones.
pub struct Params<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned + Send> FromRequestParts<S> for Params<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let Ok(params) = RawPathParams::from_request_parts(parts, state).await else {
            return Err(not_utf8::<T, S>(parts, state).await);
        };
        let errors: Vec<FieldError> = params
            .iter()
            .filter_map(|(name, value)| {
                let message = check(name, value).err()?.0;
                Some(FieldError { field: name.to_owned(), message })
            })
            .collect();
        if !errors.is_empty() {
            return Err(ApiError::Invalid(errors));
        }
        match Path::from_request_parts(parts, state).await {
            Ok(Path(params)) => Ok(Self(params)),
            Err(_) => Err(ApiError::invalid("path", "is not valid")),
        }
    }
}

/// Checks a parameter. A partition key gets a check of its length: the app has made it, so its type checks
/// the rest. So does a lease, whose name the host has made.
fn check(name: &str, value: &str) -> Result<(), Invalid> {
    match name {
        "partitionKey" | "lease" => check_length(value, 1, 1_024),
        _ => check_id(value),
    }
}

/// Returns the parameters of a route, as OpenAPI has them, with the schemas of their types in the handler:
/// one type, or a tuple. The description is the error of the rule.
pub(crate) fn path_parameters(route: &str, types: &Value) -> Value {
    let names = route.split('{').skip(1).filter_map(|rest| rest.split('}').next());
    let parameters = names.enumerate().map(|(index, name)| {
        let mut schema = types["prefixItems"].get(index).unwrap_or(types).clone();
        schema["minLength"] = 1.into();
        schema["description"] = check(name, "").err().map(|Invalid(rule)| rule).into();
        json!({"name": name, "in": "path", "required": true, "schema": schema})
    });
    parameters.collect()
}

/// Returns the error of a parameter that is not UTF-8. Only the typed parameters name it.
async fn not_utf8<T: DeserializeOwned + Send, S: Send + Sync>(
    parts: &mut Parts,
    state: &S,
) -> ApiError {
    let name = match Path::<T>::from_request_parts(parts, state).await {
        Err(PathRejection::FailedToDeserializePathParams(error)) => match error.into_kind() {
            ErrorKind::InvalidUtf8InPathParam { key } => Some(key),
            _ => None,
        },
        _ => None,
    };
    ApiError::invalid(name.as_deref().unwrap_or("path"), "must be UTF-8, percent-encoded")
}
