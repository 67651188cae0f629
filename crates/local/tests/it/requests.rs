//! The log of the store's requests, and what they cost.

use azure_data_cosmos::options::{MaxItemCountHint, QueryOptions};
use azure_data_cosmos::{FeedScope, Query, TransactionalBatch};
use futures::TryStreamExt as _;
use serde_json::{Value, json};
use tributary_local::cosmos::RequestKind::{self, Batch, Create, Delete, Read};
use tributary_local::cosmos::{EndpointOptions, StoreAnswer};

use crate::support::{Store, found, status};

async fn store(partitions: u32) -> Store {
    let options = EndpointOptions { partitions, keep_requests: true, ..EndpointOptions::default() };
    Store::with_options(options).await
}

/// Runs a query for a whole scope, and returns the answers of the store, request by request.
async fn query(store: &Store, text: &str, scope: FeedScope) -> Vec<StoreAnswer> {
    let n_before = store.endpoint.request_count();
    let _: Vec<Value> = found(&store.posts, text, scope).await;
    let requests = store.endpoint.requests_since(n_before);
    requests.into_iter().map(|request| request.answer.unwrap()).collect()
}

#[tokio::test]
async fn each_data_request_is_kept_once_with_the_work_of_the_store_and_metadata_is_not() {
    let store = store(3).await;
    assert_eq!(store.endpoint.request_count(), 0);
    let item = |id: &str| json!({ "id": id, "postId": "p1" });
    for id in ["c1", "c2"] {
        store.posts.create_item("p1", id, item(id), None).await.unwrap();
    }
    store.posts.read_item("p1", "c1", None).await.unwrap();
    assert_eq!(status(store.posts.read_item("p1", "none", None).await), 404);
    let batch = TransactionalBatch::new("p1").upsert_item(item("c3"), None).unwrap();
    store.posts.execute_transactional_batch(batch, None).await.unwrap();
    store.posts.delete_item("p1", "c2", None).await.unwrap();

    let requests = store.endpoint.requests();
    let kinds: Vec<RequestKind> = requests.iter().map(|request| request.kind).collect();
    assert_eq!(kinds, [Create, Create, Read, Read, Batch, Delete]);
    assert!(requests.iter().all(|request| request.container == "posts"));
    assert!(requests.iter().all(|request| request.partition_key.as_deref() == Some(r#"["p1"]"#)));
    let answers: Vec<StoreAnswer> =
        requests.into_iter().map(|request| request.answer.unwrap()).collect();
    let [created, _, read, missing, ..] = answers.as_slice() else { panic!("{answers:?}") };
    assert_eq!((created.status, created.items_loaded, created.items_returned), (201, 0, 0));
    assert_eq!((read.status, read.items_loaded, read.items_returned), (200, 1, 1));
    assert_eq!((missing.status, missing.items_loaded, missing.items_returned), (404, 0, 0));
    assert!(created.request_units > 5.0 && read.request_units < 1.1);
    assert!((missing.request_units - 1.0).abs() < 0.01, "a refusal costs its point read");

    let one = query(&store, "SELECT VALUE COUNT(c.id) FROM c", FeedScope::partition("p1")).await;
    assert_eq!((one[0].items_loaded, one[0].items_returned), (2, 1));
    assert_eq!(one[0].physical_partition, created.physical_partition);
    let all = query(&store, "SELECT * FROM c", FeedScope::full_container()).await;
    let mut partitions: Vec<_> = all.iter().map(|request| &request.physical_partition).collect();
    partitions.sort_unstable();
    partitions.dedup();
    assert_eq!(partitions.len(), 3, "{all:?}");

    // Requests that are taken leave the list, and still count.
    let n_before = store.endpoint.request_count();
    assert_eq!(store.endpoint.take_requests().len(), n_before);
    assert!(store.endpoint.requests().is_empty());
    store.posts.read_item("p1", "c1", None).await.unwrap();
    let since = store.endpoint.requests_since(n_before);
    assert!(since.len() == 1 && since[0].kind == Read && since[0].answer.is_some());
}

// `tests/it/costs` has what each request of the app costs.
#[tokio::test]
async fn the_pages_of_a_query_cost_what_the_whole_does_and_a_key_in_the_filter_is_looked_up_once() {
    let store = store(1).await;
    for n in 0..10 {
        let item = json!({ "id": n.to_string(), "postId": "1", "n": n, "type": "post" });
        store.posts.create_item("1", &n.to_string(), item, None).await.unwrap();
    }
    let charge = async |text: &str, page: u32| -> f64 {
        let page = MaxItemCountHint::Limit(page.try_into().unwrap());
        let options = QueryOptions::default().with_max_item_count(page);
        let scope = FeedScope::partition("1");
        let feed = store.posts.query_items::<Value>(Query::from(text), scope, Some(options));
        let pages = feed.await.unwrap().into_pages();
        let charges = pages.map_ok(|page| page.headers().request_charge().unwrap().value());
        charges.try_collect::<Vec<f64>>().await.unwrap().into_iter().sum()
    };
    for text in ["SELECT * FROM c", "SELECT * FROM c ORDER BY c.n", "SELECT DISTINCT c.id FROM c"] {
        let [whole, paged] = [charge(text, 100).await, charge(text, 3).await];
        assert!((whole - paged).abs() < 0.1, "{text}: {whole} {paged}");
    }
    let mut charges = Vec::new();
    for filter in ["", "c.postId = '1' AND ", "c.id > '' AND "] {
        let text = format!("SELECT * FROM c WHERE {filter}c.type = 'post'");
        charges.push(charge(&text, 100).await);
    }
    assert!((charges[1] - charges[0]).abs() < 0.001, "{charges:?}");
    assert!((charges[2] - charges[0] - 0.2).abs() < 0.001, "{charges:?}");
}
