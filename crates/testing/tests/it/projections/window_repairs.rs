//! A window whose copies an operator has deleted, and refills that meet other changes.

use serde_json::{Value, json};
use tributary_local::cosmos::RequestKind::{Batch, Query};
use tributary_testing::interleavings::held;

use crate::{World, given};

/// Creates a world with 11 rooms of Ann, `n00` to `n10`, of which the window holds the newest 10.
pub(super) async fn full_window() -> World {
    let world = given::rooms().await;
    world.delete("/api/rooms/r1").await.expect(204);
    given::more_rooms(&world, 0..11).await;
    let rooms = world.items("rooms").await;
    world.deliver("NewestRooms", &rooms).await.unwrap();
    assert_eq!(copy(&world, "n00").await, Value::Null);
    world
}

async fn copy(world: &World, id: &str) -> Value {
    world.item("newest-rooms", id).await
}

/// Returns a room, as the change feed shows it now.
async fn change(world: &World, id: &str) -> Value {
    world.item("rooms", id).await
}

async fn deliver(world: &World, change: &Value) {
    given::deliver(world, "NewestRooms", change).await;
}

/// Deletes a member, and kills the handler before it fills the window up.
pub(super) async fn leave_a_gap(world: &World, id: &str) {
    world.delete(&format!("/api/rooms/{id}")).await.expect(204);
    let tombstone = change(world, id).await;
    drop(held((world, Query, "rooms"), deliver(world, &tombstone)).await);
    assert_eq!(world.item("newest-rooms", "~head").await["refill"], true);
}

async fn delete_copy(world: &World, id: &str) {
    world.delete_item("newest-rooms", "room", id).await;
}

/// Checks that the window shows the newest 10 rooms as they are, and that its head lists just them.
pub(super) async fn the_window_is_right(world: &World) {
    let mut rooms = world.items("rooms").await;
    rooms.retain(|item| item["type"] == "room");
    rooms.sort_by_key(|room| (room["creationDate"].to_string(), room["id"].to_string()));
    let shown =
        |room: &Value| (room["id"].clone(), room["title"].clone(), room["bookingCount"].clone());
    let expected: Vec<_> = rooms.iter().rev().take(10).map(shown).collect();
    let newest = world.get("/api/newest-rooms").await.expect(200).json();
    let newest: Vec<_> = newest["items"].as_array().unwrap().iter().map(shown).collect();
    assert_eq!(newest, expected);
    let head = world.item("newest-rooms", "~head").await;
    let members: Vec<_> =
        head["members"].as_array().unwrap().iter().map(|member| member["id"].clone()).collect();
    assert_eq!(members, expected.iter().map(|(id, ..)| id.clone()).collect::<Vec<_>>());
}

#[tokio::test]
async fn sources_of_one_moment_move_up_from_the_last_id() {
    let world = World::with_partitions(3).await;
    given::person(&world, "ann", "Ann").await.expect(201);
    given::more_rooms(&world, 0..16).await;
    // The 8 oldest have one date, so their ids decide which of them fill the window up.
    let date = json!({"creationDate": "2026-11-21T09:00:00.120Z"});
    for n in (0..8).map(|n| n * 3 % 8) {
        world.change_item("rooms", &format!("n{n:02}"), &date).await;
    }
    world.settle().await;
    the_window_is_right(&world).await;
    for id in ["n15", "n14", "n13"] {
        world.delete(&format!("/api/rooms/{id}")).await.expect(204);
    }
    world.settle().await;
    the_window_is_right(&world).await;
}

#[tokio::test]
async fn a_member_whose_copy_was_deleted_is_written_again_by_a_replay() {
    let world = given::rooms().await;
    world.settle().await;
    // The repair of docs/dead-letters.md for a copy that cannot be read.
    let mut broken = copy(&world, "r1").await;
    broken["version"] = json!("broken");
    world.write_item("newest-rooms", &broken).await;
    deliver(&world, &change(&world, "r1").await).await;
    let dead_letter = world.list("/api/dead-letters").await.remove(0);
    delete_copy(&world, "r1").await;
    let outcome = given::replay(&world, &dead_letter).await.expect(200).json();
    assert_eq!(outcome["outcome"], "applied");
    assert_eq!(copy(&world, "r1").await["title"], "A title");
}

#[tokio::test]
async fn a_member_without_a_copy_leaves_the_full_window() {
    let world = full_window().await;
    // The two oldest, of which the first leaves alone and the second with another.
    for id in ["n01", "n02"] {
        delete_copy(&world, id).await;
    }
    given::room(&world, "n11", "ann").await.expect(201);
    deliver(&world, &change(&world, "n11").await).await;
    given::room(&world, "n12", "ann").await.expect(201);
    given::room(&world, "n13", "ann").await.expect(201);
    let both = [change(&world, "n12").await, change(&world, "n13").await];
    world.deliver("NewestRooms", &both).await.unwrap();
    the_window_is_right(&world).await;
}

#[tokio::test]
async fn a_member_that_leaves_while_its_missing_copy_is_written_stays_out() {
    let world = full_window().await;
    let other = world.second_instance().await;
    delete_copy(&world, "n01").await;
    let oldest = change(&world, "n01").await;
    let repair = deliver(&world, &oldest);
    let (hold, repair) = held((&world, Batch, "newest-rooms"), repair).await;
    given::room(&world, "n11", "ann").await.expect(201);
    deliver(&other, &change(&world, "n11").await).await;
    hold.release();
    repair.await;
    assert_eq!(copy(&world, "n01").await, Value::Null);
    the_window_is_right(&world).await;
}
