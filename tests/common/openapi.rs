//! The OpenAPI document of the app. The stories of budgets hold each answer that they get against it
//! ([`check`]).

use std::sync::LazyLock;

use serde_json::Value;
use tributary_functions::http::HttpFunction;
use tributary_testing::checks::openapi::OpenApiDocument;

use super::world::{Answer, Tributary};

pub(crate) static DOCUMENT: LazyLock<OpenApiDocument> =
    LazyLock::new(OpenApiDocument::of::<Tributary>);

/// The body of a function with this text in each field, and the user in `userId`; `None` if it has none.
pub(crate) fn body(function: &HttpFunction, user: &str, text: &str) -> Option<Value> {
    let fields = DOCUMENT.body(function)?["properties"].as_object()?.keys();
    let value = |field: &str| Value::from(if field == "userId" { user } else { text });
    Some(fields.map(|field| (field.clone(), value(field))).collect())
}

/// The status of a function that does what it is asked for: 201 where it may create.
pub(crate) fn status(function: &HttpFunction) -> u16 {
    DOCUMENT.status(function)
}

/// The path of a function for a user and a post; `None` when it names anything else.
pub(crate) fn path(function: &HttpFunction, user: &str, post: &str) -> Option<String> {
    let path = function.route.replace("{userId}", user).replace("{postId}", post);
    (!path.contains('{')).then_some(path)
}

/// Panics if the document does not have this answer.
#[track_caller]
pub(crate) fn check(method: &str, path: &str, answer: &Answer) {
    DOCUMENT.check(method, path, answer);
}
