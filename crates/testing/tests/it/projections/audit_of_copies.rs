//! The audit of copies, from their definition.

use serde_json::json;
use tributary_functions::{audit::Audit, projection::copies::AuditedCopies};
use tributary_testing::audits::findings;

use crate::{
    World, given,
    rooms::{PeopleItem, RoomCopies},
};

impl AuditedCopies for RoomCopies {
    const PARTITION_KEY: &'static str = "personId";

    fn source(copy: &PeopleItem) -> Option<(String, String)> {
        let room = match copy {
            PeopleItem::Room(copy) => &copy.public.room_id,
            PeopleItem::DeletedRoom(tombstone) => &tombstone.room_id,
            PeopleItem::Person(_) | PeopleItem::Renaming(_) => return None,
        };
        Some((room.to_string(), room.to_string()))
    }
}

async fn audited(world: &World, repair: bool) -> Vec<String> {
    let cosmos = World::cosmos(&world.endpoint).await;
    let [rooms, people] = ["rooms", "people"].map(|id| cosmos.container(id));
    let audit = Audit::of_copies::<RoomCopies>("Audit", "0 0 3 * * 0", &rooms, &people);
    findings(&audit, repair).await
}

/// Creates a world with rooms of Ann, `n00` and so on, of which all copies were made.
async fn rooms(count: usize) -> World {
    let world = World::new().await;
    given::person(&world, "ann", "Ann").await.expect(201);
    given::more_rooms(&world, 0..count).await;
    world.settle().await;
    world
}

#[tokio::test]
async fn the_audit_checks_and_repairs_copies_from_their_definition() {
    let world = rooms(5).await;
    world.delete("/api/rooms/n04").await.expect(204);
    let stored = world.items("people").await;
    let copy = |id: &str| stored.iter().find(|copy| copy["id"] == *id).unwrap().clone();
    world.delete_item("people", "ann", "room:n00").await;
    for (id, property, value) in [
        ("room:n01", "title", json!("Another")),
        ("room:n02", "version", json!(0)),
        ("room:n03", "version", json!(9)),
    ] {
        let mut copy = copy(id);
        copy[property] = value;
        world.write_item("people", &copy).await;
    }
    let mut extra = copy("room:n01");
    extra["id"] = json!("room:n09");
    world.write_item("people", &extra).await;

    // No projection has delivered the tombstone of n04.
    let found = [
        "copy-different ann room:n01",
        "copy-extra ann room:n09",
        "copy-missing ann room:n00",
        "copy-newer ann room:n03",
        "copy-older ann room:n02",
        "copy-older ann room:n04",
    ];
    assert_eq!(audited(&world, false).await, found);
    assert_eq!(audited(&world, true).await, found);
    assert_eq!(audited(&world, false).await, [""; 0]);
    assert_eq!(world.list("/api/people/ann/rooms").await.len(), 4);

    // Either tombstone may expire first.
    let tombstone = world.item("rooms", "n04").await;
    world.delete_item("rooms", "n04", "n04").await;
    assert_eq!(audited(&world, false).await, [""; 0]);
    world.write_item("rooms", &tombstone).await;
    world.delete_item("people", "ann", "room:n04").await;
    assert_eq!(audited(&world, false).await, [""; 0]);
}

#[tokio::test]
async fn the_audit_reads_the_latest_sources_though_a_replica_is_behind() {
    let world = rooms(1).await;
    let stale = world.stale_reads("rooms");
    given::room(&world, "n01", "ann").await.expect(201);
    given::titled(&world, "n00", "ann", "Edited").await.expect(200);
    world.settle().await;
    assert_eq!(audited(&world, true).await, [""; 0], "no copy is extra");
    world.delete_item("people", "ann", "room:n00").await;
    assert_eq!(audited(&world, true).await, ["copy-missing ann room:n00"]);
    drop(stale);
    assert_eq!(audited(&world, false).await, [""; 0], "the repair has the newest title");
}
