//! The timer `NewsMigration` and `POST /news/migrate`.

use serde_json::json;

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
    assert_eq!(
        (room.live_in("feeds_current").await, room.live_in("feeds_historical").await),
        (1, 1)
    );
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
async fn the_timer_migrates_like_the_command() {
    let room = Newsroom::new().await;
    room.post("gazette", "old", 20.0).await.expect(201);
    room.days_pass(11).await;
    room.world.tick("NewsMigration").await.unwrap();
    assert_eq!(room.live_in("feeds_historical").await, 1);
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
async fn an_item_that_was_never_migrated_never_expires() {
    let room = Newsroom::new().await;
    let item = room.post("reuters", "old", 1.0).await.expect(201).json();
    room.days_pass(400).await;
    assert_eq!(room.read(&item).await.expect(200).json(), item);
    let window = format!("from={}&to={}", room.days_ago(402.0), room.days_ago(400.0));
    assert_eq!(room.urls(&window).await, ["old"]);
    room.migrate().await;
    room.days_pass(2).await;
    assert_eq!(room.read(&item).await.expect(200).json(), item);
}

#[tokio::test]
async fn an_edit_after_the_migration_is_kept() {
    let room = Newsroom::new().await;
    let item = room.post("reuters", "old", 20.0).await.expect(201).json();
    room.days_pass(11).await;
    room.migrate().await;
    let mut body = room.item("reuters", "old", 31.0);
    (body["publishedDate"], body["title"]) = (item["publishedDate"].clone(), json!("Corrected"));
    room.world.post("/api/news/items", body).await.expect(200);
    assert_eq!(room.read(&item).await.expect(200).json()["title"], "Corrected");
    let page = room.world.get("/api/news/items?days=60").await.expect(200).json();
    assert_eq!(page["items"][0]["title"], "Corrected");
    assert_eq!(page["items"].as_array().unwrap().len(), 1);
}
