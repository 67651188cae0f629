//! A world settles: every change is delivered, and a trigger without changes sends no request.

use tributary_local::cosmos::RequestKind::Upsert;
use tributary_testing::interleavings::held;

use crate::{World, given};

async fn write_room(world: &World, id: &str) {
    world.write_item("rooms", &given::stored_room(id, "A title")).await;
}

#[tokio::test]
async fn a_write_that_is_held_back_meanwhile_is_delivered_the_next_time() {
    let world = World::new().await;
    let (hold, late) = held((&world, Upsert, "rooms"), write_room(&world, "late")).await;
    write_room(&world, "early").await;
    world.settle().await;
    hold.release();
    late.await;
    world.settle().await;
    assert_eq!(world.items("people").await.len(), 2);
}

#[tokio::test]
async fn a_settled_world_sends_no_request() {
    let world = World::new().await;
    write_room(&world, "room").await;
    world.settle().await;
    let ((), requests) = world.requests_of(world.settle()).await;
    assert!(requests.is_empty(), "{requests:?}");
}
