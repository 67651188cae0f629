//! The projections of the change feed of `product`.

use tributary_testing::budget::is_caused_by_a_change;

use super::shop::{self, item, label, names, product};

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
