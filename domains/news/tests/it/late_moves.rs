//! Moves that a crash has left, and that are ended when the item has got older.

use serde_json::json;
use tributary_local::cosmos::RequestKind::{Create, Read, Replace};

use super::given::{HYBRID, Newsroom};
use tributary_testing::interleavings::{amid, held};

/// Cuts a move from the warm to the hot container off before the item arrives.
async fn leave_departure(room: &Newsroom, days_ago: f64) {
    room.post("reuters", "a", 75.0).await.expect(201);
    let moving = room.post("reuters", "a", days_ago);
    drop(held((&room.world, Replace, "feeds_current"), moving).await);
}

#[tokio::test]
async fn a_move_that_is_ended_when_the_migration_has_passed_its_date_is_listed() {
    let room = Newsroom::new().await;
    leave_departure(&room, 29.9).await;
    room.hours_pass(6).await;
    room.migrate().await;
    // Readers believe the progress an hour later.
    room.hours_pass(3).await;
    room.archive().await;
    let window = format!("from={}&to={}", room.days_ago(31.0), room.days_ago(30.2));
    for instance in [room.with_settings(HYBRID).await, room.clone()] {
        let old = instance.urls("days=90").await;
        assert_eq!(old, ["a"]);
        let moved = instance.urls(&window).await;
        let stayed = format!("from={}&to={}", room.days_ago(76.0), room.days_ago(75.2));
        assert_eq!(moved.len() + instance.urls(&stayed).await.len(), 1, "{moved:?}");
    }
}

#[tokio::test]
async fn a_move_that_is_ended_days_later_leaves_one_item() {
    let room = Newsroom::new().await;
    room.post("reuters", "a", 75.0).await.expect(201);
    // The item stands in its new place by then.
    drop(held((&room.world, Replace, "feeds_locations"), room.post("reuters", "a", 29.9)).await);
    room.days_pass(1).await;
    room.migrate().await;
    room.days_pass(2).await;
    room.archive().await;
    assert_eq!(room.live().await, 1);
    assert_eq!(room.urls("days=90").await, ["a"]);
    room.post("reuters", "a", 1.0).await.expect(200);
    assert_eq!((room.live().await, room.urls("days=90").await), (1, vec!["a".to_owned()]));
}

/// An item that has come from the warm container to the hot one, in the same logical partition, when the
/// handler ended: its location does not name the hot container yet.
async fn given_a_left_move() -> Newsroom {
    let room = Newsroom::new().await;
    room.at_one_time();
    room.post("herald", "a", 45.0).await.expect(201);
    drop(held((&room.world, Replace, "feeds_locations"), room.post("herald", "a", 10.0)).await);
    room
}

/// The item goes back to the warm container, and to the hot one again.
async fn goes_back_and_forth(room: &Newsroom) {
    for (age, days) in [(44.0, "days=90"), (10.0, "days=30")] {
        room.post("herald", "a", age).await.expect(200);
        assert_eq!((room.live().await, room.urls(days).await), (1, vec!["a".to_owned()]));
    }
}

#[tokio::test]
async fn an_item_goes_back_in_its_partition_after_a_move_that_was_left() {
    let room = given_a_left_move().await;
    goes_back_and_forth(&room).await;
}

#[tokio::test]
async fn an_item_goes_back_in_its_partition_after_a_move_that_lacks_its_tombstone() {
    let room = given_a_left_move().await;
    // Its location names the new place, and it still departs from the old one.
    drop(held((&room.world, Replace, "feeds_historical"), room.migrate()).await);
    goes_back_and_forth(&room).await;
}

#[tokio::test]
async fn a_late_worker_does_not_double_an_item_that_has_gone_on_in_its_partition() {
    let room = given_a_left_move().await;
    // The worker has read the location and is about to read the item in its new place.
    let gone_on = async {
        room.post("herald", "a", 200.0).await.expect(200);
    };
    amid((&room.world, Read, "feeds_current"), room.migrate(), gone_on).await;
    assert_eq!(room.live().await, 1);
    assert_eq!((room.urls("days=30").await.len(), room.urls("days=90").await.len()), (0, 0));
}

/// The move comes from the archive to the hot container. Under other ages the item goes on to the warm
/// one, and its copy in the hot container goes away.
#[tokio::test]
async fn a_late_worker_does_not_double_an_item_that_was_brought_on_from_its_new_place() {
    let room = Newsroom::new().await;
    room.at_one_time();
    room.post("herald", "a", 900.0).await.expect(201);
    let hot = room.with_settings(&[HYBRID[0], ("News__MigrateAfterDays", "3650")]).await;
    drop(held((&room.world, Replace, "feeds_locations"), hot.post("herald", "a", 899.9)).await);
    let warm = room.with_settings(&[HYBRID[0], ("News__ArchiveAfterYears", "100")]).await;
    warm.post("herald", "a", 899.8).await.expect(200);
    assert_eq!((room.live().await, room.live_in("feeds_historical").await), (1, 1));
    warm.migrate().await;
    assert_eq!((room.live().await, room.live_in("feeds_historical").await), (1, 1));
}

#[tokio::test]
async fn an_item_is_not_brought_on_while_its_move_cannot_end() {
    let room = Newsroom::new().await;
    let item = room.post("reuters", "a", 75.0).await.expect(201).json();
    drop(held((&room.world, Replace, "feeds_locations"), room.post("reuters", "a", 29.9)).await);
    let location = room.stored("feeds_locations", &item["id"]).await;
    let mut unreadable = location.clone();
    unreadable["place"] = json!(5);
    room.put("feeds_locations", &unreadable).await;
    room.days_pass(1).await;
    assert_eq!(room.migrate().await["failed"], 2);
    room.days_pass(2).await;
    room.put("feeds_locations", &location).await;
    assert_eq!(room.migrate().await["failed"], 0);
    assert_eq!((room.live().await, room.urls("days=90").await), (1, vec!["a".to_owned()]));
}

#[tokio::test]
async fn an_item_whose_move_cannot_end_stays_listed_where_it_is() {
    let room = Newsroom::new().await;
    let item = room.post("reuters", "a", 29.9).await.expect(201).json();
    drop(held((&room.world, Create, "feeds_historical"), room.post("reuters", "a", 60.0)).await);
    let mut departing = room.stored("feeds_current", &item["id"]).await;
    if departing["state"] == "live" {
        // The move has not begun: its place is not reserved yet.
        let mut to = item.clone();
        to["publishedDate"] = json!(room.days_ago(60.0));
        to["partitionKey"] = json!(format!("reuters_{}", &room.days_ago(60.0)[..7]));
        departing["state"] = json!("departing");
        departing["departure"] = json!({
            "to": {"store": "warm", "partitionKey": to["partitionKey"]}, "item": to, "command": "m",
        });
        room.put("feeds_current", &departing).await;
    }
    let mut location = room.stored("feeds_locations", &item["id"]).await;
    location["place"] = json!(5);
    room.put("feeds_locations", &location).await;
    room.hours_pass(6).await;
    assert_eq!(room.migrate().await["failed"], 1);
    room.hours_pass(3).await;
    let other = room.with_settings(HYBRID).await;
    let window = format!("from={}&to={}", room.days_ago(31.0), room.days_ago(30.1));
    let progress = room.stored("feeds_locations", &json!("migration")).await;
    let before = progress["migratedBefore"].as_str().unwrap_or_default();
    assert!(before <= item["publishedDate"].as_str().unwrap(), "{before} is past {window}");
    drop(other);
}

#[tokio::test]
async fn items_go_to_the_containers_that_readers_read_after_the_age_is_raised() {
    let room = Newsroom::new().await;
    room.post("reuters", "first", 45.0).await.expect(201);
    room.migrate().await;
    room.hours_pass(3).await;
    let raised = [HYBRID[0], ("News__MigrateAfterDays", "60")];
    let later = room.with_settings(&raised).await;
    later.post("reuters", "second", 44.0).await.expect(201);
    later.post("reuters", "third", 5.0).await.expect(201);
    let live = (room.live_in("feeds_current").await, room.live_in("feeds_historical").await);
    assert_eq!(live, (1, 2));
    // Items that an instance with the former age has written before the progress are migrated, too.
    let mut hot = room.stored("feeds_current", &room.items("days=7", 3).await[0]["id"]).await;
    (hot["publishedDate"], hot["partitionKey"]) =
        (json!(room.days_ago(40.0)), json!(format!("reuters_{}", &room.days_ago(40.0)[..7])));
    room.put("feeds_current", &hot).await;
    assert_eq!(later.migrate().await["migrated"], 1);
}

#[tokio::test]
async fn the_items_between_two_ages_are_migrated_after_the_age_is_lowered() {
    let room = Newsroom::new().await;
    room.post("reuters", "a", 20.0).await.expect(201);
    room.migrate().await;
    let lowered = [HYBRID[0], ("News__MigrateAfterDays", "10")];
    let later = room.with_settings(&lowered).await;
    assert_eq!(later.migrate().await["migrated"], 1);
    assert_eq!(later.urls("days=30").await, ["a"]);
}
