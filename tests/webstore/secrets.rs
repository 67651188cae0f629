//! No password and no hash leaves the container of the customers.

use serde_json::{Value, json};

use super::given;
use crate::world::World;

const PASSWORD: &str = "correct horse battery";
const WRONG: &str = "incorrect horse battery";

/// Every item outside the container of the customers.
async fn elsewhere(world: &World) -> Vec<Value> {
    let mut items = Vec::new();
    for container in ["leaderboard", "product", "productMeta", "dead-letters", "leases"] {
        items.extend(world.items(container).await);
    }
    items
}

#[tokio::test]
async fn no_answer_and_no_copy_has_a_password_or_its_hash() {
    let world = given::shop().await;
    given::set_password(&world, "ann", PASSWORD).await.expect(204);
    let order = given::order(&world, "ann").await.expect(201);
    world.settle().await;
    let customers = world.items("customer").await;
    let ann = customers.iter().find(|item| item["id"] == "ann").unwrap();
    let [hash, salt] = ["hash", "salt"].map(|name| ann["password"][name].as_str().unwrap());
    // A change that cannot be read, and one that is no object.
    let broken = json!({"id": "ann", "customerId": "ann", "type": "customer", "version": 1,
        "password": ann["password"], "firstName": [PASSWORD.len()]});
    world.deliver("Leaderboard", &[broken, json!([ann])]).await.unwrap();

    let path = "/api/customers/ann";
    let password = |password: &str| Some(json!({"password": password}));
    let [one, two] = ["password", "password/verify"].map(|part| format!("{path}/{part}"));
    let mut texts = Vec::new();
    for (method, path, body) in [
        ("PUT", path, Some(given::details("Anna"))),
        ("PUT", path, Some(ann.clone())),
        ("GET", path, None),
        ("GET", &format!("{path}?include=orders"), None),
        ("GET", &format!("{path}/orders"), None),
        ("GET", order.header("location"), None),
        ("GET", &format!("{path}/orders/ann"), None),
        ("PUT", &one, password(PASSWORD)),
        ("PUT", &one, password(hash)),
        ("POST", &two, password(WRONG)),
        ("POST", &two, password("short")),
        ("GET", "/api/reports/top-customers", None),
        ("GET", "/api/reports/top-customers?source=leaderboard", None),
        ("GET", "/api/dead-letters", None),
        ("DELETE", path, None),
    ] {
        let answer = world.call(method, path, &[], body).await;
        texts.push(format!("{method} {path}: {:?} {}", answer.headers, answer.text));
    }
    for letter in world.list("/api/dead-letters").await {
        let path = format!("/api/dead-letters/{}", letter["id"].as_str().unwrap());
        texts.push(world.get(&path).await.expect(200).text);
        texts.push(world.call("POST", &format!("{path}/replay"), &[], None).await.text);
    }
    texts.extend(elsewhere(&world).await.iter().map(ToString::to_string));
    for text in texts {
        for secret in [PASSWORD, WRONG, hash, salt, "argon2"] {
            assert!(!text.contains(secret), "{secret} is in {text}");
        }
    }
}
