//! Answers while the store is throttled, unavailable, or full.

use futures::future::join;
use serde_json::json;
use tributary_testing::{
    Answer, Fault,
    RequestKind::{Batch, Create, Query, Read, Replace},
    problems,
};

use crate::given;

fn problem(answer: &Answer, status: u16) {
    problems::problem(answer, status);
    assert_eq!(answer.header("retry-after"), "1");
    assert!(!answer.text.contains("asked for"), "the store's words: {}", answer.text);
}

#[tokio::test]
async fn a_throttled_store_is_a_429_with_retry_after() {
    let world = given::rooms().await;
    for (kind, path) in [(Read, "/api/rooms/r1"), (Query, "/api/rooms/r1/bookings")] {
        world.endpoint.inject(Fault::Refused(429), kind, "rooms", 1_000);
        problem(&world.get(path).await, 429);
    }
    problem(&given::booking(&world, "r1", "ann").await, 429);
    // A request outlasts a moment of it.
    let world = given::rooms().await;
    world.endpoint.inject(Fault::Refused(429), Read, "rooms", 3);
    world.get("/api/rooms/r1").await.expect(200);
}

#[tokio::test]
async fn a_write_that_lost_its_race_is_retried() {
    let world = given::rooms().await;
    for status in [449, 412] {
        world.endpoint.inject(Fault::Refused(status), Batch, "rooms", 2);
        given::booking(&world, "r1", "ann").await.expect(201);
        world.endpoint.inject(Fault::Refused(status), Replace, "rooms", 2);
        given::titled(&world, "r1", "ann", &status.to_string()).await.expect(200);
    }
    assert_eq!(world.get("/api/rooms/r1").await.expect(200).json()["bookingCount"], 2);
}

#[tokio::test]
async fn a_full_logical_partition_is_a_507_that_names_the_remedy() {
    let world = given::rooms().await;
    let booking = json!({"personId": "ann", "purpose": "P"});
    let text = json!({"personId": "ann", "title": "New"});
    for (kind, method, path, body) in [
        (Batch, "POST", "/api/rooms/r1/bookings", Some(booking)),
        (Replace, "PUT", "/api/rooms/r1", Some(text.clone())),
        (Create, "PUT", "/api/rooms/r2", Some(text)),
    ] {
        world.endpoint.inject(Fault::RefusedWith(403, 1014), kind, "rooms", 1);
        let answer = world.call(method, path, &[], body).await;
        let problem = problems::problem(&answer, 507);
        assert_eq!(problem["type"], "urn:tributary:problem:partition-full");
        assert!(problem["detail"].as_str().unwrap().contains("Delete"), "{problem}");
    }
    // No retry follows: the partition stays full.
    given::booking(&world, "r1", "bob").await.expect(201);
}

#[tokio::test]
async fn a_missing_container_is_a_503_and_not_a_missing_item() {
    let booking = json!({"personId": "ann", "purpose": "P"});
    for (sub_status, kind, method, path, body) in [
        // No replica has the session.
        (1002, Read, "GET", "/api/rooms/r1", None),
        // The container does not exist.
        (1003, Read, "GET", "/api/rooms/r1", None),
        (1003, Query, "GET", "/api/rooms/r1/bookings", None),
        (1003, Read, "POST", "/api/rooms/r1/bookings", Some(booking.clone())),
        (1003, Batch, "POST", "/api/rooms/r1/bookings", Some(booking)),
        (1003, Read, "DELETE", "/api/rooms/r1", None),
    ] {
        let world = given::rooms().await;
        world.endpoint.inject(Fault::RefusedWith(404, sub_status), kind, "rooms", 1_000);
        problem(&world.call(method, path, &[], body).await, 503);
    }
}

/// The store carries out the write of a conditional PUT, and its answer is lost. Another command writes
/// before the PUT reads the item.
#[tokio::test]
async fn a_conditional_put_whose_answer_was_lost_is_not_refused_for_its_own_write() {
    for (kind, is_new) in [(Replace, false), (Create, true)] {
        let world = given::rooms().await;
        let path = if is_new { "/api/rooms/r2" } else { "/api/rooms/r1" };
        let before = world.get(path).await;
        let condition = match before.header("etag") {
            "" => [("if-none-match", "*")],
            etag => [("if-match", etag)],
        };
        let title = |title: &str| json!({"personId": "ann", "title": title});
        let other_instance = world.second_instance().await;
        let lost = async {
            let mut write = world.endpoint.hold(kind, "rooms");
            write.arrived().await;
            world.endpoint.inject(Fault::AnswerLost, kind, "rooms", 1);
            let mut read = world.endpoint.hold(Read, "rooms");
            write.release();
            read.arrived().await;
            other_instance.put(path, title("theirs")).await.expect(200);
            read.release();
        };
        let put = world.call("PUT", path, &condition, Some(title("ours")));
        let ((), answer) = join(lost, put).await;
        answer.expect(if is_new { 201 } else { 200 });
        // Another command under this condition is refused.
        world.call("PUT", path, &condition, Some(title("ours"))).await.expect(412);
    }
}
