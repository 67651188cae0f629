//! Renamed labels.

use serde_json::json;
use tributary_local::cosmos::{
    Fault,
    RequestKind::{Create, Replace},
};
use tributary_testing::{budget::is_caused_by_a_change, interleavings::amid};

use super::given::{self, deliver, label, names, product};
use crate::world::World;

#[tokio::test]
async fn a_new_name_reaches_the_products_that_carry_it_and_no_others() {
    let world = given::catalog_in(World::with_partitions(3).await).await;
    for n in 0..9 {
        let category = format!("c{n}");
        label(&world, &format!("categories/{category}"), "C").await.expect(201);
        let tags = [&["red", "new"][..], &["new"], &[]][n % 3];
        product(&world, &category, "p", 1, tags).await.expect(201);
    }
    world.settle().await;
    label(&world, "tags/red", "Crimson").await.expect(200);
    label(&world, "categories/c0", "First").await.expect(200);
    let ((), requests) = world.requests_of(world.settle()).await;
    let writes = requests.iter().filter(|sent| sent.kind == Replace && sent.container == "product");
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
async fn a_tag_that_is_taken_away_while_it_is_renamed_stays_away() {
    let world = given::catalog().await;
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
        let world = given::catalog().await;
        let rename = async {
            for (path, kind, id) in
                [("categories/parts", "category", "parts"), ("tags/red", "tag", "red")]
            {
                label(&world, path, "Second").await.expect(200);
                deliver(&world, "productMeta", kind, id).await;
            }
        };
        let moving = given::moved(&world, "bikes", "b1", "parts");
        amid((&world, kind, "product"), moving, rename).await.expect(200);
        world.settle().await;
        assert_eq!(names(&world, "parts", "b1").await, ["Second", "New", "Second"]);
    }
}

/// The shop with 120 more products in `bikes`, all red, and one among them that cannot be read.
async fn with_an_unreadable_product() -> World {
    let world = given::catalog().await;
    for n in 0..120 {
        product(&world, "bikes", &format!("p{n:03}"), 1, &["red"]).await.expect(201);
    }
    let unreadable = json!({"id": "p050x", "categoryId": "bikes", "type": "product",
        "categoryVersion": 1, "tags": [{"id": "red", "name": "Red", "version": 1}]});
    world.write_item("product", &unreadable).await;
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
    let world = given::catalog().await;
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
    let world = given::catalog().await;
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
