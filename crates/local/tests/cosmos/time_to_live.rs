use std::time::{Duration, Instant, SystemTime};

use azure_data_cosmos::clients::ContainerClient;
use azure_data_cosmos::models::{ContainerProperties, TimeToLive};
use azure_data_cosmos::options::ChangeFeedStartFrom;
use azure_data_cosmos::{FeedScope, TransactionalBatch};
use futures::TryStreamExt;
use serde_json::{Value, json};
use tributary_local::cosmos::EndpointOptions;

use crate::world::{DATABASE, World, found, options, status};

#[tokio::test]
async fn an_item_lives_as_long_as_its_ttl() {
    for (world, posts) in World::with_posts(options()).await {
        create(&posts, "short", Some(10)).await;
        create(&posts, "long", Some(1_000)).await;
        create(&posts, "for-ever", Some(-1)).await;
        create(&posts, "without", None).await;

        assert_eq!(world.endpoint.expire_items(after(8)).await, 0);
        assert_eq!(present(&posts).await.len(), 4, "{}", world.way);

        assert_eq!(world.endpoint.expire_items(after(13)).await, 1);
        assert_eq!(present(&posts).await, ["for-ever", "long", "without"]);

        assert_eq!(world.endpoint.expire_items(after(100_000)).await, 1);
        assert_eq!(present(&posts).await, ["for-ever", "without"]);
        assert_eq!(changed(&posts).await, ["for-ever", "without"]);
        assert_eq!(status(posts.read_item("p1", "long", None).await), 404);
    }
}

#[tokio::test]
async fn an_item_without_ttl_follows_the_container() {
    for world in World::both_ways(options()).await {
        let database = world.client.database_client(DATABASE);
        for (id, ttl) in [("expiring", TimeToLive::Seconds(60)), ("plain", TimeToLive::Forever)] {
            let properties = ContainerProperties::new(id, "/postId".into()).with_default_ttl(ttl);
            database.create_container(properties, None).await.unwrap();
        }
        let expiring = world.container("expiring").await;
        create(&expiring, "follows", None).await;
        create(&expiring, "for-ever", Some(-1)).await;
        let plain = world.container("plain").await;
        create(&plain, "ttl-counts-for-nothing", Some(1)).await;

        world.endpoint.expire_items(after(63)).await;

        assert_eq!(present(&expiring).await, ["for-ever"], "{}", world.way);
        assert_eq!(present(&plain).await.len(), 1, "{}", world.way);
    }
}

#[tokio::test]
async fn a_write_restarts_the_time_of_an_item_or_gives_it_another_ttl_or_none_in_a_batch_too() {
    for (world, posts) in World::with_posts(options()).await {
        for (id, ttl) in [("kept", Some(5)), ("longer", Some(5)), ("replaced", None)] {
            create(&posts, id, ttl).await;
        }
        posts.replace_item("p1", "kept", item("kept", None), None).await.unwrap();
        posts.upsert_item("p1", "longer", item("longer", Some(500)), None).await.unwrap();
        let batch = TransactionalBatch::new("p1")
            .create_item(item("created", Some(5)))
            .unwrap()
            .replace_item("replaced", item("replaced", Some(5)), None)
            .unwrap()
            .upsert_item(item("without", None), None)
            .unwrap();
        posts.execute_transactional_batch(batch, None).await.unwrap();

        assert_eq!(world.endpoint.expire_items(after(100)).await, 2);
        assert_eq!(present(&posts).await, ["kept", "longer", "without"], "{}", world.way);
        assert_eq!(world.endpoint.expire_items(after(600)).await, 1);
        assert_eq!(present(&posts).await, ["kept", "without"], "{}", world.way);
    }
}

#[tokio::test]
async fn expired_items_are_removed_without_a_request() {
    let options = EndpointOptions { expiry_interval: Some(Duration::from_millis(50)), ..options() };
    for (world, posts) in World::with_posts(options).await {
        create(&posts, "short", Some(1)).await;
        create(&posts, "for-ever", None).await;

        let deadline = Instant::now() + Duration::from_secs(20);
        while present(&posts).await != ["for-ever"] {
            assert!(Instant::now() < deadline, "still there {}", world.way);
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}

/// Returns the time after so many seconds, and one more: `_ts` has whole seconds.
fn after(seconds: u64) -> SystemTime {
    SystemTime::now() + Duration::from_secs(seconds)
}

fn item(id: &str, ttl: Option<i64>) -> Value {
    let mut item = json!({ "id": id, "postId": "p1" });
    if let Some(ttl) = ttl {
        item["ttl"] = json!(ttl);
    }
    item
}

async fn create(container: &ContainerClient, id: &str, ttl: Option<i64>) {
    container.create_item("p1", id, item(id, ttl), None).await.unwrap();
}

async fn present(container: &ContainerClient) -> Vec<String> {
    let query = "SELECT VALUE c.id FROM c ORDER BY c.id";
    found(container, query, FeedScope::partition("p1")).await
}

async fn changed(container: &ContainerClient) -> Vec<String> {
    let (all, start) = (FeedScope::full_container(), ChangeFeedStartFrom::Beginning);
    let mut pages = container.query_change_feed::<Value>(all, start, None).await.unwrap();
    let page = pages.try_next().await.unwrap().unwrap();
    let items = page.items().iter().map(|change| change.current().unwrap());
    let mut ids: Vec<_> = items.map(|item| item["id"].as_str().unwrap().to_owned()).collect();
    ids.sort();
    ids
}
