//! A caller that orders, renames a category and a product, and at once reads every list that shows it, at
//! another instance.

use std::time::Duration;

use serde_json::{Value, json};
use tributary_testing::checks::OwnWrites;

use super::given;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_list_shows_the_writes_of_its_caller() {
    let world = given::shop().await;
    let stale = ["customer", "leaderboard", "product", "productMeta"];
    // A list whose trigger has never run is behind.
    world.settle().await;
    let mut caller = OwnWrites::of(&world, Duration::from_millis(500), &stale).await;

    let order = json!({"items": [given::line("c1", "p1", 1)]});
    caller.write("POST", "/api/customers/bob/orders", Some(order)).await;
    let first = |list: &Value| list["items"][0]["id"] == "bob";
    caller.read("/api/reports/top-customers?source=leaderboard", first).await;
    let one = |list: &Value| list["items"].as_array().unwrap().len() == 1;
    caller.read("/api/customers/bob/orders", one).await;
    caller.read("/api/customers/bob", |customer| customer["salesOrderCount"] == 1).await;

    caller.write("PUT", "/api/categories/c1", Some(json!({"name": "Bikes"}))).await;
    let is_bikes = |product: &Value| product["categoryName"] == "Bikes";
    let are_bikes = |list: &Value| list["items"].as_array().unwrap().iter().all(is_bikes);
    caller.read("/api/categories/c1/products", are_bikes).await;
    caller.read("/api/categories/c1/products/p1", is_bikes).await;

    caller.write("DELETE", "/api/categories/c1/products/p2", None).await;
    caller.read("/api/categories/c1/products", one).await;
}
