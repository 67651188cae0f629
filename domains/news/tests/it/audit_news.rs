//! `AuditNews`: its findings of items and their places, and its repairs.

use std::{cell::Cell, time::Duration};

use serde_json::{Value, json};
use tributary_functions::audit::{AuditOptions, Finding};

use super::given::{HYBRID, Newsroom};

async fn findings(room: &Newsroom, settle: Duration, repair: bool) -> Vec<Finding> {
    let app = room.app(HYBRID).await;
    let mut found = Vec::new();
    let (_, audit) = app.audits().find(|(domain, _)| *domain == "news").unwrap();
    audit.run(AuditOptions { settle, repair }, &mut found).await.unwrap();
    found.sort_by_key(|finding| finding.kind.name);
    found
}

/// Returns the kinds of the findings, sorted.
async fn found(room: &Newsroom) -> Vec<&'static str> {
    let found = findings(room, Duration::ZERO, false).await;
    found.iter().map(|finding| finding.kind.name).collect()
}

async fn is_repaired(room: &Newsroom, kinds: &[&str]) {
    assert_eq!(found(room).await, kinds);
    let repaired = findings(room, Duration::ZERO, true).await;
    assert!(repaired.iter().all(Finding::is_repaired), "{repaired:?}");
    assert_eq!(repaired.iter().map(|finding| finding.kind.name).collect::<Vec<_>>(), kinds);
    assert_eq!(found(room).await, [""; 0]);
}

/// Deletes an item past the app.
async fn remove(room: &Newsroom, container: &str, item: &Value) {
    let [key, id] = ["partitionKey", "id"].map(|name| item[name].as_str().unwrap());
    room.world.delete_item(container, key, id).await;
}

async fn one(days: f64) -> (Newsroom, Value) {
    let room = Newsroom::new().await;
    let item = room.post("reuters", "one", days).await.expect(201).json();
    (room, item)
}

#[tokio::test]
async fn an_item_with_a_missing_or_wrong_location_is_found_by_a_post_after_its_repair() {
    let (room, item) = one(3.0).await;
    let location = room.stored("feeds_locations", &item["id"]).await;
    remove(&room, "feeds_locations", &location).await;
    is_repaired(&room, &["location-missing"]).await;
    for (field, value) in
        [("partitionKey", "reuters_2001-01"), ("store", "warm"), ("partitionKey", "nowhere")]
    {
        let mut wrong = location.clone();
        wrong["place"][field] = json!(value);
        room.put("feeds_locations", &wrong).await;
        let unreadable = (value == "nowhere").then_some("location-unreadable");
        let kinds: Vec<_> = ["location-differs"].into_iter().chain(unreadable).collect();
        is_repaired(&room, &kinds).await;
    }
    room.post("reuters", "one", 3.0).await.expect(200);
    assert_eq!(room.urls("days=7").await, ["one"]);
}

#[tokio::test]
async fn a_location_without_an_item_is_no_divergence() {
    let (room, item) = one(3.0).await;
    remove(&room, "feeds_current", &item).await;
    assert_eq!(found(&room).await, [""; 0]);
    room.post("reuters", "one", 3.0).await.expect(201);
}

#[tokio::test]
async fn the_classes_of_keys_of_a_provider_are_restored_from_its_items() {
    let (room, _) = one(3.0).await;
    room.post("reuters", "two", 2.0).await.expect(201);
    remove(&room, "feeds_locations", &json!({"partitionKey": "reuters", "id": "keys"})).await;
    assert_eq!(room.urls("days=7&provider=reuters").await, [""; 0]);
    is_repaired(&room, &["keys-missing"]).await;
    assert_eq!(room.urls("days=7&provider=reuters").await, ["two", "one"]);
}

#[tokio::test]
async fn a_carried_copy_whose_item_is_in_no_colder_container_is_the_item_again() {
    let (room, item) = one(20.0).await;
    room.days_pass(11).await;
    room.migrate().await;
    let warm = room.stored("feeds_historical", &item["id"]).await;
    remove(&room, "feeds_historical", &warm).await;
    is_repaired(&room, &["item-expiring"]).await;
    room.days_pass(2).await;
    assert_eq!(room.read(&item).await.expect(200).json(), item);
    assert_eq!(room.migrate().await["migrated"], 1);
}

#[tokio::test]
async fn a_pending_move_is_ended() {
    let (room, item) = one(3.0).await;
    let to = room.leave_departure(&item).await;
    let reserved = json!({"type": "vacated", "id": to["id"], "partitionKey": to["partitionKey"],
        "movedTo": item["partitionKey"], "ttl": 86_400,
        "reservation": {"command": "move", "wasTaken": false}});
    room.put("feeds_historical", &reserved).await;
    // The move has just begun.
    assert_eq!(found(&room).await, [""; 0]);
    room.hours_pass(1).await;
    is_repaired(&room, &["move-pending"]).await;
    assert_eq!(room.read(&to).await.expect(200).json()["publishedDate"], to["publishedDate"]);
    room.read(&item).await.expect(404);
}

#[tokio::test]
async fn of_two_copies_of_an_old_item_the_colder_stays_and_of_a_young_one_the_hotter() {
    for (days, hot, warm) in [(11, 0, 1), (0, 1, 0)] {
        let (room, item) = one(20.0).await;
        room.days_pass(days).await;
        let copy = room.stored("feeds_current", &item["id"]).await;
        room.put("feeds_historical", &copy).await;
        is_repaired(&room, &["item-twice"]).await;
        let live = room.hot_and_warm().await;
        assert_eq!(live, (hot, warm));
        assert_eq!(room.read(&item).await.expect(200).json(), item);
        assert_eq!(room.urls("days=60").await, ["one"]);
    }
}

#[tokio::test]
async fn of_two_partitions_the_one_that_the_location_names_keeps_the_item() {
    let (room, item) = one(3.0).await;
    let mut copy = room.stored("feeds_current", &item["id"]).await;
    copy["partitionKey"] = json!("reuters_2001-01");
    room.put("feeds_current", &copy).await;
    // With one copy less, the key does not matter.
    is_repaired(&room, &["item-twice", "key-foreign"]).await;
    assert_eq!(room.urls("days=7").await, ["one"]);
    room.read(&item).await.expect(200);
}

#[tokio::test]
async fn of_a_move_that_has_left_its_source_behind_the_source_goes() {
    let (room, item) = one(3.0).await;
    let mut source = room.stored("feeds_current", &item["id"]).await;
    let date = |days| json!(room.days_ago(days));
    source["publishedDate"] = date(70.0);
    source["partitionKey"] = json!(format!("reuters_{}", &room.days_ago(70.0)[..7]));
    let mut to = item.clone();
    to["publishedDate"] = date(40.0);
    to["partitionKey"] = json!(format!("reuters_{}", &room.days_ago(40.0)[..7]));
    source["state"] = json!("departing");
    source["departure"] = json!({
        "to": {"store": "warm", "partitionKey": to["partitionKey"]}, "item": to, "command": "move",
    });
    room.put("feeds_historical", &source).await;
    is_repaired(&room, &["item-twice"]).await;
    assert_eq!(room.urls("days=90").await, ["one"]);
    assert_eq!(room.read(&item).await.expect(200).json(), item);
}

#[tokio::test]
async fn an_undecidable_divergence_is_for_an_operator() {
    let (room, item) = one(3.0).await;
    let location = room.stored("feeds_locations", &item["id"]).await;
    let mut copy = room.stored("feeds_current", &item["id"]).await;
    copy["partitionKey"] = json!("reuters_2001-01");
    room.put("feeds_current", &copy).await;
    remove(&room, "feeds_locations", &location).await;
    let found = findings(&room, Duration::ZERO, true).await;
    let kinds: Vec<_> = found.iter().map(|finding| finding.kind.name).collect();
    assert_eq!(kinds, ["item-twice", "item-twice", "key-foreign"]);
    assert!(!found.iter().any(Finding::is_repaired), "{found:?}");
    assert_eq!(room.live_in("feeds_current").await, 2);
}

#[tokio::test]
async fn an_unreadable_item_is_reported() {
    let (room, item) = one(3.0).await;
    room.put("feeds_archive", &json!({"id": "x", "partitionKey": "y"})).await;
    room.put("feeds_locations", &json!({"id": "x", "partitionKey": "y"})).await;
    assert_eq!(found(&room).await, ["location-unreadable", "unreadable"]);
    room.read(&item).await.expect(200);
}

#[tokio::test]
async fn an_audit_beside_live_traffic_has_no_false_findings() {
    let room = Newsroom::new().await;
    for n in 0..20 {
        room.post("reuters", &format!("old-{n}"), 20.0).await.expect(201);
    }
    room.days_pass(11).await;
    let audited = Cell::new(false);
    let audit = async {
        let found = findings(&room, Duration::from_millis(500), false).await;
        audited.set(true);
        found
    };
    // Nothing is cut off: a move that is not ended yet is a finding.
    let traffic = async {
        for n in (0..).take_while(|_| !audited.get()) {
            let days = [1.0, 40.0, 100.0][n % 3];
            room.post("gazette", &format!("new-{}", n % 7), days).await;
            room.post("reuters", &format!("old-{}", n % 20), days).await;
            room.migrate().await;
        }
    };
    let (found, ()) = tokio::join!(audit, traffic);
    assert!(found.is_empty(), "{found:?}");
    assert_eq!(self::found(&room).await, [""; 0]);
}
