//! What happens when a request reaches its limits in the middle.

use std::time::Duration;

use serde_json::{Value, json};
use tributary_functions::cosmos::Limits;

use crate::world::{Answer, World};

/// No command sends more store requests when it is alone.
const MOST_REQUESTS: u64 = 14;

fn limits(store_requests: u64) -> Limits {
    Limits { store_requests, ..Limits::REQUEST }
}

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

/// A command that can be repeated, and the item that shows its result: where it is empty, the one
/// that its answer locates.
type Command = (&'static str, &'static str, Option<Value>, &'static str);

fn commands() -> Vec<Command> {
    let news = json!({
        "feedProviderId": "reuters", "title": "T", "content": "C", "sourceUrl": "https://example.com/1",
        "publishedDate": "2020-01-01T00:00:00Z",
    });
    let order = json!({"items": [{"productId": "cap", "categoryId": "hats", "quantity": 1}]});
    vec![
        ("PUT", "/api/users/bob", Some(json!({"username": "Bob"})), "/api/users/bob"),
        ("PUT", "/api/users/ann", Some(json!({"username": "Anna"})), "/api/users/ann"),
        (
            "PUT",
            "/api/posts/p1",
            Some(json!({"userId": "ann", "title": "New", "content": "C"})),
            "/api/posts/p1",
        ),
        ("PUT", "/api/posts/p1/likes/ann", None, "/api/posts/p1"),
        (
            "POST",
            "/api/posts/p1/comments",
            Some(json!({"userId": "ann", "content": "Well."})),
            "/api/posts/p1",
        ),
        ("POST", "/api/customers/eve/orders", Some(order), "/api/customers/eve"),
        (
            "POST",
            "/api/categories/hats/products/cap/move",
            Some(json!({"categoryId": "shoes"})),
            "/api/categories/shoes/products/cap",
        ),
        ("POST", "/api/news/items", Some(news), ""),
    ]
}

async fn carry_out(world: &World, (method, path, body, _): &Command) -> Answer {
    world.call(method, path, &[("idempotency-key", "a-key")], body.clone()).await
}

/// The result without what differs between two worlds.
async fn result(world: &World, path: &str) -> Value {
    let mut item = world.get(path).await.expect(200).json();
    for time in ["creationDate", "crawledDate"] {
        item.as_object_mut().unwrap().remove(time);
    }
    item
}

#[tokio::test]
async fn a_command_that_reaches_its_limit_anywhere_is_a_503_and_can_be_repeated() {
    for command in commands() {
        let undisturbed = world().await;
        let answer = carry_out(&undisturbed, &command).await;
        assert!(answer.status.is_success(), "{command:?}: {}", answer.text);
        let path = if command.3.is_empty() { answer.header("location") } else { command.3 };
        let expected = result(&undisturbed, path).await;
        let mut n_refused = 0;
        for requests in 0..=MOST_REQUESTS {
            let world = world().await;
            let limited = world.with_limits(limits(requests)).await;
            let answer = carry_out(&limited, &command).await;
            if answer.status.is_success() {
                assert_eq!(result(&world, path).await, expected, "{command:?}");
                break;
            }
            let answer = answer.expect(503);
            assert_eq!(answer.json()["type"], "urn:tributary:problem:budget-spent");
            assert_eq!(answer.header("retry-after"), "1");
            n_refused += 1;
            let repeated = carry_out(&world, &command).await;
            assert!(repeated.status.is_success(), "{command:?}: {}", repeated.text);
            assert_eq!(result(&world, path).await, expected, "{command:?} after {requests}");
        }
        assert!((1..=MOST_REQUESTS).contains(&n_refused), "{command:?}: {n_refused}");
    }
}

#[tokio::test]
async fn a_request_whose_time_or_request_units_are_spent_sends_no_more() {
    let world = world().await;
    let spent = [
        Limits { time: Duration::ZERO, ..Limits::REQUEST },
        Limits { request_units: 0, ..Limits::REQUEST },
    ];
    for limits in spent {
        let limited = world.with_limits(limits).await;
        world.endpoint.take_requests();
        limited.get("/api/posts/p1").await.expect(503);
        assert_eq!(world.endpoint.take_requests().len(), 0);
    }
}
