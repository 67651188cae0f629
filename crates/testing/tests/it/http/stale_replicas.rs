//! Answers of an instance whose replica does not show yet what another instance has written.

use serde_json::json;
use tributary_testing::{
    RequestKind::{self, Batch, Read, Replace},
    checks::at_other_instances,
    problems::problem,
};

use crate::{World, given};

/// The kinds of the store requests since a mark.
fn kinds(world: &World, mark: usize) -> Vec<RequestKind> {
    world.endpoint.requests_since(mark).into_iter().map(|request| request.kind).collect()
}

#[tokio::test]
async fn what_was_just_created_at_another_instance_is_found() {
    let world = given::rooms().await;
    let _frozen = ["people", "rooms"].map(|container| world.stale_reads(container));
    given::person(&world, "cy", "Cy").await.expect(201);
    given::room(&world, "r2", "cy").await.expect(201);
    let booking = given::booking(&world, "r2", "bob").await.expect(201);
    let booking = booking.header("location");
    let titled = |title: &str| Some(json!({"personId": "cy", "title": title}));
    let requests = [
        ("GET", "/api/rooms/r2", None, 200),
        ("GET", "/api/rooms/r2/bookings", None, 200),
        ("GET", booking, None, 200),
        ("PUT", "/api/rooms/r3", titled("T"), 201),
        ("PUT", "/api/rooms/r2", titled("edited"), 200),
        ("DELETE", booking, None, 204),
        ("DELETE", "/api/rooms/r2", None, 204),
    ];
    at_other_instances(&world, requests).await;
}

#[tokio::test]
async fn what_is_nowhere_costs_one_more_read() {
    let world = given::rooms().await;
    let mark = world.endpoint.request_count();
    problem(&world.get("/api/rooms/none").await, 404);
    assert_eq!(kinds(&world, mark), [Read, Read]);
}

#[tokio::test]
async fn a_write_upon_a_state_that_is_over_is_made_again_upon_the_newest() {
    let world = given::rooms().await;
    let _frozen = world.stale_reads("rooms");
    let other = world.second_instance().await;
    given::booking(&world, "r1", "bob").await.expect(201);
    // The refusal tells the session, so one more read is enough, and it has not to ask for more.
    let mark = world.endpoint.request_count();
    given::titled(&other, "r1", "ann", "edited").await.expect(200);
    assert_eq!(kinds(&world, mark), [Read, Replace, Read, Replace]);
    let other = world.second_instance().await;
    let mark = world.endpoint.request_count();
    given::booking(&other, "r1", "ann").await.expect(201);
    assert_eq!(kinds(&world, mark), [Read, Batch, Read, Batch]);
    let room = other.get("/api/rooms/r1").await.expect(200).json();
    assert_eq!((&room["title"], &room["bookingCount"]), (&json!("edited"), &json!(2)));
}

#[tokio::test]
async fn a_command_that_is_repeated_after_a_restart_is_known_also_behind_a_stale_replica() {
    let world = given::rooms().await;
    let booking = given::booking(&world, "r1", "bob").await.expect(201);
    let _frozen = world.stale_reads("rooms");
    for path in [booking.header("location"), "/api/rooms/r1"] {
        let delete = ("DELETE", path);
        world.invoke(path, delete).await.expect(204);
        world.second_instance().await.invoke(path, delete).await.expect(204);
        problem(&world.second_instance().await.delete(path).await, 404);
    }
}
