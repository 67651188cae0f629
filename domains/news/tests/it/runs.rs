//! The migration and the archive.

use std::{num::NonZeroU32, time::Duration};

use serde_json::{Value, json};
use tributary_functions::projection::BackgroundOptions;
use tributary_local::cosmos::{
    Fault,
    RequestKind::{Create, Query},
};
use tributary_testing::interleavings::held;

use super::given::{HYBRID, Newsroom};

#[tokio::test]
async fn items_older_than_thirty_days_go_to_the_warm_container_and_stay_readable() {
    let room = Newsroom::new().await;
    let old = room.post("reuters", "old", 20.0).await.expect(201).json();
    let new = room.post("reuters", "new", 5.0).await.expect(201).json();
    assert_eq!(room.migrate().await["migrated"], 0);
    room.days_pass(11).await;
    assert_eq!(
        room.migrate().await,
        json!({"migrated": 1, "alreadyThere": 0, "failed": 0, "complete": true})
    );
    assert_eq!(room.migrate().await["migrated"], 0);
    assert_eq!(room.hot_and_warm().await, (1, 1));
    for item in [&old, &new] {
        assert_eq!(&room.read(item).await.expect(200).json(), item);
    }
    assert_eq!(room.urls("days=60").await, ["new", "old"]);
    // The copy in the hot container expires.
    room.days_pass(2).await;
    assert_eq!(room.world.items("feeds_current").await.len(), 1);
    assert_eq!(room.urls("days=60").await, ["new", "old"]);
}

#[tokio::test]
async fn a_just_migrated_item_is_listed_though_a_replica_lacks_it() {
    let room = Newsroom::new().await;
    room.post("reuters", "old", 20.0).await.expect(201);
    room.days_pass(11).await;
    let window = format!("from={}&to={}", room.days_ago(60.0), room.days_ago(30.5));
    let frozen = room.world.stale_reads("feeds_historical");
    room.migrate().await;
    let other = room.with_settings(HYBRID).await;
    assert_eq!(other.urls(&window).await, ["old"]);
    // A day later no replica is behind, and the copy in the hot container is not asked for.
    drop(frozen);
    room.days_pass(2).await;
    let other = room.with_settings(HYBRID).await;
    assert_eq!(other.urls(&window).await, ["old"]);
}

#[tokio::test]
async fn whole_partitions_go_to_the_archive_after_two_years_with_a_record() {
    let room = Newsroom::new().await;
    let items = [("old", 95.0), ("older", 100.0), ("new", 1.0)];
    let mut posted = Vec::new();
    for (url, days) in items {
        posted.push(room.post("gazette", url, days).await.expect(201).json());
    }
    assert_eq!(room.archive().await["archived"], 0);
    room.days_pass(731).await;
    let due = room.world.post("/api/news/archive?dryRun=true", json!({})).await.expect(200).json();
    assert_eq!((&due["wouldArchive"], &due["complete"]), (&json!(2), &json!(true)));
    assert_eq!(room.live_in("feeds_archive").await, 0);
    assert_eq!(room.archive().await, json!({"archived": 2, "failed": 0, "complete": true}));
    assert_eq!(recorded(&room).await, 2);
    room.days_pass(2).await;
    for item in &posted {
        assert_eq!(&room.read(item).await.expect(200).json(), item);
    }
    room.world.post("/api/news/archive?dryRun=perhaps", json!({})).await.expect(400);
}

async fn batch(room: &Newsroom, items: &[Value]) {
    for items in items.chunks(400) {
        assert_eq!(room.batch(items).await["failed"], 0);
    }
}

async fn recorded(room: &Newsroom) -> u64 {
    let records = room.world.items("feeds_locations").await;
    let records = records.iter().filter(|record| record["archivedAt"].is_string());
    records.map(|record| record["items"].as_u64().unwrap()).sum()
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

/// Leaves a move that cannot end: the location of the item cannot be read.
async fn leave_stuck_move(room: &Newsroom, item: &Value) {
    let mut location = room.stored("feeds_locations", &item["id"]).await;
    location["place"] = json!(5);
    room.put("feeds_locations", &location).await;
    room.leave_departure(item).await;
}

#[tokio::test]
async fn a_move_that_cannot_end_stops_neither_the_migration_nor_the_archive() {
    let room = Newsroom::new().await;
    let stuck = room.post("reuters", "stuck", 20.0).await.expect(201).json();
    leave_stuck_move(&room, &stuck).await;
    room.post("reuters", "behind", 20.0).await.expect(201);
    room.post("gazette", "old", 95.0).await.expect(201);
    room.days_pass(11).await;
    let done = room.migrate().await;
    assert_eq!((&done["migrated"], &done["failed"]), (&json!(1), &json!(1)));
    assert_eq!(done["complete"], false);
    room.days_pass(900).await;
    let done = room.archive().await;
    assert_eq!((&done["archived"], &done["failed"]), (&json!(2), &json!(0)));
}

#[tokio::test]
async fn the_progress_does_not_pass_an_item_whose_move_cannot_end() {
    let room = Newsroom::new().await;
    let item = room.post("reuters", "a", 29.9).await.expect(201).json();
    leave_stuck_move(&room, &item).await;
    room.hours_pass(6).await;
    assert_eq!(room.migrate().await["failed"], 1);
    let progress = room.stored("feeds_locations", &json!("migration")).await;
    let before = progress["migratedBefore"].as_str().unwrap_or_default();
    assert!(before <= item["publishedDate"].as_str().unwrap(), "{before}");
}

#[tokio::test]
async fn moves_that_begin_without_an_end_do_not_keep_the_progress_back() {
    let room = Newsroom::new().await;
    let item = room.post("reuters", "a", 1.0).await.expect(201).json();
    room.leave_departure(&item).await;
    let departing = room.stored("feeds_current", &item["id"]).await;
    // One begins whenever the run asks for those that are not over.
    let moves = async {
        for n in 0_u64.. {
            let mut query = room.world.endpoint.hold(Query, "feeds_current");
            query.arrived().await;
            let mut departing = departing.clone();
            departing["id"] = format!("{n}").into();
            departing["departure"]["item"]["id"] = departing["id"].clone();
            room.put("feeds_current", &departing).await;
            query.release();
        }
    };
    tokio::select! {
        () = moves => {}
        done = tokio::time::timeout(Duration::from_secs(10), room.migrate()) => {
            assert_eq!(done.expect("the run ends while moves begin")["failed"], 0);
        }
    }
    let progress = room.stored("feeds_locations", &json!("migration")).await;
    assert!(progress["migratedBefore"].as_str() > Some("2000"), "{progress}");
}

#[tokio::test]
async fn an_old_item_that_cannot_be_read_stops_no_migration() {
    let room = Newsroom::new().await;
    for n in 0..3 {
        let item = room.post("reuters", &n.to_string(), 20.0 - f64::from(n)).await.expect(201);
        if n == 1 {
            let item = room.stored("feeds_current", &item.json()["id"]).await;
            let keyless = json!({"partitionKey": "nowhere", "version": "x"});
            let mut unreadable = item.clone();
            unreadable.as_object_mut().unwrap().extend(keyless.as_object().unwrap().clone());
            room.put("feeds_current", &unreadable).await;
        }
    }
    room.days_pass(20).await;
    let done = room.migrate().await;
    assert_eq!((&done["migrated"], &done["failed"]), (&json!(3), &json!(1)));
    room.world.tick("NewsMigration").await.unwrap();
    room.days_pass(900).await;
    let done = room.archive().await;
    assert_eq!((&done["archived"], &done["failed"]), (&json!(3), &json!(0)));
}

/// An unreadable document is in the place to which an item is to be copied.
#[tokio::test]
async fn a_copy_that_cannot_be_read_keeps_one_item_where_it_is_and_it_stays_listed() {
    let room = Newsroom::new().await;
    let mut items = Vec::new();
    for n in 0..3 {
        let answer = room.post("reuters", &n.to_string(), 20.0 - f64::from(n)).await;
        items.push(answer.expect(201).json());
    }
    let key = &items[1]["partitionKey"];
    let id = &items[1]["id"];
    room.put("feeds_historical", &json!({"id": id, "partitionKey": key, "type": 5})).await;
    room.days_pass(20).await;
    let done = room.migrate().await;
    assert_eq!((&done["migrated"], &done["failed"]), (&json!(2), &json!(1)));
    // Readers believe the progress after two hours.
    room.days_pass(2).await;
    let progress = room.stored("feeds_locations", &json!("migration")).await;
    assert_eq!(progress["migratedBefore"], items[1]["publishedDate"]);
    let other = room.with_settings(HYBRID).await;
    let page = other.world.get("/api/news/items?days=60").await;
    if page.status == 200 {
        assert_eq!(page.json()["items"].as_array().unwrap().len(), 3);
    }
}

#[tokio::test]
async fn a_provider_that_changes_class_keeps_all_its_items_findable() {
    let room = Newsroom::new().await;
    let old = room.post("gazette", "old", 3.0).await.expect(201).json();
    let busy = room.with_settings(&[("News__HighVolumeProviders", "reuters, gazette")]).await;
    busy.post("gazette", "new", 1.0).await.expect(201);
    assert_eq!(busy.urls("provider=gazette").await, ["new", "old"]);
    assert_eq!(busy.urls("days=7").await, ["new", "old"]);
    // An item keeps its key as long as it keeps its date.
    let mut body = busy.item("gazette", "old", 3.0);
    body["publishedDate"] = old["publishedDate"].clone();
    let again = busy.world.post("/api/news/items", body).await.expect(200).json();
    assert_eq!(again["partitionKey"], old["partitionKey"]);
    let quiet = room.with_settings(HYBRID).await;
    assert_eq!(quiet.urls("provider=gazette").await, ["new", "old"]);
}
