//! The costs of the requests and timers of the news, held against the tables of `docs/costs.md`.

use std::fmt::Write;

use serde_json::{Value, json};
use tributary_testing::budget::{hold_table, request_units};

use super::given::{HYBRID, MONTHLY, Newsroom};
use crate::{
    budgets::{budget_table, path},
    world::World,
};

/// An item of the usual size.
fn item(room: &Newsroom, provider: &str, n: u32, days_ago: f64) -> Value {
    let mut item = room.item(provider, &format!("{n:036}"), days_ago);
    item["title"] = json!("t".repeat(60));
    item["content"] = json!("c".repeat(1_500));
    item
}

/// Three providers with 40 items each: 30 of the last 8 days, and 10 that are 60 days old.
async fn filled(settings: &[(&str, &str)]) -> Newsroom {
    let room = Newsroom::with(World::with_partitions(4).await, settings).await;
    room.at_one_time();
    let mut items = Vec::new();
    for (of, provider) in [(0.0, "reuters"), (0.001, "gazette"), (0.002, "herald")] {
        let new = |n| item(&room, provider, n, 0.5 + of + f64::from(n) / 4.0);
        let old = |n| item(&room, provider, n, 60.0 + of + f64::from(n) / 100.0);
        items.extend((0..30).map(new).chain((30..40).map(old)));
    }
    room.batch(&items).await;
    // What the process remembers of the migration.
    room.world.get("/api/news/items?days=92").await.expect(200);
    room
}

/// The moments around the 60th day, so that a window is in the warm container.
fn around(room: &Newsroom) -> String {
    format!("from={}&to={}", room.days_ago(61.0), room.days_ago(59.0))
}

#[tokio::test]
async fn every_request_of_the_news_costs_what_the_documents_say() {
    let room = filled(HYBRID).await;
    let known = room.world.get("/api/news/items?provider=reuters&limit=1").await.expect(200).json();
    let old = room.world.get(&format!("/api/news/items?{}&limit=1", around(&room))).await;
    let known = known["items"][0].clone();
    let old = old.expect(200).json()["items"][0].clone();
    let edited = |item: &Value| {
        let mut item = item.clone();
        item["title"] = json!("u".repeat(60));
        Some(item)
    };
    // Another item than the one that is edited: an item remembers its last commands for some seconds.
    let other = room.world.get("/api/news/items?provider=reuters&limit=2").await.expect(200).json();
    let mut moved = edited(&other["items"][1]).unwrap();
    moved["publishedDate"] = json!(room.days_ago(200.0));
    let path = super::given::path;
    // The date is the same each time: another one costs more.
    let date = room.days_ago(0.5);
    let batch = |n: u32| {
        let dated = |n| {
            let mut item = item(&room, "reuters", n, 0.5);
            item["publishedDate"] = json!(date);
            item
        };
        let items: Vec<Value> = (1_000..1_000 + n).map(dated).collect();
        Some(json!({"items": items}))
    };
    let get = |what, path: String| ("GET", what, path, None);
    let post = |what, body| ("POST", what, "/api/news/items".to_owned(), body);
    let posts = |what, body| ("POST", what, "/api/news/items/batch".to_owned(), body);
    let list = |query: &str| format!("/api/news/{query}");
    let warm = around(&room);
    let requests = [
        // The reads first: what the process remembers of the migration holds for a minute.
        get("`/news/items/{partitionKey}/{id}`, hot", path(&known)),
        get("`/news/items/{partitionKey}/{id}`, warm", path(&old)),
        get("`/news/items`, 20 of 7 days", list("items")),
        get("`/news/items`, 20 of 92 days", list("items?days=92")),
        get("`/news/items`, warm", list(&format!("items?{warm}"))),
        get("`/news/items`, a provider, 20 of 7 days", list("items?provider=gazette")),
        get("`/news/items`, a provider, warm", list(&format!("items?provider=gazette&{warm}"))),
        get("`/news/search`, 20 of 30 days", list("search?q=ccc")),
        get("`/news/search`, a provider, none of 30 days", list("search?q=zzz&provider=gazette")),
        post("`/news/items`, new", Some(item(&room, "reuters", 500, 0.5))),
        post("`/news/items`, new, the first of a provider", Some(item(&room, "new", 0, 0.5))),
        post("`/news/items`, edited", edited(&known)),
        post("`/news/items`, edited, warm", edited(&old)),
        posts("`/news/items/batch`, 100 new of a partition", batch(100)),
        posts("`/news/items/batch`, 1 edited", batch(1)),
        post("`/news/items`, moved to another partition", Some(moved)),
    ];
    budget_table(&room.world, "news", requests, "docs/costs.md").await;
}

/// Runs a timer, and gives a row of the table.
async fn run(room: &Newsroom, what: &str, function: &str) -> String {
    let ((), requests) =
        room.world.requests_of(async { room.world.tick(function).await.unwrap() }).await;
    format!("| `{function}` | {what} | {} | {:.2} |\n", requests.len(), request_units(&requests))
}

#[tokio::test]
async fn a_run_of_a_timer_costs_what_the_documents_say() {
    let mut table = String::from(
        "| timer | what | store requests | request units |\n| --- | --- | ---: | ---: |\n",
    );
    let room = Newsroom::with(World::with_partitions(1).await, HYBRID).await;
    room.at_one_time();
    let items: Vec<Value> = (0..100).map(|n| item(&room, "reuters", n, 0.5)).collect();
    room.batch(&items).await;
    for function in ["NewsMigration", "NewsArchive"] {
        room.world.tick(function).await.unwrap();
        write!(table, "{}", run(&room, "nothing is due", function).await).unwrap();
    }
    room.days_pass_without_expiry(40);
    write!(table, "{}", run(&room, "100 items of a partition", "NewsMigration").await).unwrap();
    room.days_pass_without_expiry(3 * 365);
    write!(table, "{}", run(&room, "100 items of a partition", "NewsArchive").await).unwrap();
    hold_table(path("docs/costs.md"), &table);
}

/// The other strategy: partitions that all providers share.
#[tokio::test]
async fn a_list_of_all_providers_is_one_partition_a_month_with_plain_months() {
    let room = filled(MONTHLY).await;
    let path = format!("/api/news/items?{}", around(&room));
    for path in [path.clone(), format!("{path}&provider=gazette")] {
        let (_, requests) =
            room.world.requests_of(async { room.world.get(&path).await.expect(200) }).await;
        let queries: Vec<_> = requests.iter().filter(|request| request.query.is_some()).collect();
        assert!(queries.iter().all(|query| query.names_partition_key), "{path} fans out");
        assert!((1..=3).contains(&queries.len()), "{path}: {}", queries.len());
    }
}
