//! The pump of a `cosmosDBTrigger`.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use futures::future;
use serde_json::{Value, json};
use tributary_local::chaos::{Chaos, ChaosKind};
use tributary_local::cosmos::{EndpointOptions, Fault, RequestKind};
use tributary_local::host::{FeedOptions, FeedPump, InvocationResult, Invoker};

use crate::support::{
    Handler, Received, RunningPump, Store, cosmos_function, feed_options, function, until,
    until_printed,
};

async fn one_change() -> (Store, Handler) {
    let store = Store::new(1).await;
    store.put("p1", json!({})).await;
    (store, Handler::default())
}

#[tokio::test]
async fn a_batch_has_at_most_max_items_per_invocation() {
    let store = Store::new(1).await;
    store.fill("p", 10).await;
    let mut json = cosmos_function();
    json["bindings"][0]["maxItemsPerInvocation"] = "%MaxItems%".into();
    let handler = Handler::default();
    store.pump(&function(&json), &handler, feed_options()).drain().await.unwrap();

    let sizes: Vec<_> = handler.received().iter().map(|received| received.ids().len()).collect();
    assert_eq!(sizes, [4, 4, 2]);
}

#[tokio::test]
async fn only_a_successful_batch_is_checkpointed() {
    let (store, handler) = one_change().await;
    handler.fails(5);
    let function = function(&cosmos_function());
    let error = store.pump(&function, &handler, feed_options()).drain().await.unwrap_err();

    assert!(error.to_string().contains("failed 5 times"), "{error}");
    let received = handler.received();
    assert!(received.iter().all(|retry| retry.id == received[0].id), "{received:?}");
    assert_eq!(store.leases().await["0"]["ContinuationToken"], Value::Null);
    // Another host starts where this one stopped.
    assert_eq!(store.pump(&function, &handler, feed_options()).drain().await.unwrap(), 1);
}

#[tokio::test]
async fn without_a_retry_policy_a_failed_batch_is_lost_with_an_error() {
    let (store, handler) = one_change().await;
    let mut json = cosmos_function();
    json.as_object_mut().unwrap().remove("retry");
    handler.fails(1);
    let options = feed_options();
    let pump = store.pump(&function(&json), &handler, options.clone());

    assert_eq!(pump.drain().await.unwrap(), 0);
    assert_eq!(pump.drain().await.unwrap(), 0);
    assert_eq!(handler.received().len(), 1);
    assert_eq!(handler.received()[0].body["Metadata"].get("RetryContext"), None);
    until_printed(&options.console, "LOST: 1 changes for Copies").await;
}

#[tokio::test]
async fn a_trigger_that_starts_now_skips_older_changes() {
    let store = Store::new(1).await;
    store.put("before", json!({})).await;
    let mut json = cosmos_function();
    json["bindings"][0]["startFromBeginning"] = false.into();
    let function = function(&json);
    let handler = Handler::default();
    assert_eq!(store.pump(&function, &handler, feed_options()).drain().await.unwrap(), 0);
    store.put("after", json!({})).await;
    // A new pump: the position was kept although there was no delivery.
    store.pump(&function, &handler, feed_options()).drain().await.unwrap();
    assert_eq!(handler.ids(), ["after"]);
}

#[tokio::test]
async fn a_missing_lease_container_is_named() {
    let store = Store::new(1).await;
    let mut json = cosmos_function();
    json["bindings"][0]["leaseContainerName"] = "elsewhere".into();
    let pump = store.pump(&function(&json), &Handler::default(), feed_options());
    let error = pump.drain().await.unwrap_err();
    assert!(error.to_string().contains("elsewhere"), "{error}");

    json["bindings"][0]["createLeaseContainerIfNotExists"] = true.into();
    store.pump(&function(&json), &Handler::default(), feed_options()).drain().await.unwrap();
}

#[tokio::test]
async fn a_lost_answer_to_a_checkpoint_is_not_taken_for_a_lost_lease() {
    let store = Store::new(1).await;
    let handler = Handler::default();
    let pump = store.pump(&function(&cosmos_function()), &handler, feed_options());
    for (number, kind) in [RequestKind::Create, RequestKind::Replace].into_iter().enumerate() {
        // The lease is created with the first document, and then replaced.
        store.put(&format!("p{number}"), json!({})).await;
        store.endpoint.inject(Fault::AnswerLost, kind, "leases", 1);
        assert_eq!(pump.drain().await.unwrap(), 1, "{kind:?}");
    }
    assert_eq!(pump.drain().await.unwrap(), 0);
    assert_eq!(handler.ids(), ["p0", "p1"]);
}

#[tokio::test]
async fn the_host_that_starts_last_takes_the_leases() {
    let (store, handler) = one_change().await;
    let function = function(&cosmos_function());
    let first_options = feed_options();
    let first = store.pump(&function, &handler, first_options.clone());
    let running = RunningPump::start(first);
    until("the first delivers", async || !handler.received().is_empty()).await;
    store.pump(&function, &handler, feed_options()).drain().await.unwrap();
    store.put("p2", json!({})).await;
    until_printed(&first_options.console, "taken by another host").await;
    running.end().await;
}

#[tokio::test]
async fn each_partition_delivers_its_changes_once_and_a_page_that_cannot_be_read_stops_its_own_only()
 {
    let store = Store::new(4).await;
    store.fill("p", 20).await;
    let handler = Handler::default();
    let pump = store.pump(&function(&cosmos_function()), &handler, feed_options());
    assert_eq!(pump.drain().await.unwrap(), 20);
    assert_eq!(BTreeSet::from_iter(handler.ids()).len(), 20);
    assert_eq!((handler.received().len(), store.leases().await.len()), (4, 4));
    for number in 0..20 {
        store.put(&format!("p{number}"), json!({ "again": true })).await;
    }
    store.put("bad", json!({ "title": "/Date(500000000000000)/" })).await;

    for _ in 0..2 {
        let error = pump.drain().await.unwrap_err().to_string();
        assert!(error.contains("encountered an unhandled user exception"), "{error}");
        assert!(error.starts_with("Copies: Lease copies-"), "{error}");
    }
    let ids: BTreeSet<_> = handler.received()[4..].iter().flat_map(Received::ids).collect();
    assert!(!ids.is_empty() && ids.len() < 20, "{ids:?}");
    assert!(!ids.contains("bad"));

    // Without the text, the partition continues from its position.
    store.put("bad", json!({ "title": "good" })).await;
    assert_eq!(ids.len() + pump.drain().await.unwrap(), 21);
    assert_eq!(pump.drain().await.unwrap(), 0);
}

/// A handler that blocks its thread, as a write to the store in this process does.
#[derive(Clone, Default)]
struct Busy {
    begun: Arc<AtomicUsize>,
    ended: Arc<AtomicUsize>,
}

#[async_trait]
impl Invoker for Busy {
    async fn invoke(&self, _: &str, _: &str, _: Bytes) -> InvocationResult {
        self.begun.fetch_add(1, SeqCst);
        std::thread::sleep(Duration::from_millis(200));
        self.ended.fetch_add(1, SeqCst);
        future::pending().await
    }
}

// An aborted task continues in its thread until it waits: a worker that wrote its checkpoint then took
// the lease from the next pump.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_stopped_pump_has_no_work_under_way_also_after_a_split_that_its_handler_does_not_answer()
{
    let store = Store::new(1).await;
    store.fill("before", 20).await;
    let busy = Busy::default();
    let pump = store.pump(&function(&cosmos_function()), &busy, feed_options());
    let running = RunningPump::start(pump);
    until("an invocation begins", async || busy.begun.load(SeqCst) > 0).await;
    store.endpoint.split("test", "posts").await.unwrap();
    // The trigger looks for splits every second.
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    running.end().await;
    assert_eq!(busy.ended.load(SeqCst), busy.begun.load(SeqCst));
}

#[tokio::test]
async fn a_lease_is_acquired_while_its_owner_writes_it() {
    let (store, handler) = one_change().await;
    let function = function(&cosmos_function());
    store.pump(&function, &handler, feed_options()).drain().await.unwrap();
    store.put("p2", json!({})).await;
    // The lease is read in its old state, and its owner has written it since.
    let behind = store.endpoint.freeze_replica("leases");
    let mut lease = store.leases().await["0"].clone();
    lease["timestamp"] = "later".into();
    store.put_lease(&lease).await;

    let other = store.endpoint.client().await.unwrap();
    let invoker = Arc::new(handler.clone());
    let pump = FeedPump::new(other, &function, invoker, feed_options()).unwrap();
    assert_eq!(pump.drain().await.unwrap(), 1);
    drop(behind);
    assert_eq!(handler.ids(), ["p1", "p2"]);
}

async fn write(store: &Store, id: &str) {
    let document = json!({"id": id, "postId": id});
    while store.posts.upsert_item(id.to_owned(), id, &document, None).await.is_err() {}
}

#[tokio::test]
async fn chaos_loses_no_change() {
    let text = "duplicates=0.5,reorder=0.1,overlap=0.5,throttle=0.05,lost-answer=0.1,split=1";
    let chaos = Chaos::new(text.parse().unwrap(), 7);
    let options = EndpointOptions { chaos: Some(chaos.clone()), ..EndpointOptions::default() };
    let store = Store::with_options(options).await;
    let handler = Handler::default();
    let options = FeedOptions { chaos: Some(chaos.clone()), ..feed_options() };
    let pump = store.pump(&function(&cosmos_function()), &handler, options);
    let running = RunningPump::start(pump);
    // This handler is too quick to be killed in the middle of a batch, and has no HTTP function. No
    // read is stale here.
    let kinds = |(kind, _): &(ChaosKind, u64)| {
        !matches!(kind, ChaosKind::Crash | ChaosKind::Repeat | ChaosKind::Stale)
    };
    let everything = || chaos.injected().into_iter().filter(kinds).all(|(_, times)| times > 0);
    let mut written = BTreeSet::new();
    let mut after_all = 0;
    while after_all < 100 && written.len() < 2_000 {
        after_all += usize::from(everything());
        let id = format!("p{}", written.len());
        write(&store, &id).await;
        written.insert(id);
    }
    chaos.stop();
    running.end().await;

    store.pump(&function(&cosmos_function()), &handler, feed_options()).drain().await.unwrap();
    let delivered = BTreeSet::from_iter(handler.ids());
    let lost: Vec<_> = written.difference(&delivered).collect();
    assert!(lost.is_empty(), "{} of {} are lost: {lost:?}", lost.len(), written.len());
    assert!(everything(), "{}", chaos.summary());
}
