//! The pump of a `cosmosDBTrigger`.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

use azure_data_cosmos::{FeedScope, Query};
use bytes::Bytes;
use futures::future::{self, BoxFuture};
use futures::{FutureExt as _, TryStreamExt as _};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use tributary_local::cosmos::{Fault, RequestKind};
use tributary_local::host::{FeedOptions, FeedPump, InvocationResult, Invoker, RouterInvoker};

use crate::support::{
    Handler, Received, Reply, Store, cosmos_function, eventually, feed_options, function,
};

fn all_ids(received: &[Received]) -> Vec<String> {
    received.iter().flat_map(Received::ids).collect()
}

async fn leases(store: &Store) -> Vec<Value> {
    let query = Query::from("SELECT * FROM c WHERE IS_DEFINED(c.LeaseToken)");
    let pages = store.leases.query_items(query, FeedScope::full_container(), None).await.unwrap();
    pages.try_collect().await.unwrap()
}

#[tokio::test]
async fn every_document_is_delivered_once_over_all_partitions() {
    let store = Store::new(4).await;
    for number in 0..40 {
        store.put(&format!("p{number}"), json!({})).await;
    }
    let handler = Handler::default();
    let pump = store.pump(&function(&cosmos_function()), &handler, feed_options());

    assert_eq!(pump.drain().await.unwrap(), 40);
    let ids = all_ids(&handler.received());
    assert_eq!(ids.len(), 40);
    assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), 40);
    assert_eq!(leases(&store).await.len(), 4);
    assert_eq!(pump.drain().await.unwrap(), 0);
}

#[tokio::test]
async fn a_batch_has_at_most_max_items_per_invocation() {
    let store = Store::new(1).await;
    for number in 0..10 {
        store.put(&format!("p{number}"), json!({})).await;
    }
    let mut json = cosmos_function();
    json["bindings"][0]["maxItemsPerInvocation"] = 4.into();
    let handler = Handler::default();
    store.pump(&function(&json), &handler, feed_options()).drain().await.unwrap();

    let sizes: Vec<_> = handler.received().iter().map(|one| one.ids().len()).collect();
    assert_eq!(sizes, [4, 4, 2]);
}

#[tokio::test]
async fn a_failed_batch_is_retried_with_the_same_id_and_a_retry_context() {
    let store = Store::new(1).await;
    store.put("p1", json!({})).await;
    let handler = Handler::default();
    handler.then(&[Reply::InvocationFailure, Reply::InvocationFailure]);
    let pump = store.pump(&function(&cosmos_function()), &handler, feed_options());

    assert_eq!(pump.drain().await.unwrap(), 1);
    let received = handler.received();
    assert_eq!(received.len(), 3);
    assert!(received.iter().all(|one| one.id == received[0].id));
    assert!(received.iter().all(|one| one.ids() == ["p1"]));
    let contexts: Vec<_> =
        received.iter().map(|one| &one.body["Metadata"]["RetryContext"]).collect();
    assert_eq!(contexts[0]["Exception"], Value::Null);
    assert_eq!(contexts[2]["RetryCount"], 2);
    let message = contexts[2]["Exception"]["InnerException"]["Message"].as_str().unwrap();
    assert!(message.contains("500"), "{message}");
}

#[tokio::test]
async fn only_a_successful_batch_is_checkpointed() {
    let store = Store::new(1).await;
    store.put("p1", json!({})).await;
    let handler = Handler::default();
    handler.then(&[Reply::InvocationFailure; 5]);
    let function = function(&cosmos_function());
    let error = store.pump(&function, &handler, feed_options()).drain().await.unwrap_err();

    assert!(error.to_string().contains("failed 5 times"), "{error}");
    assert_eq!(leases(&store).await[0]["ContinuationToken"], Value::Null);
    // Another host starts where this one stopped.
    assert_eq!(store.pump(&function, &handler, feed_options()).drain().await.unwrap(), 1);
}

#[tokio::test]
async fn without_a_retry_policy_a_failed_batch_is_lost_with_an_error() {
    let store = Store::new(1).await;
    store.put("p1", json!({})).await;
    let mut json = cosmos_function();
    json.as_object_mut().unwrap().remove("retry");
    let handler = Handler::default();
    handler.then(&[Reply::InvocationFailure]);
    let options = feed_options();
    let pump = store.pump(&function(&json), &handler, options.clone());

    assert_eq!(pump.drain().await.unwrap(), 0);
    assert_eq!(pump.drain().await.unwrap(), 0);
    assert_eq!(handler.received().len(), 1);
    assert_eq!(handler.received()[0].body["Metadata"].get("RetryContext"), None);
    assert!(options.console.lines().iter().any(|line| line.contains("LOST: 1 changes for Copies")));
}

#[tokio::test]
async fn an_empty_success_is_reported_as_the_hang_that_it_would_be() {
    let store = Store::new(1).await;
    store.put("p1", json!({})).await;
    let handler = Handler::default();
    handler.then(&[Reply::Empty]);
    let options = feed_options();
    store.pump(&function(&cosmos_function()), &handler, options.clone()).drain().await.unwrap();

    let lines = options.console.lines();
    assert!(
        lines.iter().any(|line| line.contains("would wait until functionTimeout")),
        "{lines:?}"
    );
    assert_eq!(handler.received().len(), 2);
}

#[tokio::test]
async fn a_new_host_continues_from_the_checkpoint_of_the_last_one() {
    let store = Store::new(2).await;
    for number in 0..10 {
        store.put(&format!("old{number}"), json!({})).await;
    }
    let function = function(&cosmos_function());
    let first = Handler::default();
    store.pump(&function, &first, feed_options()).drain().await.unwrap();
    store.put("new", json!({})).await;

    let second = Handler::default();
    assert_eq!(store.pump(&function, &second, feed_options()).drain().await.unwrap(), 1);
    assert_eq!(all_ids(&second.received()), ["new"]);
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
    assert_eq!(all_ids(&handler.received()), ["after"]);
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
async fn a_running_pump_delivers_later_writes_and_ends_when_told() {
    let store = Store::new(2).await;
    let handler = Handler::default();
    let options = FeedOptions { poll_delay: Some(Duration::from_millis(5)), ..feed_options() };
    let pump = store.pump(&function(&cosmos_function()), &handler, options);
    let stop = CancellationToken::new();
    let running = tokio::spawn({
        let stop = stop.clone();
        async move { pump.run(stop).await }
    });
    for number in 0..5 {
        store.put(&format!("p{number}"), json!({})).await;
    }
    eventually("all are delivered", async || {
        let ids: BTreeSet<_> = all_ids(&handler.received()).into_iter().collect();
        (ids.len() == 5).then_some(())
    })
    .await;
    assert!(handler.received().iter().all(|one| one.function == "Copies"));
    stop.cancel();
    tokio::time::timeout(Duration::from_secs(5), running).await.unwrap().unwrap();
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
    assert_eq!(all_ids(&handler.received()), ["p0", "p1"]);
}

#[tokio::test]
async fn the_host_that_starts_last_takes_the_leases() {
    let store = Store::new(1).await;
    store.put("p1", json!({})).await;
    let function = function(&cosmos_function());
    let handler = Handler::default();
    let first_options =
        FeedOptions { poll_delay: Some(Duration::from_millis(5)), ..feed_options() };
    let first = store.pump(&function, &handler, first_options.clone());
    let stop = CancellationToken::new();
    let running = tokio::spawn({
        let stop = stop.clone();
        async move { first.run(stop).await }
    });
    eventually("the first delivers", async || (!handler.received().is_empty()).then_some(())).await;
    store.pump(&function, &handler, feed_options()).drain().await.unwrap();
    store.put("p2", json!({})).await;
    eventually("the first notices", async || {
        let lines = first_options.console.lines();
        lines.iter().any(|line| line.contains("taken by another host")).then_some(())
    })
    .await;
    stop.cancel();
    running.await.unwrap();
}

/// Returns a value that is nested too deep for any setting.
fn deep() -> Value {
    (0..63).fold(json!("deep"), |inside, _| json!([inside]))
}

#[tokio::test]
async fn a_page_that_the_trigger_cannot_read_stops_its_partition_only() {
    for bad in [json!("/Date(500000000000000)/"), deep()] {
        let store = Store::new(4).await;
        for number in 0..20 {
            store.put(&format!("p{number}"), json!({})).await;
        }
        let handler = Handler::default();
        let pump = store.pump(&function(&cosmos_function()), &handler, feed_options());
        assert_eq!(pump.drain().await.unwrap(), 20);
        for number in 0..20 {
            store.put(&format!("p{number}"), json!({ "again": true })).await;
        }
        store.put("bad", json!({ "title": bad })).await;

        for _ in 0..2 {
            let error = pump.drain().await.unwrap_err().to_string();
            assert!(error.contains("encountered an unhandled user exception"), "{error}");
            assert!(error.starts_with("Copies: Lease copies-"), "{error}");
        }
        let ids: BTreeSet<_> = all_ids(&handler.received()[4..]).into_iter().collect();
        assert!(!ids.is_empty() && ids.len() < 20, "{ids:?}");
        assert!(!ids.contains("bad"));

        // Without the text, the partition continues from its position.
        store.put("bad", json!({ "title": "good" })).await;
        let left = pump.drain().await.unwrap();
        assert_eq!(ids.len() + left, 21);
    }
}

/// A handler that blocks its thread, as a write to the store in this process does.
#[derive(Default)]
struct Busy {
    begun: AtomicUsize,
    ended: AtomicUsize,
}

impl Invoker for Busy {
    fn invoke<'a>(&'a self, _: &'a str, _: &'a str, _: Bytes) -> BoxFuture<'a, InvocationResult> {
        self.begun.fetch_add(1, SeqCst);
        std::thread::sleep(Duration::from_millis(200));
        self.ended.fetch_add(1, SeqCst);
        future::pending().boxed()
    }
}

// An aborted task continues in its thread until it waits: a worker that wrote its checkpoint then took
// the lease from the next pump.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_stopped_pump_has_no_work_under_way() {
    let store = Store::new(1).await;
    store.put("p1", json!({})).await;
    let busy = Arc::new(Busy::default());
    let function = function(&cosmos_function());
    let pump =
        FeedPump::new(store.client.clone(), &function, busy.clone(), feed_options()).unwrap();
    let stop = CancellationToken::new();
    let running = tokio::spawn({
        let stop = stop.clone();
        async move { pump.run(stop).await }
    });
    eventually("an invocation begins", async || (busy.begun.load(SeqCst) > 0).then_some(())).await;
    stop.cancel();
    running.await.unwrap();
    assert_eq!(busy.ended.load(SeqCst), busy.begun.load(SeqCst));
}

#[tokio::test]
async fn a_lease_is_acquired_while_its_owner_writes_it() {
    let store = Store::new(1).await;
    store.put("p1", json!({})).await;
    let handler = Handler::default();
    let function = function(&cosmos_function());
    store.pump(&function, &handler, feed_options()).drain().await.unwrap();
    store.put("p2", json!({})).await;
    // The lease is read in its old state, and its owner has written it since.
    let behind = store.endpoint.freeze_replica("leases");
    let mut lease = leases(&store).await.remove(0);
    lease["timestamp"] = "later".into();
    let id = lease["id"].as_str().unwrap().to_owned();
    store.leases.upsert_item(id.clone(), &id, &lease, None).await.unwrap();

    let other = store.endpoint.client().await.unwrap();
    let invoker = Arc::new(RouterInvoker(handler.router()));
    let pump = FeedPump::new(other, &function, invoker, feed_options()).unwrap();
    assert_eq!(pump.drain().await.unwrap(), 1);
    drop(behind);
    assert_eq!(all_ids(&handler.received()), ["p1", "p2"]);
}
