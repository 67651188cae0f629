//! Requests that the emulator would answer wrongly in silence.

use azure_core::Bytes;
use azure_core::http::Request;
use azure_core::http::StatusCode;
use azure_core::http::headers::Headers;
use cosmos_model::charges::sql::{SqlToken, tokens};
use serde_json::{Value, json};

use super::emulator::Response;
use super::operation::{RequestKind, StoreOperation, is_query, parse};

/// Returns the answer to a request that this endpoint refuses; `None` for all others.
pub(super) fn answer(operation: &StoreOperation, request: &Request) -> Option<Response> {
    let is_patch = matches!(operation, StoreOperation::Data { kind: RequestKind::Patch, .. });
    if !is_patch && !is_query(request) {
        return None;
    }
    let body: Value = parse(request)?;
    let reason = match body["query"].as_str() {
        Some(text) => of_query(text, &body["parameters"])?,
        None if is_patch && !body["condition"].is_null() => {
            "This endpoint has no conditions of a patch (`condition`). Read the item, and patch it with \
             its ETag in If-Match."
                .to_owned()
        }
        None => return None,
    };
    let body = json!({"code": "BadRequest", "message": reason}).to_string();
    let (status, headers) = (u16::from(StatusCode::BadRequest), Headers::new());
    Some(Response { status, headers, body: Bytes::from(body), items_loaded: None })
}

fn of_query(text: &str, parameters: &Value) -> Option<String> {
    let tokens = tokens(text);
    let text_at = |at: Option<usize>| at.and_then(|at| tokens.get(at)).map_or("", |it| it.text);
    for (at, token) in tokens.iter().enumerate() {
        let [before, after] = [at.checked_sub(1), Some(at + 1)].map(text_at);
        let is_name = matches!(before, "{" | ",") && after == ":";
        if token.text.contains('"') && !token.text.starts_with('\'') && !is_name {
            return Some(format!(
                "This endpoint has no texts in double quotes, such as {}. Write single quotes.",
                token.text
            ));
        }
    }
    let is_null = |token: &SqlToken<'_>| {
        let mut parameters = parameters.as_array().into_iter().flatten();
        token.is("null")
            || parameters.any(|given| given["name"] == token.text && given["value"].is_null())
    };
    let unequal = tokens
        .windows(3)
        .any(|part| part[1].is_one_of(&["!=", "<>"]) && (is_null(&part[0]) || is_null(&part[2])));
    let negated = tokens.windows(6).any(|part| {
        part[0].is("NOT")
            && part[1].is("(")
            && part[3].is("=")
            && part[5].is(")")
            && (is_null(&part[2]) || is_null(&part[4]))
    });
    (unequal || negated).then(|| {
        "This endpoint does not find values of other types by a negated comparison with null. Write \
         IS_DEFINED(c.name) AND NOT IS_NULL(c.name)."
            .to_owned()
    })
}
