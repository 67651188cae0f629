//! JSON bodies: what is taken, and what is refused before anybody looks at the fields.

use std::convert::Infallible;

use axum::body::Body;
use bytes::Bytes;
use futures::stream;
use serde_json::{Value, json};

use super::expect::{bad_fields, free_of_charge, problem};
use crate::{
    blog::given::{self, raw},
    world::World,
};

/// Every route that takes a body.
const ROUTES: [(&str, &str); 5] = [
    ("POST", "/api/users"),
    ("PUT", "/api/users/carl"),
    ("POST", "/api/posts"),
    ("PUT", "/api/posts/p2"),
    ("POST", "/api/posts/p1/comments"),
];

const JSON: Option<&str> = Some("application/json");

/// A body that every route takes.
fn good() -> Value {
    json!({"username": "Carl", "userId": "ann", "title": "T", "content": "C"})
}

#[tokio::test]
async fn what_is_not_json_is_malformed() {
    let world = given::blog().await;
    for route in ROUTES {
        for body in [
            "",
            " ",
            "{",
            "}",
            "nul",
            "{\"username\": }",
            "{'username': 'Ann'}",
            "{\"a\":1,}",
            "{\"a\":\"\\ud800\"}",
            "{\"a\":\"\\x\"}",
            "{\"a\":01}",
            "{} {}",
            "\u{feff}{}",
            "username=Ann",
            "<a/>",
            "{\"a\":\"\n\"}",
        ] {
            let answer = raw(&world, route, JSON, body).await;
            problem(&answer, 400);
            free_of_charge(&answer);
        }
        for body in [&b"\xff\xfe"[..], b"{\"username\": \"\xff\"}", b"\x00"] {
            problem(&raw(&world, route, JSON, body).await, 400);
        }
    }
}

#[tokio::test]
async fn what_is_no_object_is_malformed() {
    let world = given::blog().await;
    for route in ROUTES {
        for body in ["null", "true", "0", "\"text\"", "[]", "[{\"username\":\"Ann\"}]"] {
            problem(&raw(&world, route, JSON, body).await, 400);
        }
    }
}

#[tokio::test]
async fn a_body_nested_without_end_is_refused() {
    let world = given::blog().await;
    for route in ROUTES {
        for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
            let body = format!("{}0{}", open.repeat(100_000), close.repeat(100_000));
            problem(&raw(&world, route, JSON, body).await, 400);
            problem(&raw(&world, route, JSON, open.repeat(100_000)).await, 400);
        }
    }
}

#[tokio::test]
async fn what_does_not_say_that_it_is_json_is_refused() {
    let world = given::blog().await;
    for route in ROUTES {
        for content_type in [
            None,
            Some(""),
            Some("text/plain"),
            Some("text/json"),
            Some("application/x-www-form-urlencoded"),
            Some("multipart/form-data; boundary=json"),
            Some("application/xml; application/json"),
            Some("application/jsonp"),
        ] {
            let answer = raw(&world, route, content_type, good().to_string()).await;
            problem(&answer, 415);
            free_of_charge(&answer);
        }
    }
}

#[tokio::test]
async fn every_way_to_say_json_is_taken() {
    let world = given::blog().await;
    for (n, content_type) in [
        "application/json",
        "application/json; charset=utf-8",
        "application/json;charset=UTF-8",
        "Application/JSON",
        "application/problem+json",
        "application/merge-patch+json",
        "application/vnd.example.v1+json; q=1",
    ]
    .into_iter()
    .enumerate()
    {
        let body = json!({"username": format!("User {n}")}).to_string();
        raw(&world, ("POST", "/api/users"), Some(content_type), body).await.expect(201);
    }
}

#[tokio::test]
async fn a_body_of_1_mib_is_taken_and_one_byte_more_is_not() {
    const LIMIT: usize = 1024 * 1024;
    let world = given::blog().await;
    for (n, route) in ROUTES.into_iter().enumerate() {
        let mut body = good();
        body["username"] = json!(format!("User {n}"));
        let text = body.to_string();
        let padded = |size: usize| format!("{}{text}", " ".repeat(size - text.len()));
        // With Content-Length and without, in chunks.
        let answer = raw(&world, route, JSON, padded(LIMIT + 1)).await;
        problem(&answer, 413);
        free_of_charge(&answer);
        problem(&raw(&world, route, JSON, in_chunks(&padded(LIMIT + 1))).await, 413);
        let answer = raw(&world, route, JSON, in_chunks(&padded(LIMIT))).await;
        assert!(answer.status.is_success(), "{}", answer.text);
    }
    let most = format!("{}{}", json!({"username": "Zoe"}), " ".repeat(LIMIT - 18));
    assert_eq!(most.len(), LIMIT);
    raw(&world, ("POST", "/api/users"), JSON, most).await.expect(201);
}

#[tokio::test]
async fn the_limit_counts_bytes_as_sent() {
    let world = given::blog().await;
    // A content of 180,000 bytes, written in more than 1 MiB of escapes.
    let escaped = "\\u0078".repeat(180_000);
    let body = format!(r#"{{"userId":"ann","title":"T","content":"{escaped}"}}"#);
    problem(&raw(&world, ("POST", "/api/posts"), JSON, body).await, 413);
    let escaped = "\\u0078".repeat(170_000);
    let body = format!(r#"{{"userId":"ann","title":"T","content":"{escaped}"}}"#);
    raw(&world, ("POST", "/api/posts"), JSON, body).await.expect(201);
}

#[tokio::test]
async fn a_body_that_breaks_off_is_malformed() {
    let world = given::blog().await;
    let parts = [Ok(Bytes::from_static(b"{\"username\":")), Err(std::io::Error::other("reset"))];
    let body = Body::from_stream(stream::iter(parts));
    problem(&raw(&world, ("POST", "/api/users"), JSON, body).await, 400);
}

#[tokio::test]
async fn escapes_and_double_names_are_read_as_json_says() {
    let world = World::new().await;
    let body = r#"{"\u0075sername": "\u0041nn\ud83d\ude00"}"#;
    let user = raw(&world, ("PUT", "/api/users/ann"), JSON, body).await.expect(201).json();
    assert_eq!(user["username"], "Ann😀");
}

#[tokio::test]
async fn a_refused_body_writes_nothing() {
    let world = given::blog().await;
    let before = world.endpoint.request_count();
    for route in ROUTES {
        raw(&world, route, JSON, "{").await.expect(400);
        raw(&world, route, None, good().to_string()).await.expect(415);
        bad_fields(&raw(&world, route, JSON, "{}").await);
    }
    assert_eq!(world.endpoint.request_count(), before);
}

/// A body whose length is not known before its end.
fn in_chunks(text: &str) -> Body {
    let chunks: Vec<Result<Bytes, Infallible>> =
        text.as_bytes().chunks(10_000).map(|chunk| Ok(Bytes::copy_from_slice(chunk))).collect();
    Body::from_stream(stream::iter(chunks))
}
