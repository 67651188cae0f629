//! Requests that the emulator would answer wrongly in silence.

use azure_core::Bytes;
use azure_core::http::Request;
use azure_core::http::StatusCode;
use azure_core::http::headers::Headers;
use cosmos_model::sql::{Binary, Expr, Query, SyntaxError, Unary};
use serde_json::{Value, json};

use super::emulator::Response;
use super::operation::{RequestKind, StoreOperation, is_query, parse};

/// Returns the body for the emulator, if it has to be another one: texts in double quotes, which the emulator takes for
/// names, are written in single ones. A request that this endpoint refuses is an error with the answer.
pub(super) fn check(
    operation: &StoreOperation,
    request: &Request,
) -> Result<Option<String>, Response> {
    let is_patch = matches!(operation, StoreOperation::Data { kind: RequestKind::Patch, .. });
    if !is_patch && !is_query(request) {
        return Ok(None);
    }
    let Some(mut body) = parse::<Value>(request) else { return Ok(None) };
    let reason = match body["query"].as_str() {
        Some(text) => match text.parse::<Query>() {
            Err(error) => syntax(&error),
            Ok(query) if compares_with_null(&query, &body["parameters"]) => {
                "This endpoint does not find values of other types by a negated comparison with null. Write \
                 IS_DEFINED(c.name) AND NOT IS_NULL(c.name)."
                    .to_owned()
            }
            Ok(query) => {
                if !text.contains('"') {
                    return Ok(None);
                }
                body["query"] = query.to_string().into();
                return Ok(Some(body.to_string()));
            }
        },
        None if is_patch && !body["condition"].is_null() => {
            "This endpoint has no conditions of a patch (`condition`). Read the item, and patch it with \
             its ETag in If-Match."
                .to_owned()
        }
        None => return Ok(None),
    };
    let body = json!({"code": "BadRequest", "message": reason}).to_string();
    let (status, headers) = (u16::from(StatusCode::BadRequest), Headers::new());
    Err(Response { status, headers, body: Bytes::from(body), items_loaded: None })
}

/// Returns the message of the service.
fn syntax(error: &SyntaxError) -> String {
    let location = json!({"start": error.at, "end": error.at + error.near.len()});
    let message = error.to_string();
    let error =
        json!({"severity": "Error", "location": location, "code": "SC1001", "message": message});
    json!({"errors": [error]}).to_string()
}

/// Returns true for a filter with `!=` of a null, or NOT of `=`.
fn compares_with_null(query: &Query, parameters: &Value) -> bool {
    let is_null = |value: &Expr| match value {
        Expr::Literal(value) => value.is_null(),
        Expr::Parameter(name) => {
            let mut parameters = parameters.as_array().into_iter().flatten();
            parameters.any(|given| given["name"] == name.as_str() && given["value"].is_null())
        }
        _ => false,
    };
    let compares = |part: &Expr, operator: Binary| {
        matches!(part, Expr::Binary(found, left, right)
            if *found == operator && (is_null(left) || is_null(right)))
    };
    let mut found = false;
    if let Some(filter) = &query.filter {
        filter.visit(&mut |part| {
            let negated = match part {
                Expr::Unary(Unary::Not, of) => compares(of, Binary::Equal),
                part => compares(part, Binary::NotEqual),
            };
            found |= negated;
        });
    }
    found
}
