//! `AuditWebStore`: its findings, and its repairs.

use serde_json::{Value, json};
use tributary_testing::audits::findings;
use tributary_webstore::WebStore;

use super::{
    given::{self, names, path},
    reports::ranking,
};
use crate::world::World;

async fn audit(world: &World, repair: bool) -> Vec<String> {
    let store = WebStore::new(&World::cosmos(&world.endpoint).await);
    findings(&tributary_webstore::audit::audit(&store), repair).await
}

const BIKE: (&str, &str) = ("product", "b1");

async fn change(world: &World, (container, id): (&str, &str), fields: Value) {
    world.change_item(container, id, &fields).await;
}

#[tokio::test]
async fn every_divergence_of_a_product_is_found_and_repaired() {
    let older = json!({"categoryName": "Cycles", "categoryVersion": 1});
    let newer = json!({"categoryVersion": 7});
    let tag = json!({"tags": [
        {"id": "new", "name": "Novel", "version": 1}, {"id": "red", "name": "Red", "version": 0},
    ]});
    for fields in [older, newer, tag] {
        let world = given::catalog().await;
        world.settle().await;
        change(&world, BIKE, fields).await;
        for repair in [false, true] {
            assert_eq!(audit(&world, repair).await, ["name-differs bikes b1"]);
        }
        assert_eq!(names(&world, "bikes", "b1").await, ["Bikes", "New", "Red"]);
        assert_eq!(audit(&world, true).await, [""; 0]);
    }
}

#[tokio::test]
async fn a_missing_category_or_tag_in_use_is_restored() {
    let world = given::catalog().await;
    world.settle().await;
    for (kind, id) in [("category", "bikes"), ("tag", "red")] {
        world.delete_item("productMeta", kind, id).await;
    }
    for repair in [false, true] {
        assert_eq!(audit(&world, repair).await, ["label-missing bikes b1"]);
    }
    assert_eq!(names(&world, "bikes", "b1").await, ["Bikes", "New", "Red"]);
    world.get("/api/categories/bikes").await.expect(200);
    world.get("/api/tags/red").await.expect(200);
    assert_eq!(audit(&world, true).await, [""; 0]);
}

#[tokio::test]
async fn a_pending_move_is_ended() {
    let world = given::catalog().await;
    world.settle().await;
    let departure = json!({
        "departure": {"moveId": "m", "to": "parts", "categoryName": "Parts", "categoryVersion": 1},
    });
    change(&world, BIKE, departure).await;
    for repair in [false, true] {
        assert_eq!(audit(&world, repair).await, ["move-pending bikes b1"]);
    }
    assert_eq!(world.get(&path("parts", "b1")).await.expect(200).json()["price"], 1_000);
    assert_eq!(audit(&world, true).await, [""; 0]);
}

async fn customers() -> World {
    let world = given::shop().await;
    given::set_password(&world, "ann", "correct horse battery").await.expect(204);
    given::order(&world, "ann").await.expect(201);
    given::order(&world, "ann").await.expect(201);
    world.settle().await;
    world
}

#[tokio::test]
async fn every_divergence_of_a_customer_is_found_and_repaired() {
    let customer = ("customer", "ann");
    let copy = ("leaderboard", "ann");
    for (place, fields, findings) in [
        (
            customer,
            json!({"salesOrderCount": 5}),
            vec!["copy-different customer ann", "count-differs ann ann"],
        ),
        (copy, json!({"version": 1}), vec!["copy-older customer ann"]),
    ] {
        let world = customers().await;
        change(&world, place, fields).await;
        assert_eq!(audit(&world, false).await, findings);
        audit(&world, true).await;
        world.settle().await;
        assert_eq!(audit(&world, false).await, [""; 0]);
        assert_eq!(given::counts(&world, "ann").await, (2, 2));
        assert_eq!(ranking(&world, "leaderboard").await, ranking(&world, "query").await);
        assert_eq!(given::verify(&world, "ann", "correct horse battery").await, 204);
    }
}

#[tokio::test]
async fn an_order_without_a_customer_is_for_an_operator() {
    let world = customers().await;
    world.delete_item("customer", "ann", "ann").await;
    world.delete_item("leaderboard", "customer", "ann").await;
    let found = audit(&world, false).await;
    let is_orphan = |found: &String| found.starts_with("orphan ann ");
    assert!(found.len() == 2 && found.iter().all(is_orphan), "{found:?}");
}
