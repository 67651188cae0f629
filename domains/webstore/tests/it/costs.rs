//! The costs of the requests of the catalog, held against the table of `docs/webstore.md`.

use serde_json::{Value, json};

use super::shop::{label, path};
use crate::{budgets::budget_table, world::World};

const CATEGORY: &str = "0192f0c1-7b1e-7c3d-9f00-3a5d2b8e4c71";
const OTHER: &str = "0192f0c1-7b1e-7c3d-9f00-3a5d2b8e4c72";
const EMPTY: &str = "0192f0c1-7b1e-7c3d-9f00-3a5d2b8e4c73";
const TAG: &str = "0192f0c1-7b1e-7c3d-9f00-3a5d2b8e4c74";

fn id(n: usize) -> String {
    format!("0192f0c1-7b1e-7c3d-9f00-{n:012}")
}

/// A product of the usual size, with three tags.
fn product(price: u32) -> Value {
    json!({
        "sku": "SKU-0123456789", "name": "n".repeat(40), "description": "d".repeat(400),
        "price": price, "tagIds": [TAG, "t1", "t2"],
    })
}

/// Three categories, one of them with 25 products, which all have three tags.
async fn shop() -> World {
    let world = World::with_partitions(4).await;
    for id in [CATEGORY, OTHER, EMPTY] {
        label(&world, &format!("categories/{id}"), "A category").await.expect(201);
    }
    for id in [TAG, "t1", "t2", "unused"] {
        label(&world, &format!("tags/{id}"), "A tag").await.expect(201);
    }
    for n in 0..25 {
        world.put(&path(CATEGORY, &id(n)), product(1)).await.expect(201);
    }
    // The containers are known, and so is where a product may stand.
    world.get(&path(CATEGORY, &id(0))).await.expect(200);
    world.settle().await;
    world
}

#[tokio::test]
async fn every_request_of_the_catalog_costs_what_the_documents_say() {
    let world = shop().await;
    let category = format!("/api/categories/{CATEGORY}");
    let one = path(CATEGORY, &id(0));
    let new = path(CATEGORY, &id(99));
    let renamed = || Some(json!({"name": "Renamed"}));
    let to = Some(json!({"categoryId": OTHER}));
    let requests = [
        ("GET", "`/categories/{categoryId}`", category.clone(), None),
        ("GET", "`/categories`, 3 of them", "/api/categories".into(), None),
        ("GET", "`…/products/{productId}`", one.clone(), None),
        ("GET", "`…/products`, 20 of 25", format!("{category}/products"), None),
        ("GET", "`…/products`, empty", format!("/api/categories/{EMPTY}/products"), None),
        ("PUT", "`/categories/{categoryId}`, new", "/api/categories/new".into(), renamed()),
        ("PUT", "`…/products/{productId}`, new, 3 tags", new.clone(), Some(product(1))),
        ("PUT", "`…/products/{productId}`, another price", new.clone(), Some(product(2))),
        ("POST", "`…/products/{productId}/move`", format!("{new}/move"), to),
        ("DELETE", "`…/products/{productId}`", one, None),
        ("DELETE", "`/categories/{categoryId}`", format!("/api/categories/{EMPTY}"), None),
        ("DELETE", "`/tags/{tagId}`", "/api/tags/unused".into(), None),
        ("PUT", "`/categories/{categoryId}`, renamed, 24 products", category, renamed()),
        ("PUT", "`/tags/{tagId}`, renamed, 25 products", format!("/api/tags/{TAG}"), renamed()),
    ];
    budget_table(&world, "catalog", requests, "docs/webstore.md").await;
}
