//! A category with many products, and a tag on products of many categories, renamed while prices are
//! edited, and the store loses answers and shows old states.

use std::time::Duration;

use futures::{StreamExt, future::join, stream};
use serde_json::{Value, json};
use tributary_functions::{app::AppOptions, projection::BackgroundOptions};
use tributary_local::{chaos::Chaos, cosmos::EndpointOptions};

use super::shop::{body, label, path};
use crate::world::{Answer, World};

const CHAOS: &str = "lost-answer=0.05,stale=0.3";
/// Products in the category `many`, and categories with one product each.
const N_PRODUCTS: u32 = 110;
const ROUNDS: u32 = 2;

/// Category, id and name of the category of each product with the tag.
fn products() -> Vec<(String, String)> {
    let many = (0..N_PRODUCTS).map(|n| ("many".to_owned(), format!("p{n}")));
    let single = (0..20).map(|n| (format!("c{n}"), "p".to_owned()));
    many.chain(single).collect()
}

/// Sends a command until it is accepted: a store that throttles for long is a 429.
async fn accepted(command: impl AsyncFn() -> Answer) {
    for _ in 0..20 {
        let answer = command().await;
        if answer.status.is_success() {
            return;
        }
        assert!(matches!(answer.status.as_u16(), 429 | 503), "{}", answer.text);
    }
    panic!("a command was never accepted");
}

async fn price(world: &World, category: &str, id: &str, price: u32) {
    accepted(async || world.put(&path(category, id), body(id, price, &["red"])).await).await;
}

/// Delivers all labels to an instance that has no time at all for each, until nothing
/// is left of them.
async fn rename(world: &World) {
    for _ in 0..200 {
        let labels = world.items("productMeta").await;
        let due = labels.iter().filter(|item| item["version"].as_u64() > Some(1));
        let due: Vec<Value> = due.cloned().collect();
        // The next round is a duplicate delivery of the refused changes.
        let _ = world.deliver("LabelNames", &due).await;
        tokio::task::yield_now().await;
        let products = world.items("product").await;
        let is_old = |item: &Value| item["tags"][0]["name"] != "Crimson";
        if !products.iter().any(is_old) {
            return;
        }
    }
}

#[tokio::test]
async fn renames_under_edits_end_with_new_names_and_kept_prices() {
    let chaos = Chaos::new(CHAOS.parse().unwrap(), 14);
    let chaotic = Some(chaos.clone());
    let options = EndpointOptions { partitions: 3, chaos: chaotic, ..EndpointOptions::default() };
    let world = World::with_options(options).await;
    let named = async |path: &str, name: &str| {
        accepted(async || label(&world, path, name).await).await;
    };
    for list in ["categories/many", "tags/red"] {
        named(list, "Old").await;
    }
    for n in 0..20 {
        named(&format!("categories/c{n}"), "Single").await;
    }
    for (category, id) in products() {
        price(&world, &category, &id, 0).await;
    }
    named("tags/red", "Crimson").await;
    named("categories/many", "New").await;
    let background = BackgroundOptions { slice: Duration::ZERO, ..World::options().background };
    let hasty = world.with_app(AppOptions { background, ..World::options() }).await;
    let other = world.second_instance().await;
    let edits = async {
        for round in 1..=ROUNDS {
            let edits = products().into_iter().enumerate().map(async |(n, (category, id))| {
                let world = if n % 2 == 0 { &world } else { &other };
                price(world, &category, &id, round).await;
            });
            stream::iter(edits).buffer_unordered(8).collect::<Vec<()>>().await;
        }
    };
    join(rename(&hasty), edits).await;
    let injected = chaos.injected();
    assert!(injected.iter().filter(|(_, times)| *times > 0).count() >= 2, "{injected:?}");
    chaos.stop();
    world.settle().await;

    for (category, id) in products() {
        let product = world.get(&path(&category, &id)).await.expect(200).json();
        let name = if category == "many" { "New" } else { "Single" };
        assert_eq!(product["categoryName"], name, "{product}");
        assert_eq!(product["tags"], json!([{"id": "red", "name": "Crimson"}]), "{product}");
        assert_eq!(product["price"], ROUNDS, "{product}");
    }
}
