//! `DELETE` of `/categories/{categoryId}` and `/tags/{tagId}`.

use serde_json::json;
use tributary_local::cosmos::RequestKind::{Create, Replace};

use super::shop::{self, KINDS, deliver, item, label, names, product};
use tributary_testing::interleavings::amid;

use crate::{expect::problem, world::World};

#[tokio::test]
async fn a_category_that_no_product_uses_is_deleted() {
    let world = World::new().await;
    for (list, kind) in KINDS {
        let path = format!("/api/{list}/red");
        problem(&world.delete(&path).await, 404);
        problem(&world.call("DELETE", &path, &[("if-match", "*")], None).await, 412);
        let first = label(&world, &format!("{list}/red"), "Red").await.expect(201);
        problem(&world.call("DELETE", &path, &[("if-match", "\"x\"")], None).await, 412);
        let as_seen = [("if-match", first.header("etag"))];
        world.call("DELETE", &path, &as_seen, None).await.expect(204);
        problem(&world.get(&path).await, 404);
        problem(&world.delete(&path).await, 404);
        // A new label with the same id continues the versions.
        label(&world, &format!("{list}/red"), "Crimson").await.expect(201);
        assert_eq!(item(&world, "productMeta", kind, "red").await["version"], 3);
        world.settle().await;
        world.get(&path).await.expect(200);
    }
}

#[tokio::test]
async fn the_delete_of_a_category_in_use_is_a_409_with_the_number_of_products() {
    let world = shop::stocked(World::with_partitions(3).await).await;
    let paths = ["/api/categories/bikes", "/api/tags/red"];
    for path in paths {
        let detail = problem(&world.delete(path).await, 409)["detail"].clone();
        assert!(detail.as_str().unwrap().starts_with("1 product uses this"), "{detail}");
    }
    for n in 0..12 {
        product(&world, "bikes", &format!("n{n}"), n, &[]).await.expect(201);
        let category = format!("c{n}");
        label(&world, &format!("categories/{category}"), "C").await.expect(201);
        product(&world, &category, "p", n, &["red"]).await.expect(201);
    }
    for path in paths {
        let detail = problem(&world.delete(path).await, 409)["detail"].clone();
        assert!(detail.as_str().unwrap().starts_with("13 products use this"), "{detail}");
    }
    // Deleted and moved products do not count, nor do edited ones that have the tag no more.
    world.delete(&shop::path("bikes", "b1")).await.expect(204);
    for n in 0..12 {
        shop::moved(&world, "bikes", &format!("n{n}"), "parts").await.expect(200);
        product(&world, &format!("c{n}"), "p", n, &["new"]).await.expect(200);
    }
    for path in paths {
        world.delete(path).await.expect(204);
    }
}

#[tokio::test]
async fn the_products_of_a_category_in_use_are_counted_to_a_hundred_only() {
    let world = shop::stocked(World::with_partitions(3).await).await;
    let products = world.container("product").await;
    let mut copy = item(&world, "product", "bikes", "b1").await;
    for n in 0..250 {
        copy["id"] = format!("n{n}").into();
        products.create_item("bikes", copy["id"].as_str().unwrap(), &copy, None).await.unwrap();
    }
    for path in ["/api/categories/bikes", "/api/tags/red"] {
        let requests_before = world.endpoint.request_count();
        let detail = problem(&world.delete(path).await, 409)["detail"].clone();
        assert!(
            detail.as_str().unwrap().starts_with("More than 100 products use this"),
            "{detail}"
        );
        let requests = world.endpoint.requests_since(requests_before);
        let answers = requests.iter().filter_map(|request| request.answer.as_ref());
        let ids: u32 = answers.map(|answer| answer.items_returned).sum();
        assert!(ids < 250, "{path}: {ids} ids");
    }
}

#[tokio::test]
async fn a_command_that_names_a_deleted_category_is_a_404() {
    let world = shop::shop().await;
    world.delete(&shop::path("bikes", "b1")).await.expect(204);
    product(&world, "parts", "p1", 1, &[]).await.expect(201);
    for path in ["/api/categories/bikes", "/api/tags/red"] {
        world.delete(path).await.expect(204);
    }
    for (category, tags) in [("bikes", &[][..]), ("parts", &["red"])] {
        problem(&product(&world, category, "b1", 1, tags).await, 404);
    }
    problem(&world.get("/api/categories/bikes/products").await, 404);
    problem(&shop::moved(&world, "parts", "p1", "bikes").await, 404);
}

/// The product was counted too late: the deletion loses.
#[tokio::test]
async fn a_category_that_gets_a_product_during_its_deletion_is_restored() {
    for (path, kind, id) in [("categories/parts", "category", "parts"), ("tags/new", "tag", "new")]
    {
        // The first projection is the one that reads the tombstone, or the one of the product.
        for product_first in [true, false] {
            let world = shop::shop().await;
            product(&world, "bikes", "b1", 1, &[]).await.expect(200);
            let create = async {
                product(&world, "parts", "p1", 1, &["new"]).await.expect(201);
                if product_first {
                    deliver(&world, "product", "parts", "p1").await;
                }
            };
            let path = format!("/api/{path}");
            let delete = world.delete(&path);
            amid((&world, Replace, "productMeta"), delete, create).await.expect(204);
            problem(&world.get(&path).await, 404);
            deliver(&world, "productMeta", kind, id).await;
            world.get(&path).await.expect(200);
            world.settle().await;
            assert_eq!(names(&world, "parts", "p1").await, ["Parts", "New"]);
            assert_eq!(item(&world, "productMeta", kind, id).await["version"], 3);
            problem(&world.delete(&path).await, 409);
        }
    }
}

/// The tombstone was delivered too early: the product's own change finds it.
#[tokio::test]
async fn a_category_deleted_while_a_product_is_written_is_restored() {
    for (path, kind, id) in [("categories/parts", "category", "parts"), ("tags/new", "tag", "new")]
    {
        let world = shop::shop().await;
        product(&world, "bikes", "b1", 1, &[]).await.expect(200);
        let path = format!("/api/{path}");
        let delete = async {
            world.delete(&path).await.expect(204);
            deliver(&world, "productMeta", kind, id).await;
            problem(&world.get(&path).await, 404);
        };
        let create = product(&world, "parts", "p1", 1, &["new"]);
        amid((&world, Create, "product"), create, delete).await.expect(201);
        deliver(&world, "product", "parts", "p1").await;
        world.get(&path).await.expect(200);
        assert_eq!(names(&world, "parts", "p1").await, ["Parts", "New"]);
    }
}

#[tokio::test]
async fn a_late_change_of_a_product_restores_no_label_that_it_no_longer_uses() {
    let world = shop::shop().await;
    let change = item(&world, "product", "bikes", "b1").await;
    product(&world, "bikes", "b1", 1, &[]).await.expect(200);
    for id in ["new", "red"] {
        world.delete(&format!("/api/tags/{id}")).await.expect(204);
    }
    world.deliver("ProductsIntegrity", std::slice::from_ref(&change)).await.unwrap();
    assert!(world.list("/api/tags").await.is_empty());
    world.delete(&shop::path("bikes", "b1")).await.expect(204);
    world.delete("/api/categories/bikes").await.expect(204);
    world.deliver("ProductsIntegrity", &[change]).await.unwrap();
    problem(&world.get("/api/categories/bikes").await, 404);
}

#[tokio::test]
async fn a_product_restores_a_category_without_a_tombstone() {
    let world = shop::shop().await;
    let labels = world.container("productMeta").await;
    labels.delete_item("category", "bikes", None).await.unwrap();
    deliver(&world, "product", "bikes", "b1").await;
    let category = world.get("/api/categories/bikes").await.expect(200).json();
    assert_eq!(category, json!({"id": "bikes", "name": "Bikes"}));
}
