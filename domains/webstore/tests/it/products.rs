//! Products.

use serde_json::{Value, json};
use tributary_local::cosmos::{Fault, RequestKind::Replace};

use super::given::{self, item, label, path, product};
use crate::expect::{created, problem};

#[tokio::test]
async fn a_product_has_the_names_of_its_category_and_its_tags() {
    let world = given::catalog().await;
    let body = json!({
        "sku": "S-1", "name": "A bell", "description": "It rings.", "price": 19.99,
        "tagIds": ["red", "new", "red"], "categoryName": "Mine", "version": 9,
    });
    let answer = world.put(&path("parts", "bell"), body).await;
    let product = created(&world, &answer, &path("parts", "bell")).await;
    assert_eq!(
        product,
        json!({
            "id": "bell", "categoryId": "parts", "categoryName": "Parts", "sku": "S-1",
            "name": "A bell", "description": "It rings.", "price": 19.99,
            "tags": [{"id": "red", "name": "Red"}, {"id": "new", "name": "New"}],
        })
    );
    assert!(answer.text.contains("19.99"), "{}", answer.text);
}

#[tokio::test]
async fn an_edit_keeps_what_it_does_not_change_and_reads_new_tags_only() {
    let world = given::catalog().await;
    label(&world, "tags/blue", "Blue").await.expect(201);
    let first = world.get(&path("bikes", "b1")).await.expect(200);
    for (price, tags, requests) in [(900, &["new", "red"][..], 2), (900, &["red", "blue"], 3)] {
        let requests_before = world.endpoint.request_count();
        let edited = product(&world, "bikes", "b1", price, tags).await.expect(200).json();
        assert_eq!(world.endpoint.request_count() - requests_before, requests);
        let ids: Vec<_> =
            edited["tags"].as_array().unwrap().iter().map(|tag| tag["id"].clone()).collect();
        assert_eq!(
            (&edited["price"], ids),
            (&json!(900), tags.iter().map(|&t| t.into()).collect())
        );
    }
    let answer = product(&world, "bikes", "b1", 900, &["red", "blue"]).await.expect(200);
    assert_ne!(answer.header("etag"), first.header("etag"));
    assert_eq!(item(&world, "product", "bikes", "b1").await["version"], 3);
    assert_eq!(answer.json()["description"], Value::Null);
}

#[tokio::test]
async fn an_unknown_category_or_tag_is_a_404() {
    let world = given::catalog().await;
    for (category, tags) in [("none", &[][..]), ("bikes", &["none"]), ("bikes", &["red", "none"])] {
        problem(&product(&world, category, "new", 1, tags).await, 404);
        problem(&product(&world, category, "b1", 1, tags).await, 404).get("detail").unwrap();
    }
    // The ids of categories are no ids of tags.
    problem(&product(&world, "red", "new", 1, &[]).await, 404);
    problem(&product(&world, "bikes", "new", 1, &["parts"]).await, 404);
}

#[tokio::test]
async fn the_list_of_an_unknown_category_is_a_404_and_that_of_an_empty_category_is_empty() {
    let world = given::catalog().await;
    problem(&world.get("/api/categories/none/products").await, 404);
    assert!(world.list("/api/categories/parts/products").await.is_empty());
    product(&world, "parts", "p1", 1, &[]).await.expect(201);
    world.delete(&path("parts", "p1")).await.expect(204);
    given::moved(&world, "bikes", "b1", "parts").await.expect(200);
    assert!(world.list("/api/categories/bikes/products").await.is_empty());
    let ids: Vec<_> = world.list("/api/categories/parts/products").await;
    assert_eq!((ids.len(), &ids[0]["id"]), (1, &json!("b1")));
}

#[tokio::test]
async fn a_deleted_product_is_gone_and_its_id_can_be_used_again() {
    let world = given::catalog().await;
    let bike = path("bikes", "b1");
    world.delete(&bike).await.expect(204);
    problem(&world.get(&bike).await, 404);
    problem(&world.delete(&bike).await, 404);
    problem(&given::moved(&world, "bikes", "b1", "parts").await, 404);
    product(&world, "bikes", "b1", 7, &[]).await.expect(201);
    assert_eq!(item(&world, "product", "bikes", "b1").await["version"], 3);
}

#[tokio::test]
async fn a_repeated_delete_deletes_no_newer_product() {
    let world = given::catalog().await;
    let bike = path("bikes", "b1");
    let invoked = [("x-azure-functions-invocationid", "1")];
    world.endpoint.inject(Fault::AnswerLost, Replace, "product", 1);
    world.call("DELETE", &bike, &invoked, None).await.expect(204);
    world.call("DELETE", &bike, &invoked, None).await.expect(204);
    product(&world, "bikes", "b1", 7, &[]).await.expect(201);
    world.second_instance().await.call("DELETE", &bike, &invoked, None).await.expect(204);
    world.get(&bike).await.expect(200);
}
