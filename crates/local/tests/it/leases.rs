//! Leases in the form of the real trigger, their owners, and physical partitions that split while a trigger reads
//! them.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use bytes::Bytes;
use serde_json::{Map, Value, json};
use tributary_local::cosmos::RequestKind;
use tributary_local::host::{FeedOptions, InvocationResult, Invoker};

use crate::support::{
    Handler, RunningPump, Store, cosmos_function, feed_options, function, until, until_printed,
};

/// A lease as version 3.64 of the .NET SDK has written it.
fn recorded() -> Map<String, Value> {
    let recorded: Vec<Value> =
        serde_json::from_str(include_str!("../../../cosmos-store/tests/dotnet/exchanges.json"))
            .unwrap();
    let created = recorded.iter().find(|lease| lease["name"] == "processor-lease-create").unwrap();
    serde_json::from_str(created["body"].as_str().unwrap()).unwrap()
}

#[tokio::test]
async fn a_lease_is_stored_as_the_real_trigger_stores_it() {
    let store = Store::new(1).await;
    // Another program has written what only the store says.
    store.put("p1", json!({"_lsn": 163, "_ts": 5})).await;
    let handler = Handler::default();
    store.pump(&function(&cosmos_function()), &handler, feed_options()).drain().await.unwrap();

    assert!(handler.received()[0].documents()[0]["_ts"].as_u64() > Some(5));
    let lsn = &handler.received()[0].documents()[0]["_lsn"];
    let lease = &store.leases().await["0"];
    let properties = store.posts.read(None).await.unwrap().into_model().unwrap();
    let rid = properties.system_properties.resource_id.unwrap();
    let host = store.client.endpoint().host_str().unwrap();
    let prefix = format!("copies-{host}_");
    let id = lease["id"].as_str().unwrap();
    assert!(id.starts_with(&prefix) && id.ends_with(&format!("=_{rid}..0")), "{id}");
    assert_eq!(lease["ContinuationToken"], format!("\"{lsn}\""));
    assert_eq!(lease["FeedRange"], json!({ "Range": { "min": "", "max": "FF" } }));
    let own = |field: &&String| !field.starts_with('_');
    let fields = lease.as_object().unwrap().keys().filter(own);
    assert!(fields.eq(recorded().keys().filter(own)), "{lease}");
    let info = format!("{}.info", id.split_once("..").unwrap().0);
    assert!(store.lease_items().await.iter().any(|item| item["id"] == info.as_str()), "no {info}");
}

/// A trigger that runs, and its function, whose leases are renewed often.
struct Running {
    store: Store,
    handler: Handler,
    options: FeedOptions,
    pump: RunningPump,
}

impl Running {
    async fn new(n_failures: usize) -> Self {
        let store = Store::new(1).await;
        store.put("p1", json!({})).await;
        let handler = Handler::default();
        handler.fails(n_failures);
        let mut json = cosmos_function();
        json["bindings"][0]["leaseRenewInterval"] = 20.into();
        let options = FeedOptions { retry_scale: 0.005, ..feed_options() };
        let pump = store.pump(&function(&json), &handler, options.clone());
        Self { store, handler, options, pump: RunningPump::start(pump) }
    }

    async fn is_renewed(&self, what: &str) {
        let timestamp = async || self.store.leases().await["0"]["timestamp"].clone();
        let before = timestamp().await;
        until(what, async || timestamp().await != before).await;
    }
}

#[tokio::test]
async fn an_owner_renews_its_lease_with_and_without_changes() {
    let running = Running::new(1_000).await;
    until("a batch", async || running.handler.received().len() > 2).await;
    running.is_renewed("the owner renews while the batch fails").await;
    assert_eq!(running.store.leases().await["0"]["ContinuationToken"], Value::Null);

    running.handler.fails(0);
    until("the batch is acknowledged", async || {
        let leases = running.store.leases().await;
        leases.get("0").is_some_and(|lease| lease["ContinuationToken"] != Value::Null)
    })
    .await;
    running.is_renewed("the owner renews while nothing changes").await;
    running.pump.end().await;
}

#[tokio::test]
async fn a_lease_that_an_operator_takes_away_is_acquired_again() {
    let running = Running::new(0).await;
    let received = |running: &Running| running.handler.received().len();
    until("a batch", async || received(&running) == 1).await;
    let mut lease = running.store.leases().await["0"].clone();
    lease["Owner"] = Value::Null;
    running.store.put_lease(&lease).await;
    until_printed(&running.options.console, "was taken").await;
    running.store.put("p2", json!({})).await;
    until("the next batch", async || received(&running) >= 2).await;
    assert_ne!(running.store.leases().await["0"]["Owner"], Value::Null);
    running.pump.end().await;
}

fn n_delivered(handler: &Handler) -> usize {
    BTreeSet::from_iter(handler.ids()).len()
}

#[tokio::test]
async fn children_continue_from_the_position_of_their_parent() {
    let store = Store::new(1).await;
    let handler = Handler::default();
    let pump = || store.pump(&function(&cosmos_function()), &handler, feed_options());
    store.fill("before", 20).await;
    assert_eq!(pump().drain().await.unwrap(), 20);
    store.fill("between", 20).await;
    store.endpoint.split("test", "posts").await.unwrap();
    store.fill("after", 20).await;

    pump().drain().await.unwrap();
    assert_eq!(n_delivered(&handler), 60, "every change is delivered");
    assert!(store.leases().await.keys().eq(["1", "2"]), "one for each child, none for the parent");
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
    /// Delivers all changes of a store to it, at most four at a time.
    async fn drain(store: Store) -> Self {
        let (handler, store, later_leases) = (Handler::default(), Arc::new(store), Arc::default());
        let splits = Self { handler, store: store.clone(), later_leases };
        let mut json = cosmos_function();
        json["bindings"][0]["maxItemsPerInvocation"] = 4.into();
        store.pump(&function(&json), &splits, feed_options()).drain().await.unwrap();
        splits
    }
}

#[async_trait]
impl Invoker for SplitsFirst {
    async fn invoke(&self, function: &str, id: &str, body: Bytes) -> InvocationResult {
        if self.handler.received().is_empty() {
            self.store.endpoint.split("test", "posts").await.unwrap();
        } else {
            let leases = self.store.leases().await.len();
            self.later_leases.lock().unwrap().push(leases);
        }
        self.handler.invoke(function, id, body).await
    }
}

#[tokio::test]
async fn a_page_read_across_a_split_is_left_to_the_children() {
    let store = Store::new(1).await;
    store.fill("before", 20).await;
    let splits = SplitsFirst::drain(store).await;
    let later_leases = splits.later_leases.lock().unwrap().clone();
    assert!(later_leases.iter().all(|leases| *leases == 2), "by the children: {later_leases:?}");
    assert_eq!(n_delivered(&splits.handler), 20, "every change is delivered");
    let leases = splits.store.leases().await;
    assert!(leases.keys().eq(["1", "2"]), "one for each child, none for the parent");
}

#[tokio::test]
async fn a_change_of_only_one_child_is_delivered_in_the_same_drain() {
    for key in ["a", "b", "c", "d", "e", "f"] {
        let store = Store::new(1).await;
        for number in 0..10 {
            let id = format!("post{number}");
            let post = json!({ "id": id, "postId": key });
            store.posts.upsert_item(key, &id, &post, None).await.unwrap();
        }
        let splits = SplitsFirst::drain(store).await;
        assert_eq!(n_delivered(&splits.handler), 10, "every change of {key} is delivered");
    }
}

#[tokio::test]
async fn a_partition_that_splits_while_its_lease_is_made_leaves_one_lease_for_each_child() {
    let store = Store::new(1).await;
    store.fill("p", 20).await;
    // The trigger asks the partition for its id, and one of the children answers.
    let mut asks = store.endpoint.hold(RequestKind::ChangeFeed, "posts");
    let handler = Handler::default();
    let pump = store.pump(&function(&cosmos_function()), &handler, feed_options());
    let split = async {
        asks.arrived().await;
        store.endpoint.split("test", "posts").await.unwrap();
        asks.release();
    };
    let (drained, ()) = tokio::join!(pump.drain(), split);

    assert_eq!(drained.unwrap(), 20, "every change is delivered");
    assert!(store.leases().await.keys().eq(["1", "2"]));
}
