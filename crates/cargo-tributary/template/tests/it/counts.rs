//! The number of garden tools: stories over HTTP, and the projection under late, duplicate and out-of-order
//! deliveries, to two instances, one of which is killed.

use serde_json::json;
use tributary_testing::{budget::budget, checks, proof};

use my_app::garden::GardenToolCounts;

use crate::{World, garden_tools::GardenTools};

const ITEM: &str = "/api/club-members/ann/garden-tools/a1";
const COUNT: &str = "/api/club-members/ann/garden-tool-count";

/// Returns a world with three garden tools of Ann.
async fn three() -> World {
    let world = World::new().await;
    for id in ["a1", "a2", "a3"] {
        let path = format!("/api/club-members/ann/garden-tools/{id}");
        world.put(&path, json!({"name": "A"})).await.expect(201);
    }
    world
}

#[tokio::test]
async fn the_count_follows_writes_and_deletes_and_costs_its_budget() {
    let world = three().await;
    world.delete(ITEM).await.expect(204);
    world.delete(ITEM).await.expect(404);
    world.settle().await;
    for (club_member, n) in [("ann", 2), ("bob", 0)] {
        let path = format!("/api/club-members/{club_member}/garden-tool-count");
        assert_eq!(world.get(&path).await.expect(200).json()["gardenToolCount"], n);
    }
    budget(&world, ("GET", COUNT, None), "1 request, 1.00 RU: read garden-tool-counts").await;
}

#[tokio::test]
async fn an_index_serves_each_query_and_each_index_serves_a_query() {
    let world = World::new().await;
    checks::send_examples(&world).await;
    checks::indexes::every_query_has_an_index(&world);
}

#[test]
fn the_counts_are_true_whatever_is_delivered() {
    proof::aggregate::<GardenTools, GardenToolCounts>("garden-tool-counts").unwrap();
}

#[tokio::test]
async fn an_unreadable_item_becomes_a_dead_letter_and_all_others_are_counted() {
    let world = three().await;
    let item = world.make_unreadable("garden-tools", "a2", "version").await;
    world.settle().await;
    let count = async || world.get(COUNT).await.expect(200).json();
    assert_eq!(count().await["gardenToolCount"], 2);
    let letters = world.list("/api/dead-letters").await;
    let of_counts = letters.iter().filter(|letter| letter["function"] == "GardenToolCounts");
    assert_eq!(of_counts.map(|letter| &letter["documentId"]).collect::<Vec<_>>(), ["a2"]);

    // The item is repaired, and the change feed delivers it.
    world.write_item("garden-tools", &item).await;
    world.settle().await;
    assert_eq!(count().await["gardenToolCount"], 3);
}
