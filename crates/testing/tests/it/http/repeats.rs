//! Requests that the Functions host repeats: without a body, up to 40 times, when its connection to the
//! handler breaks, always under one invocation id.

use futures::future::join_all;
use serde_json::json;
use tributary_testing::{checks::answered_as_the_first_time, problems::problem};

use crate::given::{self, deliver};

#[tokio::test]
async fn a_delete_that_the_host_repeats_is_carried_out_once() {
    let world = given::rooms().await;
    let booking = given::booking(&world, "r1", "bob").await.expect(201);
    let path = booking.header("location");
    answered_as_the_first_time(&world, "1", ("DELETE", path), 204).await;
    problem(&world.invoke("2", ("DELETE", path)).await, 404);
    let room = world.get("/api/rooms/r1").await.expect(200).json();
    assert_eq!(room["bookingCount"], 0);

    let room = ("DELETE", "/api/rooms/r1");
    answered_as_the_first_time(&world, "3", room, 204).await;
    problem(&world.invoke("4", room).await, 404);
    // An item that was created meanwhile stays.
    given::room(&world, "r1", "ann").await.expect(201);
    world.invoke("3", room).await.expect(204);
    world.get("/api/rooms/r1").await.expect(200);
}

#[tokio::test]
async fn a_command_under_a_key_is_carried_out_once_and_answered_as_the_first_time() {
    let world = given::rooms().await;
    let key = [("idempotency-key", "a key")];
    let path = "/api/rooms/r1/bookings";
    let body = |purpose: &str| Some(json!({"personId": "bob", "purpose": purpose}));
    let first = world.call("POST", path, &key, body("A")).await.expect(201);
    let again = world.second_instance().await.call("POST", path, &key, body("A")).await;
    let again = again.expect(201);
    assert_eq!((&again.text, again.header("etag")), (&first.text, first.header("etag")));
    problem(&world.call("POST", path, &key, body("B")).await, 409);
    assert_eq!(world.list(path).await.len(), 1);
    world.delete(first.header("location")).await.expect(204);
    problem(&world.call("POST", path, &key, body("A")).await, 409);
}

#[tokio::test]
async fn deletes_of_many_children_at_once_that_are_repeated_are_each_recognised() {
    let world = given::rooms().await;
    let mut paths = Vec::new();
    for _ in 0..64 {
        let booking = given::booking(&world, "r1", "bob").await.expect(201);
        paths.push(booking.header("location").to_owned());
    }
    let restarted = world.second_instance().await;
    for world in [&world, &restarted] {
        let sent = paths.iter().map(|path| world.invoke(path, ("DELETE", path)));
        for answer in join_all(sent).await {
            answer.expect(204);
        }
    }
    let room = world.get("/api/rooms/r1").await.expect(200).json();
    assert_eq!(room["bookingCount"], 0);
}

#[tokio::test]
async fn a_replay_or_delete_of_a_dead_letter_that_is_repeated_is_answered_as_the_first_time() {
    for (method, path, status) in [("POST", "/replay", 200), ("DELETE", "", 204)] {
        let world = given::rooms().await;
        let bad = json!({"id": "bad", "roomId": "bad", "type": "poem"});
        world.write_item("rooms", &bad).await;
        deliver(&world, "RoomCopies", &bad).await;
        let dead_letter = world.list("/api/dead-letters").await.remove(0);
        world.container("rooms").await.delete_item("bad", "bad", None).await.unwrap();
        let path = format!("/api/dead-letters/{}{path}", dead_letter["id"].as_str().unwrap());
        answered_as_the_first_time(&world, "1", (method, &path), status).await;
        assert!(world.list("/api/dead-letters").await.is_empty());
        problem(&world.invoke("2", (method, &path)).await, 404);

        // The change fails anew, and the repeated first command leaves its dead letter alone.
        deliver(&world, "RoomCopies", &bad).await;
        world.invoke("1", (method, &path)).await.expect(status);
        assert_eq!(world.list("/api/dead-letters").await.len(), 1);
        assert_eq!(world.list("/api/dead-letters").await[0]["id"], dead_letter["id"]);
    }
}
