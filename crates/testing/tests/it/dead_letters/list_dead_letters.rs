use serde_json::Value;

use super::{SUMMARY, bad_room};
use crate::{World, given};
use tributary_testing::{
    answers::members,
    problems::{bad_fields, problem},
};

const FUNCTIONS: [&str; 3] = ["RoomCopies", "RoomCounts", "RoomsIntegrity"];

/// Creates a world on several partitions, with dead letters of this number of documents for each of three
/// functions.
async fn world_with_dead_letters(documents: usize) -> World {
    let world = World::with_partitions(3).await;
    for n in 0..documents {
        let id = format!("bad{n}");
        world.write_item("rooms", &bad_room(&id)).await;
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
}

#[tokio::test]
async fn a_page_of_the_dead_letters_of_a_function_takes_one_store_request() {
    let world = world_with_dead_letters(5).await;
    world.get("/api/dead-letters").await.expect(200);
    for function in FUNCTIONS {
        let (dead_letters, requests) = pages(&world, &format!("function={function}&"), 2).await;
        assert_eq!((dead_letters.len(), requests), (5, 1));
        assert!(newest_first(&dead_letters));
        assert!(dead_letters.iter().all(|dead_letter| dead_letter["function"] == function));
    }
    assert!(pages(&world, "function=Unknown&", 2).await.0.is_empty());
}

#[tokio::test]
async fn a_cursor_belongs_to_its_filter() {
    let world = world_with_dead_letters(3).await;
    let cursor = async |filter: &str| {
        let path = format!("/api/dead-letters?limit=1&{filter}");
        let page = world.get(&path).await.expect(200).json();
        page["nextCursor"].as_str().unwrap().to_owned()
    };
    let all = cursor("").await;
    let counts = cursor("function=RoomCounts").await;
    for (cursor, filter, status) in [
        (&all, "", 200),
        (&all, "&unknown=1", 200),
        (&counts, "&function=RoomCounts", 200),
        (&all, "&function=RoomCounts", 400),
        (&counts, "", 400),
        (&counts, "&function=RoomsIntegrity", 400),
    ] {
        world.get(&format!("/api/dead-letters?cursor={cursor}{filter}")).await.expect(status);
        // The order of the parameters does not matter.
        world.get(&format!("/api/dead-letters?{filter}&cursor={cursor}")).await.expect(status);
    }
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
