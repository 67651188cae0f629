//! A rename of a label that meets a product that no program can read, or that the store
//! refuses.

use serde_json::json;
use tributary_local::cosmos::{Fault, RequestKind::Replace};

use super::shop::{self, deliver, label, names, product};
use crate::world::World;

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
