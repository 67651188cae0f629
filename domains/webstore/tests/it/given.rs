//! Worlds in which stories begin, and short functions for their requests.

use serde_json::{Value, json};

use crate::world::{Answer, World};

/// A world with the customers `ann` and `bob`, and the products `p1` (19.99) and `p2` (0.1) of the
/// category `c1` and `p1` (5) of `c2`.
pub(crate) async fn shop() -> World {
    shop_in(World::new().await).await
}

/// The same in a world of another kind.
pub(crate) async fn shop_in(world: World) -> World {
    for id in ["ann", "bob"] {
        customer(&world, id).await.expect(201);
    }
    for category in ["categories/c1", "categories/c2"] {
        label(&world, category, "A category").await.expect(201);
    }
    for (category, id, price) in [("c1", "p1", 19.99), ("c1", "p2", 0.1), ("c2", "p1", 5.0)] {
        product(&world, category, id, price, &[]).await.expect(201);
    }
    world
}

/// Returns the details of a customer; the first name is the id.
pub(crate) fn details(id: &str) -> Value {
    json!({
        "title": "Dr.", "firstName": id, "lastName": "Lee", "emailAddress": format!("{id}@example.com"),
        "phoneNumber": "555-0100",
        "addresses": [{"addressLine1": "1 Main Street", "city": "Redmond", "state": "WA",
            "country": "USA", "zipCode": "98052"}],
    })
}

pub(crate) async fn customer(world: &World, id: &str) -> Answer {
    world.put(&format!("/api/customers/{id}"), details(id)).await
}

pub(crate) fn line(category_id: &str, product_id: &str, quantity: u32) -> Value {
    json!({"categoryId": category_id, "productId": product_id, "quantity": quantity})
}

pub(crate) async fn order(world: &World, customer_id: &str) -> Answer {
    order_of(world, customer_id, &[line("c1", "p1", 1)]).await
}

pub(crate) async fn order_of(world: &World, customer_id: &str, lines: &[Value]) -> Answer {
    world.post(&format!("/api/customers/{customer_id}/orders"), json!({"items": lines})).await
}

pub(crate) async fn order_once(
    world: &World,
    key: &str,
    customer_id: &str,
    lines: &[Value],
) -> Answer {
    let path = format!("/api/customers/{customer_id}/orders");
    let body = Some(json!({"items": lines}));
    world.call("POST", &path, &[("idempotency-key", key)], body).await
}

pub(crate) async fn counts(world: &World, customer_id: &str) -> (u64, u64) {
    let path = format!("/api/customers/{customer_id}");
    let customer = world.get(&path).await.expect(200).json();
    let orders = world.list(&format!("{path}/orders")).await.len();
    (customer["salesOrderCount"].as_u64().unwrap(), orders as u64)
}

pub(crate) async fn set_password(world: &World, id: &str, password: &str) -> Answer {
    world.put(&format!("/api/customers/{id}/password"), json!({"password": password})).await
}

pub(crate) async fn verify(world: &World, id: &str, password: &str) -> u16 {
    let path = format!("/api/customers/{id}/password/verify");
    world.post(&path, json!({"password": password})).await.status.as_u16()
}

/// The two kinds of labels: the list in the path, and the word.
pub(crate) const KINDS: [(&str, &str); 2] = [("categories", "category"), ("tags", "tag")];

/// A world with the categories `bikes` and `parts`, the tags `new` and `red`, and the product `b1`, a
/// new red bike.
pub(crate) async fn catalog() -> World {
    catalog_in(World::new().await).await
}

/// The same in another world.
pub(crate) async fn catalog_in(world: World) -> World {
    for (path, name) in [
        ("categories/bikes", "Bikes"),
        ("categories/parts", "Parts"),
        ("tags/new", "New"),
        ("tags/red", "Red"),
    ] {
        label(&world, path, name).await.expect(201);
    }
    product(&world, "bikes", "b1", 1_000, &["new", "red"]).await.expect(201);
    world
}

/// Creates or renames a label, `categories/bikes`.
pub(crate) async fn label(world: &World, path: &str, name: &str) -> Answer {
    world.put(&format!("/api/{path}"), json!({"name": name})).await
}

pub(crate) async fn product(
    world: &World,
    category: &str,
    id: &str,
    price: impl Into<Value>,
    tags: &[&str],
) -> Answer {
    world.put(&path(category, id), body(id, price, tags)).await
}

pub(crate) fn body(id: &str, price: impl Into<Value>, tags: &[&str]) -> Value {
    json!({"sku": format!("SKU-{id}"), "name": format!("Product {id}"), "price": price.into(),
        "tagIds": tags})
}

pub(crate) fn path(category: &str, id: &str) -> String {
    format!("/api/categories/{category}/products/{id}")
}

pub(crate) async fn moved(world: &World, from: &str, id: &str, to: &str) -> Answer {
    world.post(&format!("{}/move", path(from, id)), json!({"categoryId": to})).await
}

/// The latest version of an item.
pub(crate) async fn item(world: &World, container: &str, partition: &str, id: &str) -> Value {
    let key = if container == "product" { "categoryId" } else { "type" };
    let items = world.items(container).await;
    items.into_iter().find(|it| it["id"] == id && it[key] == partition).unwrap_or_default()
}

/// Delivers the latest version of an item to its projection.
pub(crate) async fn deliver(world: &World, container: &str, partition: &str, id: &str) {
    let function = if container == "product" { "ProductsIntegrity" } else { "LabelNames" };
    let change = item(world, container, partition, id).await;
    world.deliver(function, &[change]).await.unwrap();
}

/// The names of its labels, as a product shows them.
pub(crate) async fn names(world: &World, category: &str, id: &str) -> Vec<String> {
    let product = world.get(&path(category, id)).await.expect(200).json();
    let tags = product["tags"].as_array().unwrap().iter().map(|tag| &tag["name"]);
    let names = [&product["categoryName"]].into_iter().chain(tags);
    names.map(|name| name.as_str().unwrap().to_owned()).collect()
}
