//! Dead letters in the hands of operators: stored, listed, read, replayed and deleted.

mod delete_dead_letter;
mod get_dead_letter;
mod list_dead_letters;
mod replay_dead_letter;

use serde_json::Value;

use crate::{
    World,
    given::{self, bad_room},
};

/// Returns the stored dead letters, without the notes of settled ones.
async fn dead_letters(world: &World) -> Vec<Value> {
    let mut dead_letters = world.items("dead-letters").await;
    dead_letters.retain(|item| item.get("raw").is_some());
    dead_letters
}

fn good_room(id: &str) -> Value {
    given::stored_room(id, "Repaired")
}

async fn world_with_dead_letter(function: &str) -> (World, Value) {
    let world = given::rooms().await;
    world.write_item("rooms", &bad_room("bad")).await;
    world.deliver(function, &world.items("rooms").await).await.unwrap();
    let dead_letter = world.list("/api/dead-letters").await.remove(0);
    (world, dead_letter)
}
