//! Commands of each domain that reach their budget in the middle.

use serde_json::{Value, json};
use tributary_testing::checks::{RepeatableCommand, budget_spent_anywhere};

use crate::world::World;

/// Users, a post, a customer, two categories with a product in the first.
async fn world() -> World {
    let world = World::new().await;
    world.put("/api/users/ann", json!({"username": "Ann"})).await.expect(201);
    let post = json!({"userId": "ann", "title": "T", "content": "C"});
    world.put("/api/posts/p1", post).await.expect(201);
    let customer = json!({
        "firstName": "Eve", "lastName": "Ada", "emailAddress": "eve@example.com", "addresses": [],
    });
    world.put("/api/customers/eve", customer).await.expect(201);
    for category in ["hats", "shoes"] {
        world
            .put(&format!("/api/categories/{category}"), json!({"name": category}))
            .await
            .expect(201);
    }
    let product = json!({"sku": "S", "name": "Cap", "price": 1, "tagIds": []});
    world.put("/api/categories/hats/products/cap", product).await.expect(201);
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
        put("/api/users/bob", json!({"username": "Bob"})),
        put("/api/users/ann", json!({"username": "Anna"})),
        put("/api/posts/p1", json!({"userId": "ann", "title": "New", "content": "C"})),
        command("PUT", "/api/posts/p1/likes/ann", None, "/api/posts/p1"),
        post(
            "/api/posts/p1/comments",
            json!({"userId": "ann", "content": "Well."}),
            "/api/posts/p1",
        ),
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
