use serde_json::json;
use tributary_local::cosmos::RequestKind;

use super::given;

#[tokio::test]
async fn a_customer_is_read_without_its_orders_or_with_them() {
    let world = given::shop().await;
    let path = "/api/customers/ann";
    let none = world.get(&format!("{path}?include=orders")).await.expect(200).json();
    let customer = world.get(path).await.expect(200).json();
    assert_eq!(none, json!({"customer": customer, "orders": []}));

    let mut orders = Vec::new();
    for _ in 0..3 {
        orders.insert(0, given::order(&world, "ann").await.expect(201).json());
    }
    given::order(&world, "bob").await.expect(201);
    let requests_before = world.endpoint.request_count();
    let with_orders = world.get(&format!("{path}?include=orders")).await.expect(200).json();
    let requests = world.endpoint.requests_since(requests_before);
    assert_eq!(requests.len(), 1, "{requests:?}");
    assert!(requests[0].kind == RequestKind::Query && requests[0].names_partition_key);
    let customer = world.get(path).await.expect(200).json();
    assert_eq!(customer["salesOrderCount"], 3);
    assert_eq!(with_orders, json!({"customer": customer, "orders": orders}));
}

#[tokio::test]
async fn at_most_the_100_newest_orders_are_included() {
    let world = given::shop().await;
    let mut ids = Vec::new();
    for _ in 0..102 {
        let order = given::order(&world, "ann").await.expect(201).json();
        ids.push(order["id"].clone());
    }
    let answer = world.get("/api/customers/ann?include=orders").await.expect(200).json();
    let orders = answer["orders"].as_array().unwrap();
    assert_eq!((orders.len(), &orders[0]["id"]), (100, ids.last().unwrap()));
    assert_eq!(answer["customer"]["salesOrderCount"], 102);
}
