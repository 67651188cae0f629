//! Physical partitions that split while a trigger reads them.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use azure_core::http::Url;
use azure_data_cosmos::options::Region;
use azure_data_cosmos::{
    AccountEndpoint, AccountReference, ContainerClient, CosmosClient, CosmosRuntimeBuilder,
    FeedScope, Query, RoutingStrategy,
};
use azure_data_cosmos_driver::in_memory_emulator::{
    ContainerConfig, EmulatorStore, InMemoryEmulatorHttpClient, VirtualAccountConfig, VirtualRegion,
};
use bytes::Bytes;
use futures::future::BoxFuture;
use futures::{FutureExt as _, TryStreamExt as _};
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use tributary_local::cosmos::RequestKind;
use tributary_local::host::{FeedPump, InvocationResult, Invoker, RouterInvoker};

use crate::support::{Handler, Received, Store, cosmos_function, feed_options, function};

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

/// An account with a monitored container of one physical partition. The endpoint has no command for a
/// split, so these tests use the emulator below it.
struct Account {
    store: Arc<EmulatorStore>,
    client: CosmosClient,
    posts: ContainerClient,
    leases: ContainerClient,
}

impl Account {
    async fn new() -> Self {
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
        Self { store, client, posts, leases }
    }

    fn pump(&self, json: &Value, invoker: impl Invoker + 'static) -> FeedPump {
        FeedPump::new(self.client.clone(), &function(json), Arc::new(invoker), feed_options())
            .unwrap()
    }

    async fn split(&self) {
        self.store.split_partition("test", "posts", 0, Duration::ZERO);
        let children = || self.store.child_partition_ids("test", "posts", &[0]).len();
        let split = async {
            while children() < 2 {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(Duration::from_secs(20), split).await.unwrap();
    }

    async fn stored_leases(&self) -> Vec<Value> {
        let query = Query::from("SELECT * FROM c WHERE IS_DEFINED(c.LeaseToken)");
        let items = self.leases.query_items(query, FeedScope::full_container(), None);
        items.await.unwrap().try_collect().await.unwrap()
    }
}

#[tokio::test]
async fn children_continue_from_the_position_of_their_parent() {
    let account = Account::new().await;
    let handler = Handler::default();
    let pump = || account.pump(&cosmos_function(), RouterInvoker(handler.router()));
    write(&account.posts, "before").await;
    assert_eq!(pump().drain().await.unwrap(), 20);
    write(&account.posts, "between").await;
    account.split().await;
    write(&account.posts, "after").await;

    pump().drain().await.unwrap();
    assert_eq!(ids(&handler.received()).len(), 60, "every change is delivered");
    assert_eq!(account.stored_leases().await.len(), 2, "one for each child, none for the parent");
    assert_eq!(pump().drain().await.unwrap(), 0);
}

/// An invoker that splits the partition in the middle of the first invocation, and counts the leases at
/// each later one.
#[derive(Clone)]
struct SplitsFirst {
    handler: Handler,
    account: Arc<Account>,
    later_leases: Arc<Mutex<Vec<usize>>>,
}

impl SplitsFirst {
    fn new(handler: &Handler, account: &Arc<Account>) -> Self {
        let later_leases = Arc::default();
        Self { handler: handler.clone(), account: account.clone(), later_leases }
    }
}

impl Invoker for SplitsFirst {
    fn invoke<'a>(
        &'a self,
        function: &'a str,
        id: &'a str,
        body: Bytes,
    ) -> BoxFuture<'a, InvocationResult> {
        async move {
            if self.handler.received().is_empty() {
                self.account.split().await;
            } else {
                let leases = self.account.stored_leases().await.len();
                self.later_leases.lock().unwrap().push(leases);
            }
            RouterInvoker(self.handler.router()).invoke(function, id, body).await
        }
        .boxed()
    }
}

#[tokio::test]
async fn a_page_read_across_a_split_is_left_to_the_children() {
    let account = Arc::new(Account::new().await);
    let mut json = cosmos_function();
    json["bindings"][0]["maxItemsPerInvocation"] = 4.into();
    write(&account.posts, "before").await;
    let handler = Handler::default();
    let splits = SplitsFirst::new(&handler, &account);
    account.pump(&json, splits.clone()).drain().await.unwrap();

    let later_leases = splits.later_leases.lock().unwrap().clone();
    assert!(later_leases.iter().all(|leases| *leases == 2), "by the children: {later_leases:?}");
    assert_eq!(ids(&handler.received()).len(), 20, "every change is delivered");
    assert_eq!(account.stored_leases().await.len(), 2, "one for each child, none for the parent");
}

#[tokio::test]
async fn a_change_of_only_one_child_is_delivered_in_the_same_drain() {
    for key in ["a", "b", "c", "d", "e", "f"] {
        let account = Arc::new(Account::new().await);
        let mut json = cosmos_function();
        json["bindings"][0]["maxItemsPerInvocation"] = 4.into();
        for number in 0..10 {
            let id = format!("post{number}");
            let post = json!({ "id": id, "postId": key });
            account.posts.upsert_item(key, &id, &post, None).await.unwrap();
        }
        let handler = Handler::default();
        let splits = SplitsFirst::new(&handler, &account);
        account.pump(&json, splits).drain().await.unwrap();
        assert_eq!(ids(&handler.received()).len(), 10, "every change of {key} is delivered");
    }
}

/// An invoker that never answers, and notifies of each invocation.
struct Holds(Arc<Notify>);

impl Invoker for Holds {
    fn invoke<'a>(&'a self, _: &'a str, _: &'a str, _: Bytes) -> BoxFuture<'a, InvocationResult> {
        self.0.notify_one();
        std::future::pending().boxed()
    }
}

#[tokio::test]
async fn a_trigger_stops_after_a_split_though_its_handler_does_not_answer() {
    let account = Account::new().await;
    write(&account.posts, "before").await;
    let asked = Arc::new(Notify::new());
    let stop = CancellationToken::new();
    let pump = account.pump(&cosmos_function(), Holds(asked.clone()));
    let running = tokio::spawn({
        let stop = stop.clone();
        async move { pump.run(stop).await }
    });
    asked.notified().await;
    account.split().await;
    // The trigger looks for splits every 5 seconds.
    tokio::time::sleep(Duration::from_secs(6)).await;
    stop.cancel();
    tokio::time::timeout(Duration::from_secs(10), running).await.unwrap().unwrap();
}

#[tokio::test]
async fn a_drain_waits_for_a_split_to_end() {
    let account = Account::new().await;
    let handler = Handler::default();
    write(&account.posts, "before").await;
    account.store.split_partition("test", "posts", 0, Duration::from_millis(100));
    let pump = account.pump(&cosmos_function(), RouterInvoker(handler.router()));
    assert_eq!(pump.drain().await.unwrap(), 20);
}

#[tokio::test]
async fn a_partition_that_splits_while_its_lease_is_made_leaves_one_lease_for_each_child() {
    let store = Store::new(1).await;
    for number in 0..20 {
        store.put(&format!("p{number}"), json!({})).await;
    }
    // The trigger asks the partition for its id, and one of the children answers.
    let mut asks = store.endpoint.hold(RequestKind::ChangeFeed, "posts");
    let handler = Handler::default();
    let pump = store.pump(&function(&cosmos_function()), &handler, feed_options());
    let split = async {
        asks.arrived().await;
        store.endpoint.split("test", "posts").await;
        asks.release();
    };
    let (drained, ()) = tokio::join!(pump.drain(), split);

    assert_eq!(drained.unwrap(), 20, "every change is delivered");
    let query =
        "SELECT VALUE c.LeaseToken FROM c WHERE IS_DEFINED(c.LeaseToken) ORDER BY c.LeaseToken";
    let tokens = store.leases.query_items::<String>(query, FeedScope::full_container(), None);
    let tokens: Vec<_> = tokens.await.unwrap().try_collect().await.unwrap();
    assert_eq!(tokens, ["1", "2"]);
}
