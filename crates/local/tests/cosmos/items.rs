use std::time::{Duration, SystemTime};

use azure_data_cosmos::{FeedScope, TransactionalBatch};
use serde_json::{Value, json};
use tributary_local::cosmos::RequestKind::{self, Batch, Delete, Query, Read};
use tributary_local::cosmos::{EndpointOptions, StoreAnswer};

use crate::world::{World, comment, found, options, status};

#[tokio::test]
async fn an_item_is_read_as_it_was_created() {
    let (_world, posts) = World::with_posts(options()).await;
    let item = json!({
        "id": "p1", "postId": "p1", "title": "Grüße ✓", "likes": 3, "ratio": 0.25,
        "tags": ["a", "b"], "none": null,
    });
    posts.create_item("p1", "p1", item.clone(), None).await.unwrap();

    let read = posts.read_item("p1", "p1", None).await.unwrap();
    let charge = read.headers().request_charge().copied();
    let read: Value = read.into_model().unwrap();

    for (key, value) in item.as_object().unwrap() {
        assert_eq!(read[key], *value, "{key}");
    }
    assert!(read["_ts"].is_u64() && read["_etag"].is_string());
    assert!(charge.is_some());
    assert_eq!(status(posts.create_item("p1", "p1", item, None).await), 409);
    assert_eq!(status(posts.read_item("p1", "p2", None).await), 404);
}

#[tokio::test]
async fn an_id_may_have_characters_that_urls_do_not() {
    let (_world, posts) = World::with_posts(options()).await;
    for id in ["a b", "ä✓", "a+b%25", "a&b=c", "a:b@c"] {
        let item = json!({ "id": id, "postId": id });
        posts.create_item(id, id, item, None).await.unwrap();
        let read: Value = posts.read_item(id, id, None).await.unwrap().into_model().unwrap();
        assert_eq!(read["id"], id);
    }
}

#[tokio::test]
async fn each_data_request_counts_once_and_metadata_does_not() {
    let (world, posts) = World::with_posts(options()).await;
    assert_eq!(world.endpoint.request_count(), 0);

    posts.create_item("p1", "c1", comment("c1"), None).await.unwrap();
    let n_before = world.endpoint.request_count();
    posts.read_item("p1", "c1", None).await.unwrap();
    assert_eq!(status(posts.read_item("p1", "none", None).await), 404);
    let _: Vec<Value> = found(&posts, "SELECT * FROM c", FeedScope::partition("p1")).await;
    let batch = TransactionalBatch::new("p1").upsert_item(comment("c2"), None).unwrap();
    posts.execute_transactional_batch(batch, None).await.unwrap();
    posts.delete_item("p1", "c2", None).await.unwrap();

    let requests = world.endpoint.requests_since(n_before);
    let kinds: Vec<RequestKind> = requests.iter().map(|request| request.kind).collect();
    assert_eq!(kinds, [Read, Read, Query, Batch, Delete]);
    assert_eq!(requests[4].method, "DELETE");
    assert!(
        requests.iter().all(|request| request.container == "posts" && request.names_partition_key)
    );
    assert_eq!(world.endpoint.request_count(), n_before + 5);
    assert_eq!(world.endpoint.requests().len(), n_before + 5);

    // Requests that are taken leave the list, and still count.
    assert_eq!(world.endpoint.take_requests().len(), n_before + 5);
    assert!(world.endpoint.requests().is_empty());
    posts.read_item("p1", "c1", None).await.unwrap();
    let since = world.endpoint.requests_since(n_before + 5);
    assert_eq!(since.len(), 1);
    assert!(since[0].kind == Read && since[0].answer.is_some());
}

/// Runs a query for a whole scope, and returns the answers of the store, request by request.
async fn query(world: &World, text: &str, scope: FeedScope) -> Vec<StoreAnswer> {
    let n_before = world.endpoint.request_count();
    let _: Vec<Value> = found(&world.container("posts").await, text, scope).await;
    let requests = world.endpoint.requests_since(n_before);
    requests.into_iter().map(|request| request.answer.unwrap()).collect()
}

#[tokio::test]
async fn a_kept_request_has_the_work_of_the_store() {
    let options = EndpointOptions { partitions: 3, ..options() };
    let (world, posts) = World::with_posts(options).await;
    for id in ["c1", "c2", "c3"] {
        posts.create_item("p1", id, comment(id), None).await.unwrap();
    }
    posts.read_item("p1", "c1", None).await.unwrap();
    assert_eq!(status(posts.read_item("p1", "none", None).await), 404);
    let requests = world.endpoint.requests();
    assert!(requests.iter().all(|request| request.partition_key.as_deref() == Some(r#"["p1"]"#)));
    assert!(requests[0].bytes > 20 && requests[3].bytes == 0);
    let answers: Vec<StoreAnswer> =
        requests.into_iter().map(|request| request.answer.unwrap()).collect();
    let [created, .., read, missing] = answers.as_slice() else { panic!("{answers:?}") };
    assert_eq!((created.status, read.status, missing.status), (201, 200, 404));
    assert_eq!((created.items_loaded, created.items_returned), (0, 0));
    assert_eq!((read.items_loaded, read.items_returned), (1, 1));
    assert_eq!((missing.items_loaded, missing.items_returned), (0, 0));
    assert!(created.request_units > 5.0 && read.request_units < 1.1);
    assert!(read.bytes > 100 && created.physical_partition.is_some());

    let one = query(&world, "SELECT VALUE COUNT(c.id) FROM c", FeedScope::partition("p1")).await;
    assert_eq!((one[0].items_loaded, one[0].items_returned), (3, 1));
    assert_eq!(one[0].physical_partition, created.physical_partition);

    let all = query(&world, "SELECT * FROM c", FeedScope::full_container()).await;
    let mut partitions: Vec<_> = all.iter().map(|request| &request.physical_partition).collect();
    partitions.sort_unstable();
    partitions.dedup();
    assert_eq!(partitions.len(), 3, "{all:?}");
    assert_eq!(all.iter().map(|request| request.items_returned).sum::<u32>(), 3);
}

#[tokio::test]
async fn an_item_lives_as_long_as_its_ttl() {
    let (world, posts) = World::with_posts(options()).await;
    for (id, ttl) in [("short", 10), ("for-ever", -1)] {
        let item = json!({ "id": id, "postId": "p1", "ttl": ttl });
        posts.create_item("p1", id, item, None).await.unwrap();
    }
    // `_ts` has whole seconds.
    for (seconds, expired) in [(8, 0), (12, 1), (100, 0)] {
        let later = SystemTime::now() + Duration::from_secs(seconds);
        assert_eq!(world.endpoint.expire_items(later).await, expired);
    }
    assert_eq!(status(posts.read_item("p1", "short", None).await), 404);
    posts.read_item("p1", "for-ever", None).await.unwrap();
}
