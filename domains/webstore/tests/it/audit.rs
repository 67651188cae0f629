//! `AuditWebStore`: its findings in the catalog, and its repairs.

use std::time::Duration;

use serde_json::{Value, json};
use tributary_functions::audit::{AuditOptions, Finding};
use tributary_webstore::{Catalog, Customers};

use super::shop::{self, item, names, path};
use crate::world::World;

pub(super) async fn audit(world: &World, repair: bool) -> Vec<String> {
    let cosmos = World::cosmos(&world.endpoint).await;
    let catalog = Catalog::new(&cosmos);
    let customers = Customers::new(&cosmos);
    let mut kept = Vec::new();
    let options = AuditOptions { settle: Duration::ZERO, repair };
    let summary = tributary_webstore::audit::audit(&catalog, &customers)
        .run(options, &mut kept)
        .await
        .unwrap();
    assert_eq!(summary.repaired, if repair { summary.findings } else { 0 }, "{kept:?}");
    let in_short = |one: &Finding| format!("{} {} {}", one.kind, one.partition_key, one.id);
    kept.iter().map(in_short).collect()
}

/// Changes an item past the app.
async fn change(world: &World, container: &str, partition: &str, id: &str, fields: Value) {
    let mut changed = item(world, container, partition, id).await;
    for (field, value) in fields.as_object().unwrap() {
        changed[field] = value.clone();
    }
    let container = world.container(container).await;
    container.upsert_item(partition.to_owned(), id, &changed, None).await.unwrap();
}

#[tokio::test]
async fn a_shop_at_rest_has_no_finding() {
    let world = shop::shop().await;
    shop::label(&world, "tags/red", "Crimson").await.expect(200);
    shop::moved(&world, "bikes", "b1", "parts").await.expect(200);
    world.settle().await;
    world.delete("/api/categories/bikes").await.expect(204);
    assert_eq!(audit(&world, false).await, [""; 0]);
}

#[tokio::test]
async fn every_divergence_of_a_product_is_found_and_repaired() {
    let older = json!({"categoryName": "Cycles", "categoryVersion": 1});
    let newer = json!({"categoryVersion": 7});
    let tag = json!({"tags": [
        {"id": "new", "name": "Novel", "version": 1}, {"id": "red", "name": "Red", "version": 0},
    ]});
    for fields in [older, newer, tag] {
        let world = shop::shop().await;
        world.settle().await;
        change(&world, "product", "bikes", "b1", fields).await;
        for repair in [false, true] {
            assert_eq!(audit(&world, repair).await, ["name-differs bikes b1"]);
        }
        assert_eq!(names(&world, "bikes", "b1").await, ["Bikes", "New", "Red"]);
        assert_eq!(audit(&world, true).await, [""; 0]);
    }
}

#[tokio::test]
async fn a_missing_category_or_tag_in_use_is_restored() {
    let world = shop::shop().await;
    world.settle().await;
    let labels = world.container("productMeta").await;
    for (kind, id) in [("category", "bikes"), ("tag", "red")] {
        labels.delete_item(kind, id, None).await.unwrap();
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
    let world = shop::shop().await;
    world.settle().await;
    let departure = json!({
        "departure": {"moveId": "m", "to": "parts", "categoryName": "Parts", "categoryVersion": 1},
    });
    change(&world, "product", "bikes", "b1", departure).await;
    for repair in [false, true] {
        assert_eq!(audit(&world, repair).await, ["move-pending bikes b1"]);
    }
    assert_eq!(world.get(&path("parts", "b1")).await.expect(200).json()["price"], 1_000);
    assert_eq!(audit(&world, true).await, [""; 0]);
}
