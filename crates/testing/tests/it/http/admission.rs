//! Answers of an instance at the limit of its admission control.

use std::{convert::Infallible, time::Duration};

use axum::{body::Body, http::Request};
use bytes::Bytes;
use futures::{StreamExt, stream};
use serde_json::{Value, json};
use tributary_functions::{app::AppOptions, http::AdmissionOptions};
use tributary_testing::{
    RequestKind::{Query, Read},
    answers::free_of_charge,
    interleavings::held,
    problems::problem,
};

use crate::{World, given, http::bodies::in_chunks};

const SHORT_WAIT: Duration = Duration::from_millis(20);

async fn world_with(requests: u16, memory_mib: u16, wait: Duration) -> World {
    let admission = AdmissionOptions { requests, memory_mib, wait };
    given::rooms().await.with_app(AppOptions { admission, ..World::options() }).await
}

/// A page whose items can be large: it may need all memory of large answers.
const LARGE: &str = "/api/rooms/r1/bookings";

#[tokio::test]
async fn a_request_too_many_is_a_503_with_retry_after() {
    let world = world_with(1, 32, SHORT_WAIT).await;
    let (hold, first) = held((&world, Read, "rooms"), world.get("/api/rooms/r1")).await;
    for path in ["/api/rooms/r2", "/api/people/ann/rooms", "/api/newest-rooms"] {
        let refused = world.get(path).await;
        let problem = problem(&refused, 503);
        assert_eq!(problem["type"], "urn:tributary:problem:overloaded", "{path}");
        assert_eq!(refused.header("retry-after"), "1");
        free_of_charge(&refused);
    }
    // The host bounds the change feed, so a batch does not wait behind callers.
    let rooms = world.items("rooms").await;
    world.deliver("NewestRooms", &rooms).await.unwrap();
    hold.release();
    first.await.expect(200);
    assert_eq!(world.list("/api/newest-rooms").await[0]["id"], "r1");
}

#[tokio::test]
async fn a_request_that_waits_for_memory_keeps_no_small_one_waiting() {
    let world = world_with(2, 1, SHORT_WAIT).await;
    let (hold, page) = held((&world, Query, "rooms"), world.get(LARGE)).await;
    problem(&world.get(&format!("{LARGE}?limit=50")).await, 503);
    world.get("/api/newest-rooms").await.expect(200);
    world.get("/api/rooms/r1").await.expect(200);
    given::booking(&world, "r1", "bob").await.expect(201);
    let large = room(100_000);
    problem(&world.put("/api/rooms/r2", large.clone()).await, 503);
    hold.release();
    page.await.expect(200);
    world.put("/api/rooms/r2", large).await.expect(201);
}

#[tokio::test]
async fn a_page_is_full_however_little_memory_there_is() {
    let world = world_with(1, 1, SHORT_WAIT).await;
    let purpose = "\u{1}".repeat(10_000);
    for _ in 0..30 {
        given::booking_for(&world, "r1", "bob", &purpose).await.expect(201);
    }
    let page = world.get(&format!("{LARGE}?limit=29")).await.expect(200).json();
    assert_eq!(page["items"].as_array().map(Vec::len), Some(29));
    assert_ne!(page["nextCursor"], Value::Null);
}

/// A chunked request of which so many bytes come, and then no more.
fn slow((method, path): (&str, &str), content_type: &str, bytes: usize) -> Request<Body> {
    let begin = Bytes::from(format!("{{\"personId\":\"{}", "x".repeat(bytes)));
    let body = stream::iter([Ok::<_, Infallible>(begin)]).chain(stream::pending());
    let request = Request::builder().method(method).uri(path).header("content-type", content_type);
    request.body(Body::from_stream(body)).unwrap()
}

const JSON: &str = "application/json";

fn room(note_bytes: usize) -> Value {
    json!({"personId": "ann", "title": "T", "note": "x".repeat(note_bytes)})
}

fn chunked(path: &str, body: &Value) -> Request<Body> {
    let body = in_chunks(&body.to_string());
    Request::put(path).header("content-type", JSON).body(body).unwrap()
}

#[tokio::test]
async fn slow_senders_keep_neither_memory_nor_permits_from_others() {
    let world = world_with(30, 1, SHORT_WAIT).await;
    let requests = (0..30).flat_map(|_| {
        [
            slow(("PUT", "/api/rooms/r2"), JSON, 0),
            // Their bodies are gone before their answers are made.
            slow(("GET", LARGE), JSON, 0),
            slow(("HEAD", LARGE), JSON, 100_000),
            slow(("DELETE", "/api/rooms/r1/bookings/b1"), JSON, 0),
            slow(("PUT", "/api/rooms/r2"), "text/plain", 100_000),
        ]
    });
    let mut senders: Vec<_> = requests.map(|request| Box::pin(world.send(request))).collect();
    for _ in 0..3 {
        for sender in &mut senders {
            assert!(futures::poll!(sender).is_pending());
        }
        world.get("/api/rooms/r1").await.expect(200);
        world.get(LARGE).await.expect(200);
        assert!(world.put("/api/rooms/r3", room(100_000)).await.status.is_success());
        assert!(world.send(chunked("/api/rooms/r4", &room(0))).await.status.is_success());
    }
}

/// Chunked bodies have two places for each permit here, and a quarter of a MiB beyond 32 KiB each.
#[tokio::test]
async fn slow_senders_of_chunked_bodies_wait_only_for_each_other() {
    let world = world_with(2, 1, SHORT_WAIT).await;
    let sender = |bytes| Box::pin(world.send(slow(("PUT", "/api/rooms/r2"), JSON, bytes)));
    let mut large = sender(40_000);
    assert!(futures::poll!(&mut large).is_pending());
    problem(&world.send(chunked("/api/rooms/r2", &room(40_000))).await, 503);
    world.send(chunked("/api/rooms/r2", &room(10_000))).await.expect(201);
    let mut small = [sender(0), sender(0), sender(0)];
    for sender in &mut small {
        assert!(futures::poll!(sender).is_pending());
    }
    problem(&world.send(chunked("/api/rooms/r3", &room(0))).await, 503);
    world.put("/api/rooms/r3", room(100_000)).await.expect(201);
    world.get(LARGE).await.expect(200);
    drop(large);
    world.send(chunked("/api/rooms/r4", &room(100_000))).await.expect(201);
}
