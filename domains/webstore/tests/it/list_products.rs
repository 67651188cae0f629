//! `GET /categories/{categoryId}/products`.

use serde_json::json;

use super::shop::{self, path, product};
use crate::{expect::problem, world::World};

#[tokio::test]
async fn products_are_listed_by_name_page_by_page_and_each_page_is_one_request() {
    let world = shop::stocked(World::with_partitions(3).await).await;
    let names = ["B", "Z", "a", "a", "ab", "é", "Ｂ", "🚲"];
    for (n, name) in names.iter().enumerate().rev() {
        let body = json!({"sku": "s", "name": name, "price": n, "tagIds": ["red"]});
        world.put(&path("parts", &format!("p{n}")), body).await.expect(201);
    }
    let list = "/api/categories/parts/products";
    for limit in [1, 3, 100] {
        let items = world.list_by(list, limit).await;
        let ids: Vec<_> = items.iter().map(|item| item["id"].as_str().unwrap()).collect();
        assert_eq!(ids, ["p0", "p1", "p2", "p3", "p4", "p5", "p6", "p7"]);
    }
    let requests_before = world.endpoint.request_count();
    let items = world.list(list).await;
    assert_eq!(world.endpoint.request_count() - requests_before, 1);
    let item = world.get(&path("parts", "p7")).await.expect(200).json();
    assert_eq!(items[7], item);
}

#[tokio::test]
async fn the_list_of_an_unknown_category_is_a_404_and_that_of_an_empty_category_is_empty() {
    let world = shop::shop().await;
    problem(&world.get("/api/categories/none/products").await, 404);
    assert!(world.list("/api/categories/parts/products").await.is_empty());
    product(&world, "parts", "p1", 1, &[]).await.expect(201);
    world.delete(&path("parts", "p1")).await.expect(204);
    shop::moved(&world, "bikes", "b1", "parts").await.expect(200);
    assert!(world.list("/api/categories/bikes/products").await.is_empty());
    let ids: Vec<_> = world.list("/api/categories/parts/products").await;
    assert_eq!((ids.len(), &ids[0]["id"]), (1, &json!("b1")));
}
