//! Orders.

use serde_json::{Value, json};

use super::given::{self, counts, line, order_of, order_once};
use crate::expect::{charged, created, is_timestamp, is_uuid_v7, problem};

#[tokio::test]
async fn an_order_has_the_names_and_prices_of_its_products_and_their_sum() {
    let world = given::shop().await;
    let lines =
        [line("c1", "p1", 3), line("c1", "p2", 1_000), line("c2", "p1", 1), line("c1", "p1", 1)];
    let mut body = json!({"items": lines, "total": 0, "id": "mine"});
    body["items"][0]["price"] = 0.into();
    body["items"][0]["quantity"] = 3.0.into();
    let answer = world.post("/api/customers/ann/orders", body).await;
    let id = answer.json()["id"].as_str().unwrap().to_owned();
    let order = created(&world, &answer, &format!("/api/customers/ann/orders/{id}")).await;
    // The total is 3 × 19.99 + 1,000 × 0.1 + 5 + 19.99, without a binary digit too many.
    is_uuid_v7(&order["id"]);
    is_timestamp(&order["orderDate"]);
    let item = |id: &str, price: Value, quantity: u32| {
        json!({"productId": id, "sku": format!("SKU-{id}"), "name": format!("Product {id}"),
            "price": price, "quantity": quantity})
    };
    let items = [
        item("p1", json!(19.99), 3),
        item("p2", json!(0.1), 1_000),
        item("p1", json!(5), 1),
        item("p1", json!(19.99), 1),
    ];
    let expected = json!({"id": id, "customerId": "ann", "orderDate": order["orderDate"],
        "items": items, "total": 184.96});
    assert_eq!(order, expected);
    assert!(answer.text.contains(r#""total":184.96"#), "{}", answer.text);
    assert_eq!([counts(&world, "ann").await, counts(&world, "bob").await], [(1, 1), (0, 0)]);
}

#[tokio::test]
async fn an_order_of_a_customer_whose_count_is_at_its_top_is_refused() {
    let world = given::shop().await;
    world.change_item("customer", "ann", &json!({"salesOrderCount": u64::MAX})).await;
    problem(&given::order(&world, "ann").await, 500);
    given::order(&world, "bob").await.expect(201);
    world.settle().await;
    assert_eq!(super::reports::ranking(&world, "leaderboard").await, [("bob".to_owned(), 1)]);
    let letters = world.items("dead-letters").await;
    let reason = "not an item of `customer`: it has a wrong value in `salesOrderCount`";
    assert!(!letters.is_empty() && letters.iter().all(|it| it["reason"] == reason), "{letters:?}");
}

#[tokio::test]
async fn an_unknown_product_or_customer_is_a_404_and_nothing_is_counted() {
    let world = given::shop().await;
    world.delete(&given::path("c1", "p2")).await.expect(204);
    for lines in [
        vec![line("c1", "p3", 1)],
        vec![line("c2", "p2", 1)],
        vec![line("c3", "p1", 1)],
        vec![line("c1", "p2", 1)],
        vec![line("c1", "p1", 1), line("c1", "p2", 1)],
    ] {
        let problem = problem(&order_of(&world, "ann", &lines).await, 404);
        assert_eq!(problem["detail"], "This product does not exist.");
    }
    let problem = problem(&given::order(&world, "eve").await, 404);
    assert_eq!(problem["detail"], "This customer does not exist.");
    assert_eq!(counts(&world, "ann").await, (0, 0));
}

#[tokio::test]
async fn the_same_key_and_body_is_the_same_order() {
    let world = given::shop().await;
    let lines = [line("c1", "p1", 2), line("c1", "p2", 1)];
    let first = order_once(&world, "k", "ann", &lines).await.expect(201);
    // By now a price has changed, and a product is gone.
    given::product(&world, "c1", "p1", 25, &[]).await.expect(200);
    let again = order_once(&world, "k", "ann", &lines).await.expect(201);
    world.delete(&given::path("c1", "p2")).await.expect(204);
    let without = order_once(&world, "k", "ann", &lines).await.expect(201);
    for again in [again, without] {
        assert_eq!((again.json(), again.header("etag")), (first.json(), first.header("etag")));
    }
    let [one, two] = lines.clone();
    for other in [
        vec![one.clone()],
        vec![two.clone(), one.clone()],
        vec![one, line("c1", "p2", 2)],
        vec![line("c2", "p1", 2), two],
    ] {
        problem(&order_once(&world, "k", "ann", &other).await, 409);
    }
    assert_eq!(counts(&world, "ann").await, (1, 1));

    // A key belongs to its customer.
    order_once(&world, "k", "bob", &[line("c1", "p1", 1)]).await.expect(201);
}

#[tokio::test]
async fn a_post_that_is_repeated_after_a_delete_brings_no_order_back() {
    let world = given::shop().await;
    let lines = [line("c1", "p1", 2)];
    let first = order_once(&world, "k", "ann", &lines).await.expect(201);
    world.delete(first.header("location")).await.expect(204);
    // The answer to the first was lost, and the order was deleted meanwhile.
    for lines in [&lines, &[line("c1", "p1", 9)]] {
        let again = order_once(&world.second_instance().await, "k", "ann", lines).await;
        assert!(problem(&again, 409)["detail"].as_str().unwrap().contains("deleted"));
    }
    assert_eq!(counts(&world, "ann").await, (0, 0));
    order_once(&world, "another", "ann", &lines).await.expect(201);
}

#[tokio::test]
async fn an_item_that_is_no_order_is_not_deleted() {
    let world = given::shop().await;
    for path in ["ann/orders/none", "eve/orders/none", "ann/orders/ann"] {
        let refused = world.delete(&format!("/api/customers/{path}")).await;
        problem(&refused, 404);
        charged(&refused);
        problem(&world.get(&format!("/api/customers/{path}")).await, 404);
    }
    let bobs = given::order(&world, "bob").await.expect(201);
    let path = bobs.header("location").replace("bob", "ann");
    problem(&world.delete(&path).await, 404);
    assert_eq!(counts(&world, "bob").await, (1, 1));
}
