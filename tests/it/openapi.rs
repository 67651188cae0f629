//! The OpenAPI document has the requests and the answers of each function of the app.

use std::process::Command;

use serde_json::Value;

use crate::{
    budgets::budget,
    common::openapi::DOCUMENT,
    handler::HANDLER,
    world::{TestApp, World},
};

#[test]
fn the_document_says_what_each_function_takes_and_answers() {
    DOCUMENT.has_every_function::<TestApp>();
    assert!(DOCUMENT.examples_fit() > 20);
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
