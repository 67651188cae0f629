//! Runs of the news end inside their slices, and record their progress.

use std::{
    num::NonZeroU32,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use tributary_functions::projection::BackgroundOptions;
use tributary_local::cosmos::{
    Fault,
    RequestKind::{Create, Query},
};

use super::given::Newsroom;
use tributary_testing::interleavings::held;

async fn batch(room: &Newsroom, items: &[Value]) {
    for items in items.chunks(400) {
        let answer = room.world.post("/api/news/items/batch", json!({"items": items})).await;
        assert_eq!(answer.expect(200).json()["failed"], 0);
    }
}

/// The number of items that the archive's records name.
async fn recorded(room: &Newsroom) -> u64 {
    let records = room.world.items("feeds_locations").await;
    let records = records.iter().filter(|record| record["archivedAt"].is_string());
    records.map(|record| record["items"].as_u64().unwrap()).sum()
}

#[tokio::test]
async fn a_run_of_the_archive_does_not_read_items_that_are_not_due() {
    let room = Newsroom::new().await;
    room.at_one_time();
    // The date is two years ago, in the quarter that has not ended by then.
    let items: Vec<Value> = (0..350)
        .map(|n| room.item("gazette", &n.to_string(), 760.0 + f64::from(n) / 1e3))
        .collect();
    batch(&room, &items).await;
    for path in ["/api/news/archive", "/api/news/archive?dryRun=true"] {
        room.world.post(path, json!({})).await.expect(200);
        let requests_before = room.world.endpoint.request_count();
        room.world.post(path, json!({})).await.expect(200);
        let requests = room.world.endpoint.requests_since(requests_before);
        let queries = requests.iter().filter(|one| one.kind == Query);
        let of_dues =
            queries.filter(|one| one.query.as_deref().unwrap().contains("publishedDate <"));
        assert_eq!(of_dues.count(), 1, "{path}");
    }
}

#[tokio::test]
async fn a_failed_run_of_the_archive_has_recorded_its_archived_items() {
    let room = Newsroom::new().await;
    let items: Vec<Value> = (0..150)
        .map(|n| room.item("gazette", &n.to_string(), 100.0 + f64::from(n) / 1e3))
        .collect();
    batch(&room, &items).await;
    room.days_pass(800).await;
    let run = room.world.post("/api/news/archive", json!({}));
    let (hold, run) = held((&room.world, Create, "feeds_archive"), run).await;
    room.world.endpoint.inject(Fault::Refused(400), Query, "feeds_historical", 50);
    hold.release();
    assert!(!run.await.status.is_success());
    let archived = room.live_in("feeds_archive").await as u64;
    assert!(archived >= 100, "{archived}");
    assert_eq!(recorded(&room).await, archived);
}

#[tokio::test]
async fn a_dry_run_reports_its_progress() {
    let room = Newsroom::new().await;
    room.post("gazette", "a", 100.0).await.expect(201);
    room.days_pass(800).await;
    let due = room.world.post("/api/news/archive?dryRun=true", json!({})).await.expect(200).json();
    assert_eq!((&due["wouldArchive"], &due["complete"]), (&json!(1), &json!(true)));
}

#[tokio::test]
async fn runs_end_with_their_slices_with_any_number_of_due_items() {
    let room = Newsroom::new().await;
    let items: Vec<Value> =
        (0..300).map(|n| room.item("gazette", &n.to_string(), 20.0 + f64::from(n) / 1e3)).collect();
    batch(&room, &items).await;
    // An item takes some 28 request units, so each run ends at the budget or at the end of its time.
    let background = BackgroundOptions {
        request_units_per_second: NonZeroU32::new(300),
        slice: Duration::from_millis(250),
    };
    let slow = room.with_background(background).await;
    room.days_pass(20).await;
    let started = Instant::now();
    let done = slow.migrate().await;
    assert_eq!(done["complete"], false);
    assert!((1..200).contains(&done["migrated"].as_u64().unwrap()), "{done}");
    let due = room.live_in("feeds_current").await;
    slow.world.post("/api/news/archive", json!({})).await.expect(200);
    room.days_pass(900).await;
    room.migrate().await;
    let done = slow.archive().await;
    assert_eq!(done["complete"], false);
    assert!(started.elapsed() < Duration::from_secs(20), "{:?}", started.elapsed());
    assert!(due > 0);
}

#[tokio::test]
async fn a_run_without_time_for_all_items_records_its_progress() {
    let room = Newsroom::new().await;
    let items: Vec<Value> =
        (0..250).map(|n| room.item("gazette", &n.to_string(), 25.0 - f64::from(n) / 1e2)).collect();
    batch(&room, &items).await;
    let background = BackgroundOptions {
        request_units_per_second: NonZeroU32::new(1_000),
        slice: Duration::from_millis(500),
    };
    let slow = room.with_background(background).await;
    room.days_pass(20).await;
    assert_eq!(slow.migrate().await["complete"], false);
    let left = room.world.items("feeds_current").await;
    let left = left.iter().filter(|item| item["state"] == "live");
    let oldest = left.map(|item| item["publishedDate"].as_str().unwrap()).min().unwrap();
    let progress = room.stored("feeds_locations", &json!("migration")).await;
    let before = progress["migratedBefore"].as_str().unwrap_or_default();
    assert!(!before.is_empty() && before <= oldest, "{before} {oldest}");
}
