//! The parameters of a query string, each at most once. Of a repeated parameter, one reader could take the first
//! value and another the last: admission control could reserve memory for one item, and the handler answer with a
//! hundred. Names are compared decoded and without regard to case, as the Functions host does.

use std::{collections::HashSet, ops::RangeInclusive};

use axum::{
    extract::{FromRequestParts, Path, RawPathParams},
    http::request::Parts,
};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use url::form_urlencoded;

use super::{ApiError, FieldError};
use crate::values::{Invalid, Timestamp, check_id, check_length};

const MAX_NAME_CHARACTERS: usize = 100;

/// A parameter of a query string.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueryParameter {
    /// The name.
    pub name: &'static str,
    /// The rule, in words for the caller.
    pub rule: &'static str,
    /// A value of the parameter.
    pub example: Option<&'static str>,
}

impl QueryParameter {
    /// Creates a parameter with its rule, in words for the caller.
    pub const fn new(name: &'static str, rule: &'static str) -> Self {
        Self { name, rule, example: None }
    }

    /// Returns the parameter with an example, for the OpenAPI document and the checks of `tributary-testing`.
    pub const fn example(self, value: &'static str) -> Self {
        Self { example: Some(value), ..self }
    }
}

pub(super) fn parameters(query: Option<&str>) -> Result<Vec<(String, String)>, ApiError> {
    let mut names = HashSet::new();
    let mut parameters = Vec::new();
    for (name, value) in form_urlencoded::parse(query.unwrap_or_default().as_bytes()) {
        if !names.insert(name.to_ascii_lowercase()) {
            let name: String = name.chars().take(MAX_NAME_CHARACTERS).collect();
            let field = if name.is_empty() { "query".to_owned() } else { name };
            return Err(ApiError::invalid(field, "must be given once"));
        }
        parameters.push((name.into_owned(), value.into_owned()));
    }
    Ok(parameters)
}

/// Returns the value of a parameter of a query string; `None` if it is missing.
pub fn parameter_of(query: Option<&str>, name: &str) -> Result<Option<String>, ApiError> {
    let mut parameters = parameters(query)?.into_iter();
    Ok(parameters.find(|(known, _)| known == name).map(|(_, text)| text))
}

/// Returns the `limit` of a query string, 1 to 100, or the default if it is missing.
pub fn limit_of(query: Option<&str>, default: u32) -> Result<u32, ApiError> {
    parameter_of(query, "limit")?.map_or(Ok(default), |text| limit_from(&text))
}

/// Parses a moment in the text of a parameter: an RFC 3339 timestamp, or a date, which is its midnight in UTC.
pub fn moment_from(name: &str, text: &str) -> Result<Timestamp, ApiError> {
    Timestamp::parse(text)
        .or_else(|_| Timestamp::parse(&format!("{text}T00:00:00Z")))
        .map_err(|_| ApiError::invalid(name, "must be an RFC 3339 timestamp or a date"))
}

/// Parses a `limit`, 1 to 100.
pub(super) fn limit_from(text: &str) -> Result<u32, ApiError> {
    number_from("limit", text, 1..=100)
}

/// Parses a parameter that is a whole number in a range.
pub(super) fn number_from(
    name: &str,
    text: &str,
    range: RangeInclusive<u32>,
) -> Result<u32, ApiError> {
    let number = text.parse().ok().filter(|number| range.contains(number));
    let (first, last) = range.into_inner();
    let rule = || format!("must be a whole number from {first} to {last}");
    number.ok_or_else(|| ApiError::invalid(name, rule()))
}

/// The parameters of the path, all of them ids or partition keys; a 400 names the bad ones.
pub struct Params<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned + Send> FromRequestParts<S> for Params<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let params = RawPathParams::from_request_parts(parts, state).await;
        let params = params.map_err(|rejection| {
            // Its text names the parameter: "Invalid UTF-8 in `id`".
            let text = rejection.body_text();
            let field = text.split('`').nth(1).unwrap_or("path");
            ApiError::invalid(field, "must be UTF-8, percent-encoded")
        })?;
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
        let params = Path::from_request_parts(parts, state).await;
        let Path(params) = params.map_err(|_| ApiError::invalid("path", "is not valid"))?;
        Ok(Self(params))
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
