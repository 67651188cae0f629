//! Worlds in which stories begin, and short functions for their events.

use std::ops::Range;

use serde_json::{Value, json};
use tributary_testing::Answer;

use crate::World;

/// Creates a world with the people `ann` (Ann) and `bob` (Bob), and Ann's room `r1`.
pub(crate) async fn rooms() -> World {
    rooms_in(World::new().await).await
}

pub(crate) async fn rooms_in(world: World) -> World {
    person(&world, "ann", "Ann").await.expect(201);
    person(&world, "bob", "Bob").await.expect(201);
    room(&world, "r1", "ann").await.expect(201);
    world
}

pub(crate) async fn person(world: &World, id: &str, name: &str) -> Answer {
    world.put(&format!("/api/people/{id}"), json!({"name": name})).await
}

pub(crate) async fn room(world: &World, id: &str, person: &str) -> Answer {
    titled(world, id, person, "A title").await
}

/// Creates rooms of Ann, `n00` and so on.
pub(crate) async fn more_rooms(world: &World, numbers: Range<usize>) {
    for n in numbers {
        room(world, &format!("n{n:02}"), "ann").await.expect(201);
    }
}

pub(crate) fn stored_room(id: &str, title: &str) -> Value {
    json!({
        "id": id, "roomId": id, "type": "room", "personId": "ann", "personName": "Ann",
        "personVersion": 1, "title": title, "version": 1, "bookingCount": 0,
        "creationDate": "2026-11-21T09:25:54.120Z", "createdBy": "a-command",
    })
}

/// Returns a stored room that no projection can read.
pub(crate) fn bad_room(id: &str) -> Value {
    json!({"id": id, "roomId": id, "type": "poem"})
}

pub(crate) async fn titled(world: &World, id: &str, person: &str, title: &str) -> Answer {
    world.put(&format!("/api/rooms/{id}"), json!({"personId": person, "title": title})).await
}

pub(crate) async fn booking(world: &World, room: &str, person: &str) -> Answer {
    booking_for(world, room, person, "A purpose").await
}

pub(crate) async fn booking_for(world: &World, room: &str, person: &str, purpose: &str) -> Answer {
    let body = json!({"personId": person, "purpose": purpose});
    world.post(&format!("/api/rooms/{room}/bookings"), body).await
}

pub(crate) async fn deliver(world: &World, function: &str, change: &Value) {
    world.deliver(function, std::slice::from_ref(change)).await.unwrap();
}

/// Delivers an item as it is stored to a function.
pub(crate) async fn deliver_item(world: &World, function: &str, (container, id): (&str, &str)) {
    deliver(world, function, &world.item(container, id).await).await;
}

pub(crate) fn path(dead_letter: &Value) -> String {
    format!("/api/dead-letters/{}", dead_letter["id"].as_str().unwrap())
}

pub(crate) async fn replay(world: &World, dead_letter: &Value) -> Answer {
    world.post(&format!("{}/replay", path(dead_letter)), Value::Null).await
}

/// Returns the function of each dead letter.
pub(crate) async fn dead_letters(world: &World) -> Vec<String> {
    let dead_letters = world.items("dead-letters").await;
    dead_letters.iter().map(|it| it["function"].as_str().unwrap().to_owned()).collect()
}
