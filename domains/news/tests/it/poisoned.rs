//! One bad item among many: the runs of the news note it, and take all that stand behind it.

use serde_json::{Value, json};
use tributary_local::cosmos::RequestKind::Replace;

use super::given::{HYBRID, Newsroom};
use tributary_testing::interleavings::held;

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
async fn a_hundred_moves_that_cannot_end_hide_no_other_move() {
    let room = Newsroom::new().await;
    for n in 0..100 {
        let stuck = room.post("reuters", &format!("stuck-{n}"), 1.0).await.expect(201).json();
        leave_stuck_move(&room, &stuck).await;
    }
    room.post("reuters", "good", 1.0).await.expect(201);
    // The item stands in its new place by then.
    let moving =
        held((&room.world, Replace, "feeds_locations"), room.post("reuters", "good", 60.0));
    drop(moving.await);
    assert_eq!(room.migrate().await["failed"], 100);
    let tombstones = room.world.items("feeds_current").await;
    assert_eq!(tombstones.iter().filter(|item| item["type"] == "vacated").count(), 1);
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
