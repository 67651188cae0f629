//! The totals of an aggregate: deliveries that fail in the middle, and the audit from the definition.

use tributary_functions::{
    cosmos::{Container, StoreError},
    projection::{Effect, Projection, aggregate::AggregateProjection},
};
use tributary_testing::{Fault, RequestKind::Batch};

use crate::{World, given, rooms::RoomCounts};

async fn rooms_and_counts(world: &World) -> [Container; 2] {
    let cosmos = World::cosmos(&world.endpoint).await;
    ["rooms", "room-counts"].map(|id| cosmos.container(id))
}

/// Applies the room `r1` once, as it is stored now.
async fn apply(world: &World) -> Result<Effect, StoreError> {
    let [rooms, counts] = rooms_and_counts(world).await;
    let room = serde_json::from_value(world.item("rooms", "r1").await).unwrap();
    AggregateProjection::<RoomCounts>::new(&rooms, &counts).apply(&room).await
}

/// Checks the numbers of the rooms of Ann and of Bob.
async fn are_counted(world: &World, expected: [u64; 2]) {
    for (person, n) in ["ann", "bob"].into_iter().zip(expected) {
        let count = world.get(&format!("/api/people/{person}/room-count")).await.expect(200);
        assert_eq!(count.json()["roomCount"], n, "{person}");
    }
}

#[tokio::test]
async fn a_key_that_a_failed_delivery_left_pending_is_settled_by_the_next_version() {
    let world = given::rooms().await;
    apply(&world).await.unwrap();
    world.delete("/api/rooms/r1").await.expect(204);
    given::room(&world, "r1", "bob").await.expect(201);
    // The holder says that the room is Bob's, and no share says so yet.
    world.endpoint.inject(Fault::Refused(412), Batch, "room-counts", 9);
    apply(&world).await.unwrap_err();
    world.delete("/api/rooms/r1").await.expect(204);
    apply(&world).await.unwrap();
    are_counted(&world, [0, 0]).await;
}

#[tokio::test]
async fn a_share_that_the_store_refuses_is_counted_once_by_the_next_attempt() {
    let world = given::rooms().await;
    // A projection that counts it first would count it again with the next attempt.
    world.endpoint.inject(Fault::Refused(412), Batch, "room-counts", 1);
    apply(&world).await.unwrap();
    are_counted(&world, [1, 0]).await;
}
