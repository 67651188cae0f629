//! Changes that can never be applied: they become dead letters.

use serde_json::Value;

use crate::given;

#[tokio::test]
async fn an_unreadable_item_is_one_dead_letter_for_each_function_and_stops_no_other_item() {
    const FUNCTIONS: [&str; 4] = ["NewestRooms", "RoomCopies", "RoomCounts", "RoomsIntegrity"];
    let world = given::rooms().await;
    let mut bad = given::bad_room("bad");
    bad["text"] = "secret".into();
    world.write_item("rooms", &bad).await;
    given::room(&world, "good", "ann").await.expect(201);
    world.settle().await;
    assert_eq!(world.item("people", "room:good").await["title"], "A title");
    // The feed may deliver the item more than once.
    let items = world.items("rooms").await;
    for function in FUNCTIONS {
        world.deliver(function, &items).await.unwrap();
    }
    let dead_letters = world.items("dead-letters").await;
    let mut functions: Vec<_> =
        dead_letters.iter().map(|dead_letter| dead_letter["function"].clone()).collect();
    functions.sort_by_key(Value::to_string);
    assert_eq!(functions, FUNCTIONS);
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
