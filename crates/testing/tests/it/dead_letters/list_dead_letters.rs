use serde_json::{Value, json};

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

#[tokio::test]
async fn the_list_has_each_dead_letter_newest_first_without_its_document() {
    const FUNCTIONS: [&str; 3] = ["RoomCopies", "RoomCounts", "RoomsIntegrity"];
    let world = World::with_partitions(3).await;
    for n in 0..3 {
        world.write_item("rooms", &bad_room(&format!("bad{n}"))).await;
    }
    for item in &world.items("rooms").await {
        // The feed may deliver an item more than once.
        for function in [FUNCTIONS, FUNCTIONS].concat() {
            given::deliver(&world, function, item).await;
        }
    }
    let all = world.list("/api/dead-letters").await;
    assert_eq!(all.len(), 9);
    let key = |it: &Value| (it["failedAt"].to_string(), it["id"].to_string());
    assert!(all.is_sorted_by(|one, other| key(one) > key(other)), "{all:?}");
    assert!(all.iter().all(|dead_letter| members(dead_letter) == SUMMARY), "{all:?}");
    // Those of one function take one store request a page.
    for function in FUNCTIONS {
        let n_before = world.endpoint.request_count();
        let path = format!("/api/dead-letters?function={function}&limit=2");
        let page = world.get(&path).await.expect(200).json();
        assert_eq!(world.endpoint.request_count() - n_before, 1);
        let expected = all.iter().filter(|it| it["function"] == function).take(2);
        assert!(page["items"].as_array().unwrap().iter().eq(expected), "{page}");
    }
    let none = world.get("/api/dead-letters?function=Unknown").await.expect(200).json();
    assert_eq!(none["items"], json!([]));
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
