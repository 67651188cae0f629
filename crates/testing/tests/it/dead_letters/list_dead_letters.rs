use serde_json::Value;

use crate::{
    World,
    given::{self, bad_room},
};
use tributary_testing::{
    answers::members,
    problems::{bad_fields, problem},
};

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

const FUNCTIONS: [&str; 3] = ["RoomCopies", "RoomCounts", "RoomsIntegrity"];

/// Creates a world on several partitions, with dead letters of this number of documents for each of three
/// functions.
async fn world_with_dead_letters(documents: usize) -> World {
    let world = World::with_partitions(3).await;
    for n in 0..documents {
        world.write_item("rooms", &bad_room(&format!("bad{n}"))).await;
    }
    let items = world.items("rooms").await;
    for function in FUNCTIONS {
        for item in &items {
            world.deliver(function, std::slice::from_ref(item)).await.unwrap();
        }
    }
    world
}

/// Returns the dead letters in pages of `limit`, and the most store requests of a page.
async fn pages(world: &World, filter: &str, limit: usize) -> (Vec<Value>, usize) {
    let mut dead_letters = Vec::new();
    let mut cursor = String::new();
    let mut most = 0;
    loop {
        let n_before = world.endpoint.request_count();
        let path = format!("/api/dead-letters?{filter}limit={limit}{cursor}");
        let page = world.get(&path).await.expect(200).json();
        most = most.max(world.endpoint.request_count() - n_before);
        let items = page["items"].as_array().unwrap();
        dead_letters.extend_from_slice(items);
        let Some(next) = page["nextCursor"].as_str() else { return (dead_letters, most) };
        assert_eq!(items.len(), limit, "every page but the last is full");
        cursor = format!("&cursor={next}");
    }
}

fn newest_first(dead_letters: &[Value]) -> bool {
    let key =
        |dead_letter: &Value| (dead_letter["failedAt"].to_string(), dead_letter["id"].to_string());
    dead_letters.is_sorted_by(|a, b| key(a) > key(b))
}

#[tokio::test]
async fn the_list_has_each_dead_letter_once_newest_first_without_its_document() {
    let world = world_with_dead_letters(5).await;
    for limit in [1, 4, 15, 100] {
        let (dead_letters, _) = pages(&world, "", limit).await;
        assert_eq!(dead_letters.len(), 15);
        assert!(newest_first(&dead_letters), "{dead_letters:?}");
        for dead_letter in dead_letters {
            assert_eq!(members(&dead_letter), SUMMARY);
        }
    }
    // Those of one function take one store request a page.
    for function in FUNCTIONS {
        let (dead_letters, requests) = pages(&world, &format!("function={function}&"), 2).await;
        assert_eq!((dead_letters.len(), requests), (5, 1));
        assert!(newest_first(&dead_letters));
        assert!(dead_letters.iter().all(|dead_letter| dead_letter["function"] == function));
    }
    assert!(pages(&world, "function=Unknown&", 2).await.0.is_empty());
}

#[tokio::test]
async fn bad_parameters_are_named() {
    let world = given::rooms().await;
    for (query, field) in [
        ("limit=0", "limit"),
        ("cursor=x", "cursor"),
        ("function=", "function"),
        ("function=a/b", "function"),
    ] {
        let answer = world.get(&format!("/api/dead-letters?{query}")).await;
        assert_eq!(bad_fields(&answer), [field]);
    }
    problem(&world.post("/api/dead-letters", Value::Null).await, 405);
}
