//! Commands of each domain that reach their budget in the middle.

use serde_json::{Value, json};
use tributary_testing::checks::{RepeatableCommand, budget_spent_anywhere};

use crate::{
    blog::{post, user},
    webstore::{customer, label, product},
    world::World,
};

/// Users, a post, a customer, two categories with a product in the first.
async fn world() -> World {
    let world = World::new().await;
    user(&world, "ann", "Ann").await.expect(201);
    post(&world, "p1", "ann").await.expect(201);
    customer(&world, "eve").await.expect(201);
    for category in ["hats", "shoes"] {
        label(&world, &format!("categories/{category}"), category).await.expect(201);
    }
    product(&world, "hats", "cap", 1, &[]).await.expect(201);
    world
}

fn commands() -> Vec<RepeatableCommand> {
    let news = json!({
        "feedProviderId": "reuters", "title": "T", "content": "C", "sourceUrl": "https://example.com/1",
        "publishedDate": "2020-01-01T00:00:00Z",
    });
    let order = json!({"items": [{"productId": "cap", "categoryId": "hats", "quantity": 1}]});
    let command = |method, path, body, result| RepeatableCommand { method, path, body, result };
    let put = |path, body: Value| command("PUT", path, Some(body), path);
    let post = |path, body: Value, result| command("POST", path, Some(body), result);
    vec![
        put("/api/users/ann", json!({"username": "Anna"})),
        command("PUT", "/api/posts/p1/likes/ann", None, "/api/posts/p1"),
        post("/api/customers/eve/orders", order, "/api/customers/eve"),
        post(
            "/api/categories/hats/products/cap/move",
            json!({"categoryId": "shoes"}),
            "/api/categories/shoes/products/cap",
        ),
        post("/api/news/items", news, ""),
    ]
}

#[tokio::test]
async fn a_command_that_reaches_its_limit_anywhere_is_a_503_and_can_be_repeated() {
    for command in commands() {
        budget_spent_anywhere(world, &command, &["creationDate", "crawledDate"]).await;
    }
}
