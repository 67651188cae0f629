//! Worlds in which stories of the catalog begin, and short functions for their requests.

use serde_json::{Value, json};

use crate::world::{Answer, World};

/// The two kinds of labels: the list in the path, and the word.
pub(crate) const KINDS: [(&str, &str); 2] = [("categories", "category"), ("tags", "tag")];

/// A world with the categories `bikes` and `parts`, the tags `new` and `red`, and the product `b1`, a
/// new red bike.
pub(crate) async fn shop() -> World {
    stocked(World::new().await).await
}

/// The same in another world.
pub(crate) async fn stocked(world: World) -> World {
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

/// Creates or edits a product.
pub(crate) async fn product(
    world: &World,
    category: &str,
    id: &str,
    price: u32,
    tags: &[&str],
) -> Answer {
    world.put(&path(category, id), body(id, price, tags)).await
}

pub(crate) fn body(id: &str, price: u32, tags: &[&str]) -> Value {
    json!({"sku": format!("SKU-{id}"), "name": format!("Product {id}"), "price": price, "tagIds": tags})
}

pub(crate) fn path(category: &str, id: &str) -> String {
    format!("/api/categories/{category}/products/{id}")
}

/// Moves a product.
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
