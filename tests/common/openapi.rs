//! The OpenAPI document of the app. The stories of budgets hold each answer that they get against it
//! ([`check`]).

use std::sync::LazyLock;

use tributary_functions::http::HttpFunction;
use tributary_testing::checks::openapi::OpenApiDocument;

use crate::world::{Answer, TestApp};

pub(crate) static DOCUMENT: LazyLock<OpenApiDocument> =
    LazyLock::new(OpenApiDocument::of::<TestApp>);

/// The status of a successful request: 201 if the function can create.
pub(crate) fn status(function: &HttpFunction) -> u16 {
    DOCUMENT.status(function)
}

#[track_caller]
pub(crate) fn check(method: &str, path: &str, answer: &Answer) {
    DOCUMENT.check(method, path, answer);
}
