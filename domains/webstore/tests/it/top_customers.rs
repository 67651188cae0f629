use tributary_local::cosmos::RequestKind::Query;

use super::{given, leaderboard::ranking};
use crate::{expect::bad_fields, world::World};

#[tokio::test]
async fn the_customers_with_the_most_orders_come_first_and_equal_ones_by_id() {
    // The customers of all partitions are in one order.
    let world = given::shop_in(World::with_partitions(4).await).await;
    for n in 0..12 {
        let id = format!("c{:02}", (n * 5) % 12);
        given::customer(&world, &id).await.expect(201);
        for _ in 0..n % 3 {
            given::order(&world, &id).await.expect(201);
        }
    }
    world.settle().await;
    let ranked = ranking(&world, "query").await;
    let mut sorted = ranked.clone();
    sorted.sort_by(|(id, count), (other, more)| more.cmp(count).then_with(|| id.cmp(other)));
    assert_eq!((ranked.len(), &ranked), (10, &sorted));
    assert_eq!(ranking(&world, "leaderboard").await, ranked);

    let all = world.get("/api/reports/top-customers?limit=100").await.expect(200).json();
    let ids: Vec<_> = all["items"].as_array().unwrap().iter().map(|item| &item["id"]).collect();
    assert_eq!(ids.len(), 14);
    let one = world.get("/api/reports/top-customers?limit=1").await.expect(200).json();
    assert_eq!(one["items"].as_array().unwrap().len(), 1);
    assert_eq!(one["items"][0]["id"], ranked[0].0);
}

#[tokio::test]
async fn a_report_has_customers_and_counts_and_nothing_private() {
    let world = given::shop().await;
    given::order(&world, "ann").await.expect(201);
    world.settle().await;
    let mut shown = world.get("/api/customers/ann").await.expect(200).json();
    let shown = shown.as_object_mut().unwrap();
    for private in ["emailAddress", "phoneNumber", "addresses"] {
        assert!(shown.remove(private).is_some());
    }
    for source in ["query", "leaderboard"] {
        let path = format!("/api/reports/top-customers?source={source}&limit=1");
        let report = world.get(&path).await.expect(200).json();
        assert_eq!(report["items"][0].as_object(), Some(&*shown), "{source}");
    }
    let copies = world.items("leaderboard").await;
    let copy = copies.iter().find(|copy| copy["id"] == "ann").unwrap().to_string();
    for private in ["ann@example.com", "emailAddress", "phoneNumber", "addresses"] {
        assert!(!copy.contains(private), "{copy}");
    }
}

#[tokio::test]
async fn the_leaderboard_is_one_request_in_one_partition() {
    let world = given::shop_in(World::with_partitions(4).await).await;
    world.settle().await;
    ranking(&world, "leaderboard").await;
    let requests_before = world.endpoint.request_count();
    ranking(&world, "leaderboard").await;
    let requests = world.endpoint.requests_since(requests_before);
    assert!(requests.len() == 1 && requests[0].kind == Query && requests[0].names_partition_key);
    let requests_before = world.endpoint.request_count();
    ranking(&world, "query").await;
    let requests = world.endpoint.requests_since(requests_before);
    assert!(requests.len() >= 4 && requests.iter().all(|request| request.container == "customer"));
}

#[tokio::test]
async fn a_bad_parameter_is_named() {
    let world = World::new().await;
    for (query, field) in [
        ("limit=0", "limit"),
        ("limit=101", "limit"),
        ("limit=x", "limit"),
        ("source=", "source"),
        ("source=Query", "source"),
    ] {
        let answer = world.get(&format!("/api/reports/top-customers?{query}")).await;
        assert_eq!(bad_fields(&answer), [field]);
    }
    assert_eq!(ranking(&world, "query").await, []);
}
