//! Dead letters in the hands of operators: stored, listed, read, replayed and deleted.

mod delete_dead_letter;
mod get_dead_letter;
mod list_dead_letters;
mod replay_dead_letter;
mod stored;

use serde_json::{Value, json};

use crate::{World, given};

/// Returns the path of a dead letter.
fn path(dead_letter: &Value) -> String {
    format!("/api/dead-letters/{}", dead_letter["id"].as_str().unwrap())
}

/// Returns the stored dead letters, without the notes of settled ones.
async fn dead_letters(world: &World) -> Vec<Value> {
    let mut dead_letters = world.items("dead-letters").await;
    dead_letters.retain(|item| item.get("raw").is_some());
    dead_letters
}

/// Returns a room that no projection can read.
fn bad_room(id: &str) -> Value {
    json!({"id": id, "roomId": id, "type": "poem"})
}

/// Returns the repaired room.
fn good_room(id: &str) -> Value {
    json!({
        "id": id, "roomId": id, "type": "room", "personId": "ann", "personName": "Ann",
        "personVersion": 1, "title": "Repaired", "version": 1, "bookingCount": 0,
        "creationDate": "2026-11-21T09:25:54.120Z", "createdBy": "a-command",
    })
}

/// The members of a dead letter without its document.
const SUMMARY: [&str; 9] = [
    "container",
    "documentId",
    "failedAt",
    "function",
    "id",
    "invocationId",
    "partitionKey",
    "rawTruncated",
    "reason",
];

/// Creates a world with a bad room and the dead letter of one function.
async fn world_with_dead_letter(function: &str) -> (World, Value) {
    let world = given::rooms().await;
    world.write_item("rooms", &bad_room("bad")).await;
    world.deliver(function, &world.items("rooms").await).await.unwrap();
    let dead_letter = world.list("/api/dead-letters").await.remove(0);
    (world, dead_letter)
}
