//! The parameters of a query string, each at most once.
//!
//! Of a repeated parameter, one reader could take the first value and another the last. Then admission
//! control could reserve memory for one item, and the handler answer with a hundred. So every function
//! refuses such a query, also for parameters that it does not know. Names are compared decoded and without
//! regard to case, as the Functions host compares them when it looks for its `code`.

use std::collections::HashSet;

use url::form_urlencoded;

use super::ApiError;
use crate::values::Timestamp;

/// The most characters of a parameter's name that an error repeats.
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

    /// Returns the parameter with an example, which the OpenAPI document has, and which the checks of the
    /// crate `tributary-testing` send.
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

/// Returns the values of a parameter that is a list with commas: one at least, and at most `most`.
pub fn values_of<T: TryFrom<String>>(
    query: Option<&str>,
    name: &str,
    most: usize,
) -> Result<Vec<T>, ApiError> {
    let text = parameter_of(query, name)?.unwrap_or_default();
    let values = text.split(',').take(most.saturating_add(1));
    let values: Result<Vec<T>, _> = values.map(|value| T::try_from(value.to_owned())).collect();
    values.ok().filter(|values| values.len() <= most).ok_or_else(|| {
        ApiError::invalid(name, format!("must be 1 to {most} values, separated by commas"))
    })
}

/// Returns the `limit` of a query string, 1 to 100, or the default if it is missing.
pub fn limit_of(query: Option<&str>, default: u32) -> Result<u32, ApiError> {
    parameter_of(query, "limit")?.map_or(Ok(default), |text| limit_from(&text))
}

/// Parses a moment in the text of a parameter: an RFC 3339 timestamp, or a date, which is its midnight in
/// UTC.
pub fn moment_from(name: &str, text: &str) -> Result<Timestamp, ApiError> {
    Timestamp::parse(text)
        .or_else(|_| Timestamp::parse(&format!("{text}T00:00:00Z")))
        .map_err(|_| ApiError::invalid(name, "must be an RFC 3339 timestamp or a date"))
}

/// Parses a `limit`, 1 to 100.
pub(super) fn limit_from(text: &str) -> Result<u32, ApiError> {
    text.parse()
        .ok()
        .filter(|limit| (1..=100).contains(limit))
        .ok_or_else(|| ApiError::invalid("limit", "must be a whole number from 1 to 100"))
}
