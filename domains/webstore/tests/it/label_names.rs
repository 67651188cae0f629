//! The names of labels in products.

use serde_json::json;
use tributary_local::cosmos::RequestKind::{Create, Replace};

use super::shop::{self, deliver, label, names, path, product};
use tributary_testing::interleavings::amid;

use crate::world::World;

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
async fn a_rename_of_more_products_than_a_page_holds_reaches_them_all() {
    let world = shop::shop().await;
    let products: Vec<_> = (0..230).map(|n| format!("p{n}")).collect();
    for id in &products {
        product(&world, "parts", id, 1, &["red"]).await.expect(201);
    }
    world.settle().await;
    label(&world, "tags/red", "Crimson").await.expect(200);
    label(&world, "categories/parts", "Pieces").await.expect(200);
    world.settle().await;
    let list = world.list("/api/categories/parts/products").await;
    assert_eq!(list.len(), 230);
    for product in list {
        assert_eq!(product["categoryName"], "Pieces");
        assert_eq!(product["tags"], json!([{"id": "red", "name": "Crimson"}]));
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
