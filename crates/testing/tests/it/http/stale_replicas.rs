//! Answers of an instance whose replica does not show the writes of another instance yet.

use serde_json::json;
use tributary_testing::{
    RequestKind::{self, Batch, Read, Replace},
    problems::problem,
};

use crate::{World, given};

fn kinds(world: &World, n_before: usize) -> Vec<RequestKind> {
    world.endpoint.requests_since(n_before).into_iter().map(|request| request.kind).collect()
}

#[tokio::test]
async fn a_missing_item_costs_one_more_read() {
    let world = given::rooms().await;
    let n_before = world.endpoint.request_count();
    problem(&world.get("/api/rooms/none").await, 404);
    assert_eq!(kinds(&world, n_before), [Read, Read]);
}

#[tokio::test]
async fn a_write_on_an_outdated_state_is_repeated_on_the_newest() {
    let world = given::rooms().await;
    let _frozen = world.stale_reads("rooms");
    let other = world.second_instance().await;
    given::booking(&world, "r1", "bob").await.expect(201);
    // The refusal carries the session, so one read of the session is enough.
    let n_before = world.endpoint.request_count();
    given::titled(&other, "r1", "ann", "edited").await.expect(200);
    assert_eq!(kinds(&world, n_before), [Read, Replace, Read, Replace]);
    let other = world.second_instance().await;
    let n_before = world.endpoint.request_count();
    given::booking(&other, "r1", "ann").await.expect(201);
    assert_eq!(kinds(&world, n_before), [Read, Batch, Read, Batch]);
    let room = other.get("/api/rooms/r1").await.expect(200).json();
    assert_eq!((&room["title"], &room["bookingCount"]), (&json!("edited"), &json!(2)));
}
