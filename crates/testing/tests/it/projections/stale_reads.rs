//! Projections behind a stale replica: instances do not share session tokens. Each story delivers a change
//! to an instance without a session.

use serde_json::Value;

use super::window_repairs::{full_window, the_window_is_right};
use crate::{
    World,
    given::{self, deliver},
};

async fn elsewhere(world: &World, function: &str, item: (&str, &str)) {
    given::deliver_item(&world.second_instance().await, function, item).await;
}

#[tokio::test]
async fn a_rename_reads_the_newest_person_and_finds_items_that_a_replica_does_not_show_yet() {
    let world = given::rooms().await;
    let frozen = ["people", "rooms"].map(|container| world.stale_reads(container));
    // Bob has written nothing else: the write of another item would tell the rename of this one.
    given::room(&world, "r2", "bob").await.expect(201);
    given::person(&world, "bob", "Bobby").await.expect(200);
    elsewhere(&world, "NamesInRooms", ("people", "bob")).await;
    drop(frozen);
    assert_eq!(world.item("rooms", "r2").await["personName"], "Bobby");
}

#[tokio::test]
async fn an_item_created_under_an_old_name_gets_the_new_one_though_a_replica_shows_neither() {
    let world = given::rooms().await;
    let frozen = ["people", "rooms"].map(|container| world.stale_reads(container));
    given::person(&world, "ann", "Anna").await.expect(200);
    let second = world.second_instance().await;
    let room = given::room(&second, "r2", "ann").await.expect(201).json();
    assert_eq!(room["personName"], "Ann", "else this test shows nothing");
    elsewhere(&world, "RoomsIntegrity", ("rooms", "r2")).await;
    drop(frozen);
    assert_eq!(world.item("rooms", "r2").await["personName"], "Anna");
}

#[tokio::test]
async fn bookings_of_a_deleted_room_are_removed_when_a_replica_does_not_show_them_yet() {
    let world = given::rooms().await;
    let frozen = world.stale_reads("rooms");
    let booking = given::booking(&world, "r1", "bob").await.expect(201).json();
    world.delete("/api/rooms/r1").await.expect(204);
    elsewhere(&world, "RoomsIntegrity", ("rooms", "r1")).await;
    drop(frozen);
    let left = world.item("rooms", booking["id"].as_str().unwrap()).await;
    assert_eq!(left, Value::Null);
}

#[tokio::test]
async fn a_room_that_a_refill_has_admitted_is_updated_behind_a_stale_read_of_the_head() {
    let world = full_window().await;
    let frozen = world.stale_reads("newest-rooms");
    world.delete("/api/rooms/n05").await.expect(204);
    given::deliver_item(&world, "NewestRooms", ("rooms", "n05")).await;
    given::booking(&world, "n00", "bob").await.expect(201);
    elsewhere(&world, "NewestRooms", ("rooms", "n00")).await;
    drop(frozen);
    the_window_is_right(&world).await;
}

#[tokio::test]
async fn a_refill_takes_the_newest_versions_when_a_replica_shows_older_ones() {
    let world = full_window().await;
    let frozen = world.stale_reads("rooms");
    given::booking(&world, "n00", "bob").await.expect(201);
    given::deliver_item(&world, "NewestRooms", ("rooms", "n00")).await;
    world.delete("/api/rooms/n05").await.expect(204);
    elsewhere(&world, "NewestRooms", ("rooms", "n05")).await;
    drop(frozen);
    the_window_is_right(&world).await;
}

#[tokio::test]
async fn a_replay_applies_the_repaired_document_behind_a_stale_read_of_it() {
    let world = given::rooms().await;
    let good = world.item("rooms", "r1").await;
    let bad = given::bad_room("r1");
    world.write_item("rooms", &bad).await;
    deliver(&world, "RoomCopies", &bad).await;
    let dead_letter = world.list("/api/dead-letters").await.remove(0);
    let frozen = world.stale_reads("rooms");
    world.write_item("rooms", &good).await;
    given::replay(&world.second_instance().await, &dead_letter).await.expect(200);
    drop(frozen);
    assert_eq!(world.list("/api/people/ann/rooms").await.len(), 1);
}
