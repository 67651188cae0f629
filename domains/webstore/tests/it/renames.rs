//! Renamed labels.

use std::time::Duration;

use futures::{StreamExt, future::join, stream};
use serde_json::{Value, json};
use tributary_functions::{app::AppOptions, projection::BackgroundOptions};
use tributary_local::{
    chaos::Chaos,
    cosmos::{
        EndpointOptions, Fault,
        RequestKind::{Create, Replace},
    },
};
use tributary_testing::{budget::is_caused_by_a_change, interleavings::amid};

use super::shop::{self, body, deliver, item, label, names, path, product};
use crate::world::{Answer, World};

#[tokio::test]
async fn a_new_name_reaches_the_products_that_carry_it_and_no_others() {
    let world = shop::stocked(World::with_partitions(3).await).await;
    for n in 0..9 {
        let category = format!("c{n}");
        label(&world, &format!("categories/{category}"), "C").await.expect(201);
        let tags = [&["red", "new"][..], &["new"], &[]][n % 3];
        product(&world, &category, "p", 1, tags).await.expect(201);
    }
    world.settle().await;
    label(&world, "tags/red", "Crimson").await.expect(200);
    label(&world, "categories/c0", "First").await.expect(200);
    let requests_before = world.endpoint.request_count();
    world.settle().await;
    let requests = world.endpoint.requests_since(requests_before);
    let writes = requests.iter().filter(|one| one.kind == Replace && one.container == "product");
    assert_eq!(writes.count(), 5, "the bike, three with the tag, one of them of the category");
    assert_eq!(names(&world, "bikes", "b1").await, ["Bikes", "New", "Crimson"]);
    for n in 0..9 {
        let category = if n == 0 { "First" } else { "C" };
        let mut expected = vec![category];
        expected.extend_from_slice([&["Crimson", "New"][..], &["New"], &[]][n % 3]);
        assert_eq!(names(&world, &format!("c{n}"), "p").await, expected);
    }
}

#[tokio::test]
async fn a_price_edited_while_a_name_is_brought_is_kept_and_so_is_the_name() {
    for (label_path, kind, id, place) in
        [("categories/bikes", "category", "bikes", 0), ("tags/red", "tag", "red", 2)]
    {
        let world = shop::shop().await;
        label(&world, label_path, "Second").await.expect(200);
        let edit = async {
            product(&world, "bikes", "b1", 7, &["new", "red"]).await.expect(200);
        };
        let rename = deliver(&world, "productMeta", kind, id);
        amid((&world, Replace, "product"), rename, edit).await;
        assert_eq!(names(&world, "bikes", "b1").await[place], "Second");
        label(&world, label_path, "Third").await.expect(200);
        let rename = deliver(&world, "productMeta", kind, id);
        let edit = product(&world, "bikes", "b1", 8, &["new", "red"]);
        amid((&world, Replace, "product"), edit, rename).await.expect(200);
        assert_eq!(names(&world, "bikes", "b1").await[place], "Third");
        assert_eq!(world.get(&path("bikes", "b1")).await.json()["price"], 8);
    }
}

/// The rename has looked before the product was there.
#[tokio::test]
async fn a_product_created_during_a_rename_has_the_new_name_in_the_end() {
    for (path, kind, id, place) in
        [("categories/parts", "category", "parts", 0), ("tags/red", "tag", "red", 1)]
    {
        let world = shop::shop().await;
        let rename = async {
            label(&world, path, "Second").await.expect(200);
            deliver(&world, "productMeta", kind, id).await;
        };
        let create = product(&world, "parts", "p1", 1, &["red"]);
        amid((&world, Create, "product"), create, rename).await.expect(201);
        assert_ne!(names(&world, "parts", "p1").await[place], "Second");
        deliver(&world, "product", "parts", "p1").await;
        assert_eq!(names(&world, "parts", "p1").await[place], "Second");
    }
}

#[tokio::test]
async fn a_tag_that_is_taken_away_while_it_is_renamed_stays_away() {
    let world = shop::shop().await;
    label(&world, "tags/red", "Crimson").await.expect(200);
    let edit = async {
        product(&world, "bikes", "b1", 7, &["new"]).await.expect(200);
    };
    let rename = deliver(&world, "productMeta", "tag", "red");
    amid((&world, Replace, "product"), rename, edit).await;
    assert_eq!(names(&world, "bikes", "b1").await, ["Bikes", "New"]);
}

#[tokio::test]
async fn a_product_that_moves_during_a_rename_has_the_new_names_in_the_end() {
    for kind in [Create, Replace] {
        let world = shop::shop().await;
        let rename = async {
            for (path, kind, id) in
                [("categories/parts", "category", "parts"), ("tags/red", "tag", "red")]
            {
                label(&world, path, "Second").await.expect(200);
                deliver(&world, "productMeta", kind, id).await;
            }
        };
        let moving = shop::moved(&world, "bikes", "b1", "parts");
        amid((&world, kind, "product"), moving, rename).await.expect(200);
        world.settle().await;
        assert_eq!(names(&world, "parts", "b1").await, ["Second", "New", "Second"]);
    }
}

/// The shop with 120 more products in `bikes`, all red, and one among them that cannot be read.
async fn with_an_unreadable_product() -> World {
    let world = shop::shop().await;
    for n in 0..120 {
        product(&world, "bikes", &format!("p{n:03}"), 1, &["red"]).await.expect(201);
    }
    let unreadable = json!({"id": "p050x", "categoryId": "bikes", "type": "product",
        "categoryVersion": 1, "tags": [{"id": "red", "name": "Red", "version": 1}]});
    let products = world.container("product").await;
    products.create_item("bikes".to_owned(), "p050x", &unreadable, None).await.unwrap();
    world
}

async fn is_new_on_all_products(world: &World, place: usize, name: &str) {
    for n in 0..120 {
        assert_eq!(names(world, "bikes", &format!("p{n:03}")).await[place], name, "{n}");
    }
}

#[tokio::test]
async fn a_new_name_reaches_all_products_but_one_that_cannot_be_read() {
    let world = with_an_unreadable_product().await;
    label(&world, "categories/bikes", "Cycles").await.expect(200);
    deliver(&world, "productMeta", "category", "bikes").await;
    is_new_on_all_products(&world, 0, "Cycles").await;
    label(&world, "tags/red", "Crimson").await.expect(200);
    deliver(&world, "productMeta", "tag", "red").await;
    is_new_on_all_products(&world, 1, "Crimson").await;
    let letters = world.items("dead-letters").await;
    assert_eq!(letters.len(), 2, "one for each rename: {letters:?}");
    assert!(letters.iter().all(|letter| letter["function"] == "LabelNames"));
}

#[tokio::test]
async fn a_new_name_reaches_all_products_but_one_that_is_too_large_with_it() {
    let world = shop::shop().await;
    for n in 0..30 {
        product(&world, "bikes", &format!("p{n:03}"), 1, &["red"]).await.expect(201);
    }
    label(&world, "categories/bikes", "Cycles").await.expect(200);
    world.endpoint.inject(Fault::Refused(413), Replace, "product", 1);
    deliver(&world, "productMeta", "category", "bikes").await;
    for n in 0..30 {
        assert_eq!(names(&world, "bikes", &format!("p{n:03}")).await[0], "Cycles");
    }
}

#[tokio::test]
async fn a_batch_that_comes_twice_writes_nothing_and_shares_its_reads() {
    let world = shop::shop().await;
    for n in 0..20 {
        product(&world, "parts", &format!("p{n}"), n, &["red", "new"]).await.expect(201);
    }
    let products = world.items("product").await;
    let requests_before = world.endpoint.request_count();
    for _ in 0..2 {
        world.deliver("ProductsIntegrity", &products).await.unwrap();
    }
    let mut requests = world.endpoint.requests_since(requests_before);
    requests.retain(is_caused_by_a_change);
    // Two reads of categories, and one query of the tags.
    assert_eq!(requests.len(), 2 * 3, "{requests:?}");
    assert_eq!(world.items("product").await, products);
}

#[tokio::test]
async fn a_product_with_older_names_is_repaired_once() {
    let world = shop::shop().await;
    for path in ["categories/bikes", "tags/red", "tags/new"] {
        label(&world, path, "Renamed").await.expect(200);
    }
    let change = item(&world, "product", "bikes", "b1").await;
    for _ in 0..2 {
        world.deliver("ProductsIntegrity", std::slice::from_ref(&change)).await.unwrap();
        assert_eq!(names(&world, "bikes", "b1").await, ["Renamed", "Renamed", "Renamed"]);
    }
    let repaired = item(&world, "product", "bikes", "b1").await;
    assert_eq!(repaired["version"], 4, "one write with three names");
}

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
