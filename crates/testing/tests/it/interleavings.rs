//! Interleavings of the engines: each story holds one store request back and runs another operation. Then
//! it sends the request, or kills the handler there.

use serde_json::Value;
use tributary_local::cosmos::RequestKind::{Batch, Create, Replace};
use tributary_testing::{interleavings::amid, problems::problem};

use crate::{
    World,
    given::{self, deliver},
};

/// Gives the room `r1` another title, and returns its item.
async fn edited(world: &World, title: &str) -> Value {
    given::titled(world, "r1", "ann", title).await.expect(200);
    world.item("rooms", "r1").await
}

/// Returns the ids of the members of the window, as its head lists them.
async fn members(world: &World) -> Vec<String> {
    let head = world.item("newest-rooms", "~head").await;
    let ids = head["members"].as_array().unwrap().iter().map(|member| &member["id"]);
    ids.map(|id| id.as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn the_newer_of_two_copies_written_at_once_stays() {
    // A window is written in transactions only.
    for (function, container, copy, kinds) in [
        ("RoomCopies", "people", "room:r1", [Create, Replace]),
        ("NewestRooms", "newest-rooms", "r1", [Batch, Batch]),
    ] {
        // The first of all copies may be of the first version of its source, or of a later one.
        for is_first_version in [true, false] {
            let world = given::rooms().await;
            if !is_first_version {
                edited(&world, "first").await;
            }
            let first = world.item("rooms", "r1").await;
            let second = edited(&world, "second").await;
            let older = deliver(&world, function, &first);
            amid((&world, kinds[0], container), older, deliver(&world, function, &second)).await;
            assert_eq!(world.item(container, copy).await["title"], "second", "{function}");

            let third = edited(&world, "third").await;
            let fourth = edited(&world, "fourth").await;
            let older = deliver(&world, function, &third);
            amid((&world, kinds[1], container), older, deliver(&world, function, &fourth)).await;
            assert_eq!(world.item(container, copy).await["title"], "fourth", "{function}");
        }
    }
}

#[tokio::test]
async fn the_head_lists_two_batches_that_enter_a_window_at_once() {
    let world = given::rooms().await;
    for round in ["a", "b"] {
        for n in 0..4 {
            given::room(&world, &format!("{round}{n}"), "ann").await.expect(201);
        }
        let rooms = world.items("rooms").await;
        let (one, other) = rooms.split_at(rooms.len() / 2);
        let deliver = async |rooms| world.deliver("NewestRooms", rooms).await.unwrap();
        amid((&world, Batch, "newest-rooms"), deliver(one), deliver(other)).await;
        let mut members = members(&world).await;
        members.sort_unstable();
        let mut ids: Vec<_> = rooms.iter().map(|room| room["id"].as_str().unwrap()).collect();
        ids.sort_unstable();
        assert_eq!(members, ids);
    }
}

#[tokio::test]
async fn a_source_deleted_while_it_is_copied_stays_deleted() {
    for (function, kind, container) in
        [("RoomCopies", Create, "people"), ("NewestRooms", Batch, "newest-rooms")]
    {
        let world = given::rooms().await;
        let live = edited(&world, "edited").await;
        world.delete("/api/rooms/r1").await.expect(204);
        let tombstone = world.item("rooms", "r1").await;
        let held = deliver(&world, function, &live);
        amid((&world, kind, container), held, deliver(&world, function, &tombstone)).await;
        assert!(world.list("/api/people/ann/rooms").await.is_empty());
        assert!(world.list("/api/newest-rooms").await.is_empty());
    }
}

#[tokio::test]
async fn a_target_deleted_while_a_fan_out_writes_it_stays_deleted() {
    let world = given::rooms().await;
    given::person(&world, "ann", "Anna").await.expect(200);
    let ann = world.item("people", "ann").await;
    let deleted = async {
        world.delete("/api/rooms/r1").await.expect(204);
    };
    amid((&world, Replace, "rooms"), deliver(&world, "NamesInRooms", &ann), deleted).await;
    problem(&world.get("/api/rooms/r1").await, 404);
}

#[tokio::test]
async fn two_removals_of_the_children_of_one_parent_at_once_both_succeed() {
    let world = given::rooms().await;
    given::booking(&world, "r1", "bob").await.expect(201);
    world.delete("/api/rooms/r1").await.expect(204);
    let tombstone = world.item("rooms", "r1").await;
    let one = deliver(&world, "RoomsIntegrity", &tombstone);
    let other = deliver(&world, "RoomsIntegrity", &tombstone);
    amid((&world, Batch, "rooms"), one, other).await;
    assert_eq!(world.items("rooms").await, [tombstone]);
}

#[tokio::test]
async fn a_dead_letter_stored_anew_while_it_is_replayed_stays() {
    let world = given::rooms().await;
    let bad = given::bad_room("r1");
    let good = world.item("rooms", "r1").await;
    deliver(&world, "RoomCopies", &bad).await;
    let dead_letter = world.list("/api/dead-letters").await.remove(0);
    let spoilt_again = async {
        world.write_item("rooms", &bad).await;
        deliver(&world, "RoomCopies", &bad).await;
    };
    let replay = given::replay(&world, &dead_letter);
    let answer = amid((&world, Batch, "dead-letters"), replay, spoilt_again).await;
    problem(&answer, 409);
    assert_eq!(world.items("dead-letters").await.len(), 1);

    world.write_item("rooms", &good).await;
    given::replay(&world, &dead_letter).await.expect(200);
    assert!(world.list("/api/dead-letters").await.is_empty());
}
