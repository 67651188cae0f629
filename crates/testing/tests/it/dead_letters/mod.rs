//! What an operator does with dead letters.

mod delete_dead_letter;
mod get_dead_letter;
mod list_dead_letters;
mod replay_dead_letter;
mod stored;

use serde_json::{Value, json};

use crate::{World, given};

/// The path of a dead letter.
fn path(letter: &Value) -> String {
    format!("/api/dead-letters/{}", letter["id"].as_str().unwrap())
}

/// The letters as they are stored, without the notes of those that are settled.
async fn letters(world: &World) -> Vec<Value> {
    let mut letters = world.items("dead-letters").await;
    letters.retain(|item| item.get("raw").is_some());
    letters
}

/// A room that no projection can read.
fn bad_room(id: &str) -> Value {
    json!({"id": id, "roomId": id, "type": "poem"})
}

/// The room that was meant.
fn good_room(id: &str) -> Value {
    json!({
        "id": id, "roomId": id, "type": "room", "personId": "ann", "personName": "Ann",
        "personVersion": 1, "title": "Mended", "version": 1, "bookingCount": 0,
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

/// A world with a bad room and the dead letters of one function.
async fn world_with_letter(function: &str) -> (World, Value) {
    let world = given::rooms().await;
    world.write_item("rooms", &bad_room("bad")).await;
    world.deliver(function, &world.items("rooms").await).await.unwrap();
    let letter = world.list("/api/dead-letters").await.remove(0);
    (world, letter)
}
