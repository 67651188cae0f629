//! One bad item among many: an item that no program can read, or that the store refuses. All other items
//! are right in the end, and a dead letter names the bad one.

use super::window_repairs::{full_window, leave_a_gap};
use crate::given::{self, dead_letters, deliver};
use serde_json::json;

#[tokio::test]
async fn a_window_is_filled_up_though_one_of_the_newest_sources_cannot_be_read() {
    let world = full_window().await;
    let mut broken = world.item("rooms", "n05").await;
    broken["title"] = json!(5);
    broken["id"] = json!("q05");
    broken["roomId"] = json!("q05");
    world.write_item("rooms", &broken).await;
    leave_a_gap(&world, "n09").await;
    given::room(&world, "n11", "ann").await.expect(201);
    given::deliver_item(&world, "NewestRooms", ("rooms", "n11")).await;
    let newest = world.get("/api/newest-rooms").await.expect(200).json();
    let ids: Vec<_> = newest["items"].as_array().unwrap().iter().map(|room| &room["id"]).collect();
    assert_eq!(ids, ["n11", "n10", "n08", "n07", "n06", "n05", "n04", "n03", "n02", "n01"]);
    assert_eq!(dead_letters(&world).await, [""; 0]);
    assert_eq!(world.item("newest-rooms", "~head").await["refill"], false);
}

#[tokio::test]
async fn a_window_is_filled_up_though_a_copy_in_it_cannot_be_read() {
    let world = full_window().await;
    given::room(&world, "n11", "ann").await.expect(201);
    let n11 = world.item("rooms", "n11").await;
    deliver(&world, "NewestRooms", &n11).await;
    // The next room to enter has an unreadable item under its id.
    world.write_item("newest-rooms", &json!({"id": "n01", "type": "room", "version": "x"})).await;
    leave_a_gap(&world, "n09").await;
    deliver(&world, "NewestRooms", &n11).await;
    let head = world.item("newest-rooms", "~head").await;
    assert_eq!((head["refill"].clone(), dead_letters(&world).await.len()), (json!(false), 0));
    let members = head["members"].as_array().unwrap();
    let ids: Vec<&str> = members.iter().map(|member| member["id"].as_str().unwrap()).collect();
    assert_eq!((ids.len(), ids[8], ids[9]), (10, "n02", "n00"));
    // The change of the source itself is a dead letter.
    given::deliver_item(&world, "NewestRooms", ("rooms", "n01")).await;
    assert_eq!(dead_letters(&world).await, ["NewestRooms"]);
}

#[tokio::test]
async fn a_total_that_cannot_be_read_keeps_no_other_total_wrong() {
    let world = given::rooms().await;
    given::deliver_item(&world, "RoomCounts", ("rooms", "r1")).await;
    let count = async |person: &str| {
        let path = format!("/api/people/{person}/room-count");
        world.get(&path).await.expect(200).json()["roomCount"].clone()
    };
    assert_eq!(count("ann").await, 1);
    world.write_item("room-counts", &json!({"id": "total", "key": "ann", "value": "x"})).await;
    // The room is created anew under another person.
    world.delete("/api/rooms/r1").await.expect(204);
    given::room(&world, "r1", "bob").await.expect(201);
    given::deliver_item(&world, "RoomCounts", ("rooms", "r1")).await;
    assert_eq!(count("bob").await, 1);
    assert_eq!(dead_letters(&world).await, ["RoomCounts"]);
}

#[tokio::test]
async fn a_copy_that_cannot_be_read_keeps_no_other_copy_of_its_source_wrong() {
    let world = given::rooms().await;
    given::deliver_item(&world, "RoomCopies", ("rooms", "r1")).await;
    // The room is created anew under another person, whose copy of it cannot be read.
    world.delete("/api/rooms/r1").await.expect(204);
    given::room(&world, "r1", "bob").await.expect(201);
    world.write_item("people", &json!({"id": "room:r1", "personId": "bob", "version": "x"})).await;
    given::deliver_item(&world, "RoomCopies", ("rooms", "r1")).await;
    assert_eq!(world.list("/api/people/ann/rooms").await.len(), 0);
    assert_eq!(dead_letters(&world).await, ["RoomCopies"]);
}

#[tokio::test]
async fn a_removal_takes_children_that_cannot_be_read_with_the_others() {
    let world = given::rooms().await;
    for n in 0..60 {
        let mut booking = json!({
            "id": format!("b{n}"), "roomId": "r1", "type": "booking", "personId": "bob",
            "purpose": "A purpose", "roomVersion": 1, "creationDate": "2026-11-21T09:25:54.120Z",
        });
        if n == 30 {
            booking["personId"] = json!(5);
        }
        world.write_item("rooms", &booking).await;
    }
    world.delete("/api/rooms/r1").await.expect(204);
    let tombstone = world.item("rooms", "r1").await;
    deliver(&world, "RoomsIntegrity", &tombstone).await;
    assert_eq!(world.items("rooms").await, [tombstone]);
    assert_eq!(dead_letters(&world).await, [""; 0]);
}
