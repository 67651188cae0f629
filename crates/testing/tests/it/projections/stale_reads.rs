//! Projections behind a stale replica: instances do not share session tokens. Each story delivers a change
//! to an instance without a session.

use serde_json::{Value, json};

use super::window_repairs::{full_window, the_window_is_right};
use crate::given::{self, deliver};

#[tokio::test]
async fn a_rename_is_not_lost_behind_a_stale_read_of_the_person() {
    let world = given::rooms().await;
    let frozen = world.stale_reads("people");
    given::person(&world, "ann", "Anna").await.expect(200);
    let renamed = world.item("people", "ann").await;
    deliver(&world.second_instance().await, "NamesInRooms", &renamed).await;
    drop(frozen);
    assert_eq!(world.item("rooms", "r1").await["personName"], "Anna");
}

#[tokio::test]
async fn a_rename_finds_items_that_a_replica_does_not_show_yet() {
    let world = given::rooms().await;
    let frozen = world.stale_reads("rooms");
    // Bob has written nothing else: the write of another item would tell the rename of this one.
    given::room(&world, "r2", "bob").await.expect(201);
    given::person(&world, "bob", "Bobby").await.expect(200);
    let renamed = world.item("people", "bob").await;
    deliver(&world.second_instance().await, "NamesInRooms", &renamed).await;
    drop(frozen);
    assert_eq!(world.item("rooms", "r2").await["personName"], "Bobby");
}

#[tokio::test]
async fn an_item_created_under_an_old_name_gets_the_new_one_behind_a_stale_read_of_the_person() {
    let world = given::rooms().await;
    let frozen = world.stale_reads("people");
    given::person(&world, "ann", "Anna").await.expect(200);
    let second = world.second_instance().await;
    let room = given::room(&second, "r2", "ann").await.expect(201).json();
    assert_eq!(room["personName"], "Ann", "else this test shows nothing");
    let created = world.item("rooms", "r2").await;
    deliver(&world.second_instance().await, "RoomsIntegrity", &created).await;
    drop(frozen);
    assert_eq!(world.item("rooms", "r2").await["personName"], "Anna");
}

#[tokio::test]
async fn an_item_that_a_replica_does_not_show_yet_gets_the_new_name() {
    let world = given::rooms().await;
    let [frozen, people] = ["rooms", "people"].map(|container| world.stale_reads(container));
    given::person(&world, "ann", "Anna").await.expect(200);
    let second = world.second_instance().await;
    let room = given::room(&second, "r2", "ann").await.expect(201).json();
    assert_eq!(room["personName"], "Ann", "else this test shows nothing");
    drop(people);
    let created = world.item("rooms", "r2").await;
    deliver(&world.second_instance().await, "RoomsIntegrity", &created).await;
    drop(frozen);
    assert_eq!(world.item("rooms", "r2").await["personName"], "Anna");
}

#[tokio::test]
async fn bookings_of_a_deleted_room_are_removed_when_a_replica_does_not_show_them_yet() {
    let world = given::rooms().await;
    let frozen = world.stale_reads("rooms");
    let booking = given::booking(&world, "r1", "bob").await.expect(201).json();
    world.delete("/api/rooms/r1").await.expect(204);
    let tombstone = world.item("rooms", "r1").await;
    deliver(&world.second_instance().await, "RoomsIntegrity", &tombstone).await;
    drop(frozen);
    let left = world.item("rooms", booking["id"].as_str().unwrap()).await;
    assert_eq!(left, Value::Null);
}

#[tokio::test]
async fn a_text_that_the_host_rewrites_is_copied_behind_a_stale_read_of_the_room() {
    let world = given::rooms().await;
    let frozen = world.stale_reads("rooms");
    given::titled(&world, "r1", "ann", "2026-01-02T03:04:05Z").await.expect(200);
    let edited = world.item("rooms", "r1").await;
    for (function, container, copy) in
        [("RoomCopies", "people", "room:r1"), ("NewestRooms", "newest-rooms", "r1")]
    {
        deliver(&world.second_instance().await, function, &edited).await;
        let copy = world.item(container, copy).await;
        assert_eq!(copy["title"], "2026-01-02T03:04:05Z", "{function}");
    }
    drop(frozen);
}

#[tokio::test]
async fn a_room_that_a_refill_has_admitted_is_updated_behind_a_stale_read_of_the_head() {
    let world = full_window().await;
    let frozen = world.stale_reads("newest-rooms");
    world.delete("/api/rooms/n05").await.expect(204);
    deliver(&world, "NewestRooms", &world.item("rooms", "n05").await).await;
    given::booking(&world, "n00", "bob").await.expect(201);
    let booked = world.item("rooms", "n00").await;
    deliver(&world.second_instance().await, "NewestRooms", &booked).await;
    drop(frozen);
    the_window_is_right(&world).await;
}

#[tokio::test]
async fn a_refill_takes_the_newest_versions_when_a_replica_shows_older_ones() {
    let world = full_window().await;
    let frozen = world.stale_reads("rooms");
    given::booking(&world, "n00", "bob").await.expect(201);
    deliver(&world, "NewestRooms", &world.item("rooms", "n00").await).await;
    world.delete("/api/rooms/n05").await.expect(204);
    let tombstone = world.item("rooms", "n05").await;
    deliver(&world.second_instance().await, "NewestRooms", &tombstone).await;
    drop(frozen);
    the_window_is_right(&world).await;
}

#[tokio::test]
async fn a_replay_applies_the_repaired_document_behind_a_stale_read_of_it() {
    let world = given::rooms().await;
    let good = world.item("rooms", "r1").await;
    let bad = json!({"id": "r1", "roomId": "r1", "type": "poem"});
    world.write_item("rooms", &bad).await;
    deliver(&world, "RoomCopies", &bad).await;
    let dead_letter = world.list("/api/dead-letters").await.remove(0);
    let frozen = world.stale_reads("rooms");
    world.write_item("rooms", &good).await;
    let path = format!("/api/dead-letters/{}/replay", dead_letter["id"].as_str().unwrap());
    world.second_instance().await.post(&path, Value::Null).await.expect(200);
    drop(frozen);
    assert_eq!(world.list("/api/people/ann/rooms").await.len(), 1);
}
