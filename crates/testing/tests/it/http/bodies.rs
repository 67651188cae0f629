//! Accepted JSON bodies: their content types and sizes. The check `bad_requests_are_refused` has the refused ones.

use std::convert::Infallible;

use axum::body::Body;
use bytes::Bytes;
use futures::stream;
use serde_json::json;
use tributary_testing::{answers::free_of_charge, problems::problem};

use crate::given;

const JSON: Option<&str> = Some("application/json");
const ROOM: (&str, &str) = ("PUT", "/api/rooms/r2");

fn body() -> String {
    json!({"personId": "ann", "title": "T"}).to_string()
}

#[tokio::test]
async fn every_content_type_of_json_is_accepted() {
    let world = given::rooms().await;
    for content_type in [
        "application/json",
        "application/json; charset=utf-8",
        "application/json;charset=UTF-8",
        "Application/JSON",
        "application/problem+json",
        "application/merge-patch+json",
        "application/vnd.example.v1+json; q=1",
    ] {
        let answer = world.send_body(ROOM, Some(content_type), body()).await;
        assert!(answer.status.is_success(), "{content_type}: {}", answer.text);
    }
}

#[tokio::test]
async fn a_body_of_1_mib_is_accepted_and_a_larger_one_refused() {
    const MAX_BODY_BYTES: usize = 1024 * 1024;
    let world = given::rooms().await;
    let padded = |size: usize| format!("{}{}", " ".repeat(size - body().len()), body());
    // With Content-Length and without, in chunks.
    for body in [Body::from(padded(MAX_BODY_BYTES + 1)), in_chunks(&padded(MAX_BODY_BYTES + 1))] {
        let answer = world.send_body(ROOM, JSON, body).await;
        problem(&answer, 413);
        free_of_charge(&answer);
    }
    world.send_body(ROOM, JSON, padded(MAX_BODY_BYTES)).await.expect(201);
    world.send_body(ROOM, JSON, in_chunks(&padded(MAX_BODY_BYTES))).await.expect(200);
}

pub(crate) fn in_chunks(text: &str) -> Body {
    let chunks: Vec<Result<Bytes, Infallible>> =
        text.as_bytes().chunks(10_000).map(|chunk| Ok(Bytes::copy_from_slice(chunk))).collect();
    Body::from_stream(stream::iter(chunks))
}
