//! The OpenAPI document says of each function what the app takes and what it answers. The stories of
//! budgets hold each answer that they get against it ([`check`]).

use std::{process::Command, sync::LazyLock};

use serde_json::Value;
use tributary_functions::http::HttpFunction;
use tributary_testing::checks::openapi::OpenApiDocument;

use crate::{
    costs::budget,
    world::{Answer, Tributary, World},
};

const HANDLER: &str = env!("CARGO_BIN_EXE_tributary");

static DOCUMENT: LazyLock<OpenApiDocument> = LazyLock::new(OpenApiDocument::of::<Tributary>);

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

#[tokio::test]
async fn the_document_says_what_each_function_takes_and_answers() {
    DOCUMENT.has_every_function::<Tributary>();
    assert!(DOCUMENT.examples_fit() > 40);
    let others = DOCUMENT.examples_are_taken(&World::new().await).await;
    // The name is taken: by the user of the example. And there is no dead letter.
    assert_eq!(others, ["CreateUser", "ReplayDeadLetter"]);
}

#[tokio::test]
async fn the_command_prints_the_document_that_the_app_serves() {
    let output = Command::new(HANDLER).arg("openapi").output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let printed: Value = serde_json::from_slice(&output.stdout).unwrap();
    let world = World::new().await;
    let served = world.get("/api/openapi.json").await.expect(200);
    assert_eq!(served.json(), printed);
    let known = [("if-none-match", served.header("etag"))];
    world.call("GET", "/api/openapi.json", &known, None).await.expect(304);
    budget(&world, ("GET", "/api/openapi.json", None), "0 requests, 0.00 RU: ").await;
}
