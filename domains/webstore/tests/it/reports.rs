//! The leaderboard and the report of top customers.

use serde_json::json;

use super::given;
use crate::{expect::problem, world::World};

/// The ids and counts of a ranking.
pub(super) async fn ranking(world: &World, source: &str) -> Vec<(String, u64)> {
    let path = format!("/api/reports/top-customers?source={source}");
    let items = world.get(&path).await.expect(200).json()["items"].clone();
    let item = |item: &serde_json::Value| {
        (item["id"].as_str().unwrap().to_owned(), item["salesOrderCount"].as_u64().unwrap())
    };
    items.as_array().unwrap().iter().map(item).collect()
}

#[tokio::test]
async fn a_text_that_looks_like_a_date_is_copied_as_it_is() {
    let world = World::new().await.with_host_that_parses_dates();
    let mut details = given::details("ann");
    details["lastName"] = json!("2026-11-21T09:25:54.120Z");
    world.put("/api/customers/ann", details).await.expect(201);
    world.settle().await;
    let answer = world.get("/api/reports/top-customers?source=leaderboard").await.expect(200);
    assert_eq!(answer.json()["items"][0]["lastName"], "2026-11-21T09:25:54.120Z");
}

#[tokio::test]
async fn a_customer_that_cannot_be_copied_is_a_dead_letter_without_its_password() {
    let world = given::shop().await;
    given::set_password(&world, "ann", "correct horse battery").await.expect(204);
    let good = world.items("customer").await.into_iter().find(|it| it["id"] == "ann").unwrap();
    let mut bad = good.clone();
    bad["version"] = json!("not a number");
    world.deliver("Leaderboard", &[bad]).await.unwrap();
    let letters = world.list("/api/dead-letters").await;
    let path = format!("/api/dead-letters/{}", letters[0]["id"].as_str().unwrap());
    let letter = world.get(&path).await.expect(200).json();
    let raw = letter["raw"].as_str().unwrap();
    assert!(raw.contains("not a number") && raw.contains("ann@example.com"), "{raw}");
    let hash = good["password"]["hash"].as_str().unwrap();
    assert!(!raw.contains("password") && !raw.contains(hash), "{raw}");

    let replayed = world.call("POST", &format!("{path}/replay"), &[], None).await.expect(200);
    assert_eq!(replayed.json()["outcome"], "applied");
    problem(&world.get(&path).await, 404);
    assert_eq!(ranking(&world, "leaderboard").await, [("ann".to_owned(), 0)]);
}

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
