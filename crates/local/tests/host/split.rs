//! Physical partitions that split while a trigger is at work.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use azure_core::http::Url;
use azure_data_cosmos::options::Region;
use azure_data_cosmos::{
    AccountEndpoint, AccountReference, ContainerClient, CosmosClient, CosmosRuntimeBuilder,
    FeedScope, Query, RoutingStrategy,
};
use azure_data_cosmos_driver::in_memory_emulator::{
    ContainerConfig, InMemoryEmulatorHttpClient, VirtualAccountConfig, VirtualRegion,
};
use futures::TryStreamExt as _;
use serde_json::{Value, json};
use tributary_local::host::{FeedPump, RouterInvoker};

use crate::support::{Handler, Received, cosmos_function, eventually, feed_options, function};

async fn write(posts: &ContainerClient, prefix: &str) {
    for number in 0..20 {
        let id = format!("{prefix}{number}");
        let post = json!({ "id": id, "postId": id });
        posts.upsert_item(id.clone(), &id, &post, None).await.unwrap();
    }
}

fn ids(received: &[Received]) -> BTreeSet<String> {
    received.iter().flat_map(Received::ids).collect()
}

/// The endpoint cannot split, so this test uses the emulator below it.
#[tokio::test]
async fn children_go_on_at_their_parents_position() {
    let url = Url::parse("https://split.emulator.local").unwrap();
    let region = VirtualRegion::new("East US", url.clone());
    let config = VirtualAccountConfig::new(vec![region]).unwrap();
    let emulator = Arc::new(InMemoryEmulatorHttpClient::new(config));
    let store = emulator.store();
    store.create_database("test");
    for (name, key) in [("posts", "/postId"), ("leases", "/id")] {
        let key = json!({ "paths": [key], "kind": "Hash", "version": 2 });
        let one = ContainerConfig::new().with_partition_count(1);
        let key = serde_json::from_value(key).unwrap();
        store.create_container_with_config("test", name, key, one);
    }
    let runtime = CosmosRuntimeBuilder::from(emulator.runtime_builder()).build().await.unwrap();
    let account =
        AccountReference::with_authentication_key(AccountEndpoint::from(url), "dGVzdGtleQ==");
    let client = CosmosClient::builder()
        .with_runtime(runtime)
        .build(account, RoutingStrategy::ProximityTo(Region::EAST_US))
        .await
        .unwrap();
    let database = client.database_client("test");
    let posts = database.container_client("posts", None).await.unwrap();
    let leases = database.container_client("leases", None).await.unwrap();

    let handler = Handler::default();
    let pump = |options| {
        let invoker = Arc::new(RouterInvoker(handler.router()));
        FeedPump::new(client.clone(), &function(&cosmos_function()), invoker, options).unwrap()
    };
    write(&posts, "before").await;
    assert_eq!(pump(feed_options()).drain().await.unwrap(), 20);
    write(&posts, "between").await;
    store.split_partition("test", "posts", 0, Duration::ZERO);
    eventually("the partition is split", async || {
        (store.child_partition_ids("test", "posts", &[0]).len() == 2).then_some(())
    })
    .await;
    write(&posts, "after").await;

    pump(feed_options()).drain().await.unwrap();
    assert_eq!(ids(&handler.received()).len(), 60, "every change is delivered");
    let query = Query::from("SELECT * FROM c");
    let items = leases.query_items(query, FeedScope::full_container(), None).await.unwrap();
    let items: Vec<Value> = items.try_collect().await.unwrap();
    assert_eq!(items.len(), 2, "a lease for each child and none for the parent");
    assert_eq!(pump(feed_options()).drain().await.unwrap(), 0);
}
