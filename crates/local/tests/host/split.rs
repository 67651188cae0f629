//! Physical partitions that split while a trigger reads them.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use azure_data_cosmos::FeedScope;
use bytes::Bytes;
use futures::future::BoxFuture;
use futures::{FutureExt as _, TryStreamExt as _};
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use tributary_local::cosmos::RequestKind;
use tributary_local::host::{FeedPump, InvocationResult, Invoker, RouterInvoker};

use crate::support::{Handler, Received, Store, cosmos_function, feed_options, function};

async fn write(store: &Store, prefix: &str) {
    for number in 0..20 {
        store.put(&format!("{prefix}{number}"), json!({})).await;
    }
}

fn ids(received: &[Received]) -> BTreeSet<String> {
    received.iter().flat_map(Received::ids).collect()
}

fn pump(store: &Store, json: &Value, invoker: impl Invoker + 'static) -> FeedPump {
    let options = feed_options();
    FeedPump::new(store.client.clone(), &function(json), Arc::new(invoker), options).unwrap()
}

/// Returns the partitions that have a lease.
async fn leased(store: &Store) -> Vec<String> {
    let query =
        "SELECT VALUE c.LeaseToken FROM c WHERE IS_DEFINED(c.LeaseToken) ORDER BY c.LeaseToken";
    let tokens = store.leases.query_items::<String>(query, FeedScope::full_container(), None);
    tokens.await.unwrap().try_collect().await.unwrap()
}

#[tokio::test]
async fn children_continue_from_the_position_of_their_parent() {
    let store = Store::new(1).await;
    let handler = Handler::default();
    let pump = || pump(&store, &cosmos_function(), RouterInvoker(handler.router()));
    write(&store, "before").await;
    assert_eq!(pump().drain().await.unwrap(), 20);
    write(&store, "between").await;
    store.endpoint.split("test", "posts").await;
    write(&store, "after").await;

    pump().drain().await.unwrap();
    assert_eq!(ids(&handler.received()).len(), 60, "every change is delivered");
    assert_eq!(leased(&store).await, ["1", "2"], "one for each child, none for the parent");
    assert_eq!(pump().drain().await.unwrap(), 0);
}

/// An invoker that splits the partition in the middle of the first invocation, and counts the leases at
/// each later one.
#[derive(Clone)]
struct SplitsFirst {
    handler: Handler,
    store: Arc<Store>,
    later_leases: Arc<Mutex<Vec<usize>>>,
}

impl SplitsFirst {
    fn new(handler: &Handler, store: &Arc<Store>) -> Self {
        let later_leases = Arc::default();
        Self { handler: handler.clone(), store: store.clone(), later_leases }
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
                self.store.endpoint.split("test", "posts").await;
            } else {
                let leases = leased(&self.store).await.len();
                self.later_leases.lock().unwrap().push(leases);
            }
            RouterInvoker(self.handler.router()).invoke(function, id, body).await
        }
        .boxed()
    }
}

#[tokio::test]
async fn a_page_read_across_a_split_is_left_to_the_children() {
    let store = Arc::new(Store::new(1).await);
    let mut json = cosmos_function();
    json["bindings"][0]["maxItemsPerInvocation"] = 4.into();
    write(&store, "before").await;
    let handler = Handler::default();
    let splits = SplitsFirst::new(&handler, &store);
    pump(&store, &json, splits.clone()).drain().await.unwrap();

    let later_leases = splits.later_leases.lock().unwrap().clone();
    assert!(later_leases.iter().all(|leases| *leases == 2), "by the children: {later_leases:?}");
    assert_eq!(ids(&handler.received()).len(), 20, "every change is delivered");
    assert_eq!(leased(&store).await, ["1", "2"], "one for each child, none for the parent");
}

#[tokio::test]
async fn a_change_of_only_one_child_is_delivered_in_the_same_drain() {
    for key in ["a", "b", "c", "d", "e", "f"] {
        let store = Arc::new(Store::new(1).await);
        let mut json = cosmos_function();
        json["bindings"][0]["maxItemsPerInvocation"] = 4.into();
        for number in 0..10 {
            let id = format!("post{number}");
            let post = json!({ "id": id, "postId": key });
            store.posts.upsert_item(key, &id, &post, None).await.unwrap();
        }
        let handler = Handler::default();
        let splits = SplitsFirst::new(&handler, &store);
        pump(&store, &json, splits).drain().await.unwrap();
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
    let store = Store::new(1).await;
    write(&store, "before").await;
    let asked = Arc::new(Notify::new());
    let stop = CancellationToken::new();
    let pump = pump(&store, &cosmos_function(), Holds(asked.clone()));
    let running = tokio::spawn({
        let stop = stop.clone();
        async move { pump.run(stop).await }
    });
    asked.notified().await;
    store.endpoint.split("test", "posts").await;
    // The trigger looks for splits every second.
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    stop.cancel();
    tokio::time::timeout(Duration::from_secs(10), running).await.unwrap().unwrap();
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
    assert_eq!(leased(&store).await, ["1", "2"]);
}
