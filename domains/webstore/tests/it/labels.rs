//! Categories and tags.

use serde_json::json;
use tributary_local::cosmos::RequestKind::Replace;
use tributary_testing::interleavings::amid;

use super::given::{self, KINDS, deliver, item, label, names, product};
use crate::{
    expect::{created, problem},
    world::World,
};

#[tokio::test]
async fn a_put_creates_and_then_renames() {
    let world = World::new().await;
    for (list, kind) in KINDS {
        let path = format!("{list}/red");
        let location = format!("/api/{path}");
        problem(&world.get(&location).await, 404);
        let made = created(&world, &label(&world, &path, "Red").await, &location).await;
        assert_eq!(made, json!({"id": "red", "name": "Red"}));
        let renamed = label(&world, &path, "Crimson").await.expect(200);
        assert_eq!(renamed.json()["name"], "Crimson");
        let there = world.get(&location).await.expect(200);
        assert_eq!((there.json(), there.header("etag")), (renamed.json(), renamed.header("etag")));
        assert_eq!(item(&world, "productMeta", kind, "red").await["version"], 2);
        // The same name again is no new version.
        let same = label(&world, &path, "Crimson").await.expect(200);
        assert_eq!(same.header("etag"), renamed.header("etag"));
    }
}

#[tokio::test]
async fn a_category_that_no_product_uses_is_deleted() {
    let world = World::new().await;
    for (list, kind) in KINDS {
        let path = format!("/api/{list}/red");
        problem(&world.delete(&path).await, 404);
        problem(&world.call("DELETE", &path, &[("if-match", "*")], None).await, 412);
        label(&world, &format!("{list}/red"), "Red").await.expect(201);
        world.delete(&path).await.expect(204);
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
    let world = given::catalog_in(World::with_partitions(3).await).await;
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
    world.delete(&given::path("bikes", "b1")).await.expect(204);
    for n in 0..12 {
        given::moved(&world, "bikes", &format!("n{n}"), "parts").await.expect(200);
        product(&world, &format!("c{n}"), "p", n, &["new"]).await.expect(200);
    }
    for path in paths {
        world.delete(path).await.expect(204);
    }
}

#[tokio::test]
async fn the_products_of_a_category_in_use_are_counted_to_a_hundred_only() {
    let world = given::catalog_in(World::with_partitions(3).await).await;
    let mut copy = item(&world, "product", "bikes", "b1").await;
    for n in 0..250 {
        copy["id"] = format!("n{n}").into();
        world.write_item("product", &copy).await;
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

/// The product was counted too late: the deletion loses.
#[tokio::test]
async fn a_category_that_gets_a_product_during_its_deletion_is_restored() {
    for (path, kind, id) in [("categories/parts", "category", "parts"), ("tags/new", "tag", "new")]
    {
        // The first projection is the one that reads the tombstone, or the one of the product.
        for product_first in [true, false] {
            let world = given::catalog().await;
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

#[tokio::test]
async fn a_late_change_of_a_product_restores_no_label_that_it_no_longer_uses() {
    let world = given::catalog().await;
    let change = item(&world, "product", "bikes", "b1").await;
    product(&world, "bikes", "b1", 1, &[]).await.expect(200);
    for id in ["new", "red"] {
        world.delete(&format!("/api/tags/{id}")).await.expect(204);
    }
    world.deliver("ProductsIntegrity", std::slice::from_ref(&change)).await.unwrap();
    assert!(world.list("/api/tags").await.is_empty());
    world.delete(&given::path("bikes", "b1")).await.expect(204);
    world.delete("/api/categories/bikes").await.expect(204);
    world.deliver("ProductsIntegrity", &[change]).await.unwrap();
    problem(&world.get("/api/categories/bikes").await, 404);
}

#[tokio::test]
async fn a_product_restores_a_category_without_a_tombstone() {
    let world = given::catalog().await;
    world.delete_item("productMeta", "category", "bikes").await;
    deliver(&world, "product", "bikes", "b1").await;
    let category = world.get("/api/categories/bikes").await.expect(200).json();
    assert_eq!(category, json!({"id": "bikes", "name": "Bikes"}));
}

#[tokio::test]
async fn a_list_is_sorted_by_code_point_and_then_by_id() {
    let world = World::new().await;
    for (list, _) in KINDS {
        // UTF-16 would put the bicycle before the full-width character.
        let names = ["B", "Z", "a", "a", "ab", "é", "Ｂ", "🚲"];
        for (n, name) in names.iter().enumerate().rev() {
            label(&world, &format!("{list}/id{n}"), name).await.expect(201);
        }
        for limit in [1, 3, 100] {
            let items = world.list_by(&format!("/api/{list}"), limit).await;
            let ids: Vec<_> = items.iter().map(|item| item["id"].as_str().unwrap()).collect();
            assert_eq!(ids, ["id0", "id1", "id2", "id3", "id4", "id5", "id6", "id7"]);
        }
    }
}
