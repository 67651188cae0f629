//! Changes that can never be applied: they become dead letters.

use serde_json::{Value, json};

use crate::World;

const TRIGGERS: [&str; 3] = ["RoomCopies", "RoomCounts", "RoomsIntegrity"];

async fn world_with_a_bad_item() -> World {
    let world = World::new().await;
    world.put("/api/people/ann", json!({"name": "Ann"})).await.expect(201);
    let bad = json!({"id": "bad", "roomId": "bad", "type": "poem", "text": "secret"});
    world.container("rooms").await.create_item("bad", "bad", &bad, None).await.unwrap();
    let room = json!({"personId": "ann", "title": "T"});
    world.put("/api/rooms/good", room).await.expect(201);
    world
}

#[tokio::test]
async fn an_unreadable_item_does_not_stop_the_others() {
    let world = world_with_a_bad_item().await;
    world.settle().await;
    assert_eq!(world.item("people", "room:good").await["title"], "T");
    let dead_letters = world.items("dead-letters").await;
    let mut functions: Vec<_> =
        dead_letters.iter().map(|dead_letter| dead_letter["function"].clone()).collect();
    functions.sort_by_key(Value::to_string);
    assert_eq!(functions, ["NewestRooms", "RoomCopies", "RoomCounts", "RoomsIntegrity"]);
    for dead_letter in dead_letters {
        assert_eq!(dead_letter["container"], "rooms");
        assert_eq!(dead_letter["documentId"], "bad");
        assert_eq!(dead_letter["partitionKey"], "bad");
        let raw: Value = serde_json::from_str(dead_letter["raw"].as_str().unwrap()).unwrap();
        assert_eq!(raw["text"], "secret", "the whole document is kept");
        let reason = dead_letter["reason"].as_str().unwrap();
        assert_eq!(reason, "not an item of `rooms`: its `type` is none of this container");
        assert!(!dead_letter["invocationId"].as_str().unwrap().is_empty());
        assert!(!dead_letter["failedAt"].as_str().unwrap().is_empty());
    }
}

#[tokio::test]
async fn duplicate_deliveries_of_a_bad_item_store_one_dead_letter() {
    let world = world_with_a_bad_item().await;
    let items = world.items("rooms").await;
    for _ in 0..3 {
        for function in TRIGGERS {
            world.deliver(function, &items).await.unwrap();
        }
    }
    assert_eq!(world.items("dead-letters").await.len(), TRIGGERS.len());
}
