//! `GET /news/items`.

use super::given::{HYBRID, MONTHLY, Newsroom};
use crate::world::World;

#[tokio::test]
async fn a_window_has_its_items_newest_first_in_full_pages() {
    for settings in [HYBRID, MONTHLY] {
        let room = Newsroom::with(World::new().await, settings).await;
        for (n, provider) in (0..12_u32).zip(["reuters", "gazette", "herald"].iter().cycle()) {
            room.post(provider, &format!("{n}"), f64::from(n) * 6.0).await.expect(201);
        }
        let all: Vec<String> = (0..12).map(|n| n.to_string()).collect();
        assert_eq!(room.urls("days=92").await, all);
        assert_eq!(room.urls("days=7").await, all[..2]);
        assert_eq!(room.urls("days=92&provider=gazette").await, ["1", "4", "7", "10"]);
        let window = format!("from={}&to={}", room.days_ago(42.5), room.days_ago(17.5));
        assert_eq!(room.urls(&window).await, all[3..8]);
        assert_eq!(room.urls("days=92&provider=nobody").await, [""; 0]);
    }
}

#[tokio::test]
async fn a_window_includes_its_beginning_and_not_its_end() {
    let room = Newsroom::new().await;
    let item = room.post("reuters", "a", 3.0).await.expect(201).json();
    let date = item["publishedDate"].as_str().unwrap();
    assert_eq!(room.urls(&format!("from={date}")).await, ["a"]);
    assert_eq!(room.urls(&format!("to={date}")).await, [""; 0]);
    let day = &date[..10];
    assert_eq!(room.urls(&format!("from={day}")).await, ["a"]);
}

/// The SDK refuses a query of more than 100 by itself.
#[tokio::test]
async fn a_list_asks_more_than_a_hundred_physical_partitions() {
    let room = Newsroom::with(World::with_partitions(101).await, HYBRID).await;
    for provider in ["reuters", "gazette", "herald"] {
        room.post(provider, provider, 1.0).await.expect(201);
    }
    assert_eq!(room.urls("days=7").await.len(), 3);
}

#[tokio::test]
async fn an_answer_names_the_containers_and_partitions_read() {
    let room = Newsroom::new().await;
    for days in [1.0, 40.0] {
        room.post("reuters", &format!("{days}"), days).await.expect(201);
    }
    let asked = async |query: &str| {
        let answer = room.world.get(&format!("/api/news/items?{query}")).await.expect(200);
        let header = |name| answer.header(name).to_owned();
        (header("x-containers-queried"), header("x-partitions-queried").parse::<u32>().unwrap())
    };
    assert_eq!(asked("").await, ("hot".into(), 1));
    let (containers, partitions) = asked("provider=reuters&days=30").await;
    assert_eq!(containers, "hot");
    assert!((1..=3).contains(&partitions), "{partitions}");
    assert_eq!(asked("days=60").await, ("hot, warm".into(), 2));
    room.migrate().await;
    // A day later, and another instance: this one remembers for a minute that nothing was migrated.
    room.days_pass_without_expiry(1);
    let room = room.with_settings(HYBRID).await;
    let window = format!("/api/news/items?from={}&to={}", room.days_ago(60.0), room.days_ago(35.0));
    let answer = room.world.get(&window).await.expect(200);
    assert_eq!(answer.header("x-containers-queried"), "warm");
    let answer = room.world.get("/api/news/items?provider=nobody").await.expect(200);
    assert_eq!(answer.header("x-containers-queried"), "none");
}

#[tokio::test]
async fn a_bad_window_is_refused() {
    let room = Newsroom::new().await;
    for bad in [
        "days=0",
        "days=36501",
        "days=99999999999",
        "days=x",
        "from=yesterday",
        "from=2026-11-02&to=2026-11-01",
        "from=2026-11-01&to=2026-11-01",
        "from=-1",
        "to=10000-01-01",
        "days=3&to=2026-11-01",
        "provider=a%20b",
        "limit=0",
        "cursor=x",
    ] {
        room.world.get(&format!("/api/news/items?{bad}")).await.expect(400);
    }
    room.world.get("/api/news/items?from=2026-11-01&to=2027-02-01").await.expect(200);
    room.world
        .get("/api/news/items?from=2026-11-01T00:00:00%2B01:00&to=2027-01-01")
        .await
        .expect(200);
}

#[tokio::test]
async fn a_cursor_belongs_to_its_filter() {
    let room = Newsroom::new().await;
    for n in 0..3 {
        room.post("reuters", &format!("{n}"), f64::from(n)).await.expect(201);
    }
    let page = room.world.get("/api/news/items?days=7&limit=1").await.expect(200).json();
    let cursor = page["nextCursor"].as_str().unwrap();
    room.world.get(&format!("/api/news/items?days=8&limit=1&cursor={cursor}")).await.expect(400);
    room.world.get(&format!("/api/news/items?days=7&limit=2&cursor={cursor}")).await.expect(200);
}
