//! Moves to a place that refuses the item, such as a full partition: the item stays where it is.

use serde_json::{Value, json};
use tributary_local::cosmos::{
    Fault,
    RequestKind::{Create, Delete, Replace},
};

use super::given::{HYBRID, Newsroom};
use tributary_testing::interleavings::held;

const FULL: Fault = Fault::RefusedWith(403, 1014);
/// More faults than any story meets.
const ENDLESS: usize = 10_000;

/// Posts an item again, under another title, published when it was.
async fn retitle(room: &Newsroom, item: &Value, title: &str) -> u16 {
    let url = item["sourceUrl"].as_str().unwrap().rsplit('/').next().unwrap();
    let mut body = room.item(item["feedProviderId"].as_str().unwrap(), url, 0.0);
    (body["publishedDate"], body["title"]) = (item["publishedDate"].clone(), json!(title));
    room.world.post("/api/news/items", body).await.status.as_u16()
}

/// The item is where it was, once, and can be edited.
async fn has_stayed(room: &Newsroom, item: &Value) {
    assert_eq!(room.read(item).await.expect(200).json()["publishedDate"], item["publishedDate"]);
    assert_eq!(retitle(room, item, "Corrected").await, 200);
    assert_eq!(room.read(item).await.expect(200).json()["title"], "Corrected");
    assert_eq!(room.urls("days=90").await, ["a"]);
    assert_eq!(room.migrate().await["failed"], 0);
}

#[tokio::test]
async fn a_move_to_a_full_partition_is_refused_and_leaves_the_item_as_it_was() {
    for kind in [Create, Replace] {
        let room = Newsroom::new().await;
        let item = room.post("reuters", "a", 1.0).await.expect(201).json();
        room.world.endpoint.inject(FULL, kind, "feeds_historical", ENDLESS);
        room.post("reuters", "a", 60.0).await.expect(507);
        has_stayed(&room, &item).await;
    }
}

#[tokio::test]
async fn a_move_that_was_cut_off_before_its_place_was_full_is_taken_back() {
    let room = Newsroom::new().await;
    let item = room.post("reuters", "a", 1.0).await.expect(201).json();
    drop(held((&room.world, Replace, "feeds_historical"), room.post("reuters", "a", 60.0)).await);
    assert_eq!(room.stored("feeds_current", &item["id"]).await["state"], "departing");
    room.world.endpoint.inject(FULL, Replace, "feeds_historical", ENDLESS);
    has_stayed(&room, &item).await;
}

#[tokio::test]
async fn a_worker_that_is_late_does_not_make_a_move_that_was_taken_back() {
    let room = Newsroom::new().await;
    let other = room.with_settings(HYBRID).await;
    let item = room.post("reuters", "a", 1.0).await.expect(201).json();
    drop(held((&room.world, Replace, "feeds_historical"), room.post("reuters", "a", 60.0)).await);
    // The move has read the target and the source, and is about to write the target.
    let (late, migrating) = held((&room.world, Replace, "feeds_historical"), room.migrate()).await;
    room.world.endpoint.inject(FULL, Replace, "feeds_historical", 1);
    assert_eq!(retitle(&other, &item, "Corrected").await, 200);
    // By now there is room again.
    late.release();
    migrating.await;
    assert_eq!(
        (room.live_in("feeds_current").await, room.live_in("feeds_historical").await),
        (1, 0)
    );
    has_stayed(&room, &item).await;
}

#[tokio::test]
async fn a_move_that_is_taken_back_twice_at_once_leaves_one_item() {
    let room = Newsroom::new().await;
    let other = room.with_settings(HYBRID).await;
    let item = room.post("reuters", "a", 1.0).await.expect(201).json();
    drop(held((&room.world, Replace, "feeds_historical"), room.post("reuters", "a", 60.0)).await);
    room.world.endpoint.inject(FULL, Replace, "feeds_historical", 2);
    let (late, migrating) = held((&room.world, Delete, "feeds_historical"), room.migrate()).await;
    assert_eq!(retitle(&other, &item, "Corrected").await, 200);
    // The item moves again, to its end.
    other.post("reuters", "a", 60.0).await.expect(200);
    late.release();
    migrating.await;
    assert_eq!(
        (room.live_in("feeds_current").await, room.live_in("feeds_historical").await),
        (0, 1)
    );
    assert_eq!(room.urls("days=90").await, ["a"]);
}

/// There the place keeps a late copy out, and stays taken for a day.
#[tokio::test]
async fn a_refused_move_to_a_former_place_is_taken_back_within_a_day() {
    let room = Newsroom::new().await;
    room.post("reuters", "a", 60.0).await.expect(201);
    let item = room.post("reuters", "a", 1.0).await.expect(200).json();
    room.world.endpoint.inject(FULL, Replace, "feeds_historical", ENDLESS);
    room.post("reuters", "a", 60.0).await.expect(507);
    assert_eq!(room.read(&item).await.expect(200).json()["title"], item["title"]);
    room.days_pass(2).await;
    has_stayed(&room, &item).await;
}
