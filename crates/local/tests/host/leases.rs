//! Leases in the form of the real trigger, and their owners.

use std::time::Duration;

use azure_data_cosmos::feed::FeedRange;
use azure_data_cosmos::options::ChangeFeedStartFrom;
use azure_data_cosmos::{FeedScope, Query};
use cosmos_model::change_feed::{EpkRange, sdk_continuation};
use futures::{StreamExt as _, TryStreamExt as _};
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;
use tributary_local::host::FeedOptions;

use crate::support::{Handler, Reply, Store, cosmos_function, eventually, feed_options, function};

/// A lease as version 3.64 of the .NET SDK has written it.
fn recorded() -> Map<String, Value> {
    let recorded: Vec<Value> =
        serde_json::from_str(include_str!("../recorded/dotnet.json")).unwrap();
    let created = recorded.iter().find(|one| one["name"] == "processor-lease-create").unwrap();
    serde_json::from_str(created["body"].as_str().unwrap()).unwrap()
}

async fn items(store: &Store) -> Vec<Value> {
    let query = Query::from("SELECT * FROM c");
    let pages = store.leases.query_items(query, FeedScope::full_container(), None).await.unwrap();
    pages.try_collect().await.unwrap()
}

async fn lease(store: &Store) -> Value {
    items(store).await.into_iter().find(|item| item["LeaseToken"] == "0").unwrap()
}

async fn release(store: &Store) {
    let mut lease = lease(store).await;
    lease["Owner"] = Value::Null;
    let id = lease["id"].as_str().unwrap().to_owned();
    store.leases.upsert_item(id.clone(), &id, &lease, None).await.unwrap();
}

#[tokio::test]
async fn a_lease_is_stored_as_the_real_trigger_stores_it() {
    let store = Store::new(1).await;
    store.put("p1", json!({})).await;
    let handler = Handler::default();
    store.pump(&function(&cosmos_function()), &handler, feed_options()).drain().await.unwrap();

    let lsn = &handler.received()[0].documents()[0]["_lsn"];
    let lease = lease(&store).await;
    let properties = store.posts.read(None).await.unwrap().into_model().unwrap();
    let rid = properties.system_properties.resource_id.unwrap();
    let host = store.client.endpoint().host_str().unwrap();
    let prefix = format!("copies-{host}_");
    let id = lease["id"].as_str().unwrap();
    assert!(id.starts_with(&prefix) && id.ends_with(&format!("=_{rid}..0")), "{id}");
    assert_eq!(lease["ContinuationToken"], format!("\"{lsn}\""));
    assert_eq!(lease["FeedRange"], json!({ "Range": { "min": "", "max": "FF" } }));
    for field in recorded().keys() {
        assert!(lease.get(field).is_some(), "{field} is missing in {lease}");
    }
    for field in lease.as_object().unwrap().keys() {
        let is_system = field.starts_with('_');
        assert!(is_system || recorded().contains_key(field), "{field} is too much in {lease}");
    }
    let info = format!("{}.info", id.split_once("..").unwrap().0);
    assert!(items(&store).await.iter().any(|item| item["id"] == info.as_str()), "no {info}");
}

/// Fails when another version of the SDK has tokens of another form.
#[tokio::test]
async fn a_position_is_the_token_that_the_sdk_makes_itself() {
    let store = Store::new(1).await;
    for id in ["p1", "p2", "p3"] {
        store.put(id, json!({})).await;
    }
    let scope = || FeedScope::range(FeedRange::full());
    let start = ChangeFeedStartFrom::Beginning;
    let mut pages = store.posts.query_change_feed::<Value>(scope(), start, None).await.unwrap();
    let page = pages.next().await.unwrap().unwrap();
    let properties = store.posts.read(None).await.unwrap().into_model().unwrap();
    let rid = properties.system_properties.resource_id.unwrap();
    let range = EpkRange { min: String::new(), max: "FF".into() };
    let etag = page.headers().etag().unwrap().to_string();
    let decoded = |token: &str| -> Value {
        let text = azure_core::base64::decode_url_safe(token.strip_prefix("c1.").unwrap());
        serde_json::from_slice(&text.unwrap()).unwrap()
    };
    let own = pages.to_continuation_token().unwrap();
    let made = sdk_continuation(&rid, &range, &etag);
    assert_eq!(decoded(&made), decoded(own.as_str()));
}

/// A trigger that runs, and its function, whose leases are renewed often.
struct Running {
    store: Store,
    handler: Handler,
    options: FeedOptions,
    stop: CancellationToken,
    task: tokio::task::JoinHandle<()>,
}

impl Running {
    async fn new(replies: &[Reply]) -> Self {
        let store = Store::new(1).await;
        store.put("p1", json!({})).await;
        let handler = Handler::default();
        handler.then(replies);
        let mut json = cosmos_function();
        json["bindings"][0]["leaseRenewInterval"] = 20.into();
        let options = FeedOptions {
            poll_delay: Some(Duration::from_millis(5)),
            retry_scale: 0.005,
            ..feed_options()
        };
        let pump = store.pump(&function(&json), &handler, options.clone());
        let stop = CancellationToken::new();
        let task = tokio::spawn({
            let stop = stop.clone();
            async move { pump.run(stop).await }
        });
        Self { store, handler, options, stop, task }
    }

    async fn is_renewed(&self, what: &str) {
        let before = lease(&self.store).await["timestamp"].clone();
        eventually(what, async || (lease(&self.store).await["timestamp"] != before).then_some(()))
            .await;
    }

    async fn end(self) {
        self.stop.cancel();
        self.task.await.unwrap();
    }
}

#[tokio::test]
async fn an_owner_renews_its_lease_with_and_without_changes() {
    let running = Running::new(&[Reply::InvocationFailure; 1_000]).await;
    eventually("a batch", async || (running.handler.received().len() > 2).then_some(())).await;
    running.is_renewed("the owner renews while the batch fails").await;
    assert_eq!(lease(&running.store).await["ContinuationToken"], Value::Null);
    running.end().await;

    let running = Running::new(&[]).await;
    eventually("the batch is acknowledged", async || {
        let lease = items(&running.store).await.into_iter().find(|one| one["LeaseToken"] == "0");
        lease.filter(|lease| lease["ContinuationToken"] != Value::Null).map(drop)
    })
    .await;
    running.is_renewed("the owner renews while nothing changes").await;
    running.end().await;
}

#[tokio::test]
async fn a_lease_that_an_operator_takes_away_is_acquired_again() {
    let running = Running::new(&[]).await;
    let received = |running: &Running| running.handler.received().len();
    eventually("a batch", async || (received(&running) == 1).then_some(())).await;
    release(&running.store).await;
    eventually("the owner notices", async || {
        let lines = running.options.console.lines();
        lines.iter().any(|line| line.contains("was taken")).then_some(())
    })
    .await;
    running.store.put("p2", json!({})).await;
    eventually("the next batch", async || (received(&running) >= 2).then_some(())).await;
    assert_ne!(lease(&running.store).await["Owner"], Value::Null);
    running.end().await;
}
