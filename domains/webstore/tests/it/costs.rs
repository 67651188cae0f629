//! The costs of all requests, held against the table of `docs/webstore.md`.

use serde_json::{Value, json};

use super::given::{self, label, line, path};
use crate::{budgets::budget_table, world::World};

const CATEGORY: &str = "0192f0c1-7b1e-7c3d-9f00-3a5d2b8e4c71";
const OTHER: &str = "0192f0c1-7b1e-7c3d-9f00-3a5d2b8e4c72";
const EMPTY: &str = "0192f0c1-7b1e-7c3d-9f00-3a5d2b8e4c73";
const TAG: &str = "0192f0c1-7b1e-7c3d-9f00-3a5d2b8e4c74";
const ANN: &str = "0192f0c1-7b1e-7c3d-9f00-3a5d2b8e4c71";
const BOB: &str = "0192f0c1-7b1e-7c3d-9f00-3a5d2b8e4c72";
const NEW: &str = "0192f0c1-7b1e-7c3d-9f00-3a5d2b8e4c73";

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
async fn catalog() -> World {
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
    let world = catalog().await;
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

/// Twenty customers with two addresses, of which Ann has 25 orders of three lines; two categories with
/// three products each.
async fn customers() -> World {
    let world = World::with_partitions(4).await;
    for category in [CATEGORY, OTHER] {
        label(&world, &format!("categories/{category}"), "A category").await.expect(201);
        for id in ["p1", "p2", "p3"] {
            given::product(&world, category, id, 19.99, &[]).await.expect(201);
        }
    }
    for id in [ANN.to_owned(), BOB.to_owned()].into_iter().chain((0..18).map(id)) {
        world.put(&format!("/api/customers/{id}"), customer("Ann")).await.expect(201);
    }
    for _ in 0..25 {
        given::order_of(&world, ANN, &lines()).await.expect(201);
    }
    world.get("/api/reports/top-customers?source=leaderboard").await.expect(200);
    world.settle().await;
    world
}

fn customer(first_name: &str) -> Value {
    let mut customer = given::details(first_name);
    customer["addresses"] = vec![customer["addresses"][0].clone(); 2].into();
    customer
}

fn lines() -> Vec<Value> {
    ["p1", "p2", "p3"].map(|id| line(CATEGORY, id, 1)).to_vec()
}

#[tokio::test]
async fn every_request_of_a_customer_costs_what_the_documents_say() {
    let world = customers().await;
    let customer_path = |id: &str| format!("/api/customers/{id}");
    let ann = customer_path(ANN);
    let order = given::order_of(&world, ANN, &lines()).await.expect(201);
    let order = order.header("location");
    world.settle().await;
    let password = || Some(json!({"password": "correct horse battery"}));
    let items = |lines: &[Value]| Some(json!({"items": lines}));
    let [one, many] = [vec![line(CATEGORY, "p1", 1)], lines()];
    let both = [line(CATEGORY, "p1", 1), line(OTHER, "p1", 1)];
    let top = "/api/reports/top-customers";
    let requests = [
        ("PUT", "`/customers/{customerId}`, new", customer_path(NEW), Some(customer("N"))),
        ("PUT", "`/customers/{customerId}`, edited", ann.clone(), Some(customer("Anna"))),
        ("GET", "`/customers/{customerId}`", ann.clone(), None),
        ("GET", "`…?include=orders`, 26 of them", format!("{ann}?include=orders"), None),
        ("PUT", "`…/password`", format!("{ann}/password"), password()),
        ("POST", "`…/password/verify`", format!("{ann}/password/verify"), password()),
        ("POST", "`…/orders`, 1 product", format!("{ann}/orders"), items(&one)),
        ("POST", "`…/orders`, 3 products", format!("{ann}/orders"), items(&many)),
        ("POST", "`…/orders`, 2 categories", format!("{ann}/orders"), items(&both)),
        ("GET", "`…/orders`, 20 of them", format!("{ann}/orders"), None),
        ("GET", "`…/orders`, empty", customer_path(BOB) + "/orders", None),
        ("GET", "`…/orders/{orderId}`", order.to_owned(), None),
        ("DELETE", "`…/orders/{orderId}`", order.to_owned(), None),
        ("GET", "`/reports/top-customers`", top.to_owned(), None),
        ("GET", "`…?source=leaderboard`", format!("{top}?source=leaderboard"), None),
    ];
    budget_table(&world, "customer", requests, "docs/webstore.md").await;
}
