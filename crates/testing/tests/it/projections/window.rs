//! A window holds exactly the newest sources that exist.

use serde_json::json;

use super::window_repairs::the_window_is_right;
use crate::{World, given};

/// Creates a world on several partitions with this number of rooms, and delivers them.
async fn world_with(rooms: usize) -> World {
    let world = World::with_partitions(3).await;
    given::person(&world, "ann", "Ann").await.expect(201);
    given::more_rooms(&world, 0..rooms).await;
    world.settle().await;
    world
}

async fn ids(world: &World) -> Vec<String> {
    let newest = world.list("/api/newest-rooms").await;
    newest.iter().map(|room| room["id"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn sources_of_one_moment_move_up_from_the_last_id() {
    let world = world_with(1).await;
    let mut room = world.item("rooms", "n00").await;
    world.delete_item("rooms", "n00", "n00").await;
    // The 8 oldest have one date, so their ids decide which of them fill the window up.
    for n in (0..16).map(|n| n * 7 % 16) {
        let second = if n < 8 { 0 } else { n };
        for member in ["id", "roomId"] {
            room[member] = json!(format!("m{n:02}"));
        }
        room["creationDate"] = json!(format!("2026-11-21T09:00:{second:02}.120Z"));
        world.write_item("rooms", &room).await;
    }
    for id in ["n00", "~head"] {
        world.delete_item("newest-rooms", "room", id).await;
    }
    world.settle().await;
    the_window_is_right(&world).await;
    for id in ["m15", "m14", "m13"] {
        world.delete(&format!("/api/rooms/{id}")).await.expect(204);
    }
    world.settle().await;
    the_window_is_right(&world).await;
    assert_eq!(ids(&world).await[5..], ["m07", "m06", "m05", "m04", "m03"]);
}
