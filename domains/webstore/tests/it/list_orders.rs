use tributary_local::cosmos::RequestKind::Query;

use super::given;

#[tokio::test]
async fn orders_are_listed_newest_first_page_by_page() {
    let world = given::shop().await;
    let path = "/api/customers/ann/orders";
    assert!(world.list_by(path, 5).await.is_empty());
    let mut orders = Vec::new();
    for _ in 0..7 {
        orders.insert(0, given::order(&world, "ann").await.expect(201).json());
    }
    given::order(&world, "bob").await.expect(201);
    for limit in [1, 3, 7, 100] {
        assert_eq!(world.list_by(path, limit).await, orders, "{limit}");
    }
    let requests_before = world.endpoint.request_count();
    world.get(path).await.expect(200);
    let requests = world.endpoint.requests_since(requests_before);
    assert!(requests.len() == 1 && requests[0].kind == Query && requests[0].names_partition_key);
}
