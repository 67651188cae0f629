//! The audit of copies, from their definition.

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

/// The app has each divergence of a copy in its own stories.
#[tokio::test]
async fn a_copy_goes_with_its_source_and_either_tombstone_may_expire_first() {
    let world = rooms(2).await;
    world.delete("/api/rooms/n01").await.expect(204);
    // No projection has delivered the tombstone.
    assert_eq!(audited(&world, true).await, ["copy-older ann room:n01"]);
    assert_eq!(audited(&world, false).await, [""; 0]);
    assert_eq!(world.list("/api/people/ann/rooms").await.len(), 1);

    let tombstone = world.item("rooms", "n01").await;
    world.delete_item("rooms", "n01", "n01").await;
    assert_eq!(audited(&world, false).await, [""; 0]);
    world.write_item("rooms", &tombstone).await;
    world.delete_item("people", "ann", "room:n01").await;
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
