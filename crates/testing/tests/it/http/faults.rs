//! What callers see of a store that is busy, away, or full.

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
async fn a_throttled_store_is_a_429_that_says_when_to_come_back() {
    let world = given::rooms().await;
    for (kind, path) in [(Read, "/api/rooms/r1"), (Query, "/api/rooms/r1/bookings")] {
        world.endpoint.inject(Fault::Refused(429), kind, "rooms", 1_000);
        problem(&world.get(path).await, 429);
    }
    let booking = json!({"personId": "ann", "purpose": "P"});
    problem(&world.post("/api/rooms/r1/bookings", booking).await, 429);
}

#[tokio::test]
async fn a_store_that_is_throttled_for_a_moment_is_waited_for() {
    let world = given::rooms().await;
    world.endpoint.inject(Fault::Refused(429), Read, "rooms", 3);
    world.get("/api/rooms/r1").await.expect(200);
}

#[tokio::test]
async fn a_store_that_is_away_is_a_503() {
    let world = given::rooms().await;
    for kind in [Read, Query] {
        world.endpoint.inject(Fault::Refused(503), kind, "rooms", 1_000);
    }
    problem(&world.get("/api/rooms/r1").await, 503);
    problem(&world.get("/api/rooms/r1/bookings").await, 503);
    let text = json!({"personId": "ann", "title": "T"});
    problem(&world.put("/api/rooms/r1", text).await, 503);
}

#[tokio::test]
async fn a_write_that_met_another_is_retried() {
    let world = given::rooms().await;
    for status in [449, 412] {
        world.endpoint.inject(Fault::Refused(status), Batch, "rooms", 2);
        let booking = json!({"personId": "ann", "purpose": "P"});
        world.post("/api/rooms/r1/bookings", booking).await.expect(201);
        world.endpoint.inject(Fault::Refused(status), Replace, "rooms", 2);
        let text = json!({"personId": "ann", "title": status.to_string()});
        world.put("/api/rooms/r1", text).await.expect(200);
    }
    assert_eq!(world.get("/api/rooms/r1").await.expect(200).json()["bookingCount"], 2);
}

#[tokio::test]
async fn a_logical_partition_that_is_full_is_a_507_that_says_what_to_do() {
    let world = given::rooms().await;
    let full = |kind| world.endpoint.inject(Fault::RefusedWith(403, 1014), kind, "rooms", 1);
    let booking = json!({"personId": "ann", "purpose": "P"});
    let text = json!({"personId": "ann", "title": "New"});
    for (kind, method, path, body) in [
        (Batch, "POST", "/api/rooms/r1/bookings", Some(booking)),
        (Replace, "PUT", "/api/rooms/r1", Some(text.clone())),
        (Create, "PUT", "/api/rooms/r2", Some(text)),
    ] {
        full(kind);
        let answer = world.call(method, path, &[], body).await;
        let problem = problems::problem(&answer, 507);
        assert_eq!(problem["type"], "urn:tributary:problem:partition-full");
        assert!(problem["detail"].as_str().unwrap().contains("Delete"), "{problem}");
    }
    // It is not sent again: that would not help.
    given::booking(&world, "r1", "bob").await.expect(201);
}

#[tokio::test]
async fn a_container_that_is_not_there_is_no_item_that_is_not_there() {
    let booking = json!({"personId": "ann", "purpose": "P"});
    for (sub_status, kind, method, path, body) in [
        // No replica has the session.
        (1002, Read, "GET", "/api/rooms/r1", None),
        // There is no container.
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

#[tokio::test]
async fn a_delete_of_what_is_not_there_is_a_404_however_often_the_store_was_away_before() {
    let world = given::rooms().await;
    given::room(&world, "gone", "ann").await.expect(201);
    world.delete("/api/rooms/gone").await.expect(204);
    for path in ["/api/rooms/gone", "/api/rooms/r1/bookings/b"] {
        // The SDK tries again some of the times; then the command does.
        for times in 1..=8 {
            world.endpoint.inject(Fault::Refused(503), Read, "rooms", times);
            let answer = world.delete(path).await;
            assert_eq!(answer.status.as_u16(), 404, "{path}, {times}: {}", answer.text);
        }
    }
}

/// The write of a conditional PUT is carried out and its answer lost, and another command comes before the
/// first looks at what it has done.
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
            let mut look = world.endpoint.hold(Read, "rooms");
            write.release();
            look.arrived().await;
            other_instance.put(path, title("theirs")).await.expect(200);
            look.release();
        };
        let put = world.call("PUT", path, &condition, Some(title("ours")));
        let ((), answer) = join(lost, put).await;
        answer.expect(if is_new { 201 } else { 200 });
        // Another command under this condition is refused.
        world.call("PUT", path, &condition, Some(title("ours"))).await.expect(412);
    }
}
