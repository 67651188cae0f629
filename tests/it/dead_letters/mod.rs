//! What an operator does with dead letters.

mod delete_dead_letter;
mod get_dead_letter;
mod list_dead_letters;
mod replay_dead_letter;

use serde_json::{Value, json};

use crate::{blog::given, world::World};

/// The path of a dead letter.
fn path(letter: &Value) -> String {
    format!("/api/dead-letters/{}", letter["id"].as_str().unwrap())
}

/// Writes an item past the app.
async fn write(world: &World, container: &str, partition: &str, item: &Value) {
    let (id, partition) = (item["id"].as_str().unwrap(), partition.to_owned());
    world.container(container).await.upsert_item(partition, id, item, None).await.unwrap();
}

/// The letters as they are stored, without the notes of those that are settled.
async fn letters(world: &World) -> Vec<Value> {
    let mut letters = world.items("dead-letters").await;
    letters.retain(|item| item.get("raw").is_some());
    letters
}

/// A post that no projection can read.
fn bad_post(id: &str) -> Value {
    json!({"id": id, "postId": id, "type": "poem"})
}

/// The post that was meant.
fn good_post(id: &str) -> Value {
    json!({
        "id": id, "postId": id, "type": "post", "userId": "ann", "userUsername": "Ann",
        "title": "Mended", "content": "C", "commentCount": 0, "likeCount": 0,
        "creationDate": "2026-11-21T09:25:54.120Z", "version": 1, "usernameVersion": 1,
    })
}

/// A blog with a bad post and the dead letters of one function.
async fn world_with_letter(function: &str) -> (World, Value) {
    let world = given::blog().await;
    write(&world, "posts", "bad", &bad_post("bad")).await;
    world.deliver(function, &world.items("posts").await).await.unwrap();
    let letter = world.list("/api/dead-letters").await.remove(0);
    (world, letter)
}
