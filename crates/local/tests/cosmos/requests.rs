use azure_data_cosmos::{FeedScope, TransactionalBatch};
use futures::TryStreamExt;
use serde_json::Value;
use tributary_local::cosmos::{EndpointOptions, RequestKind, StoreAnswer};

use crate::world::{World, comment, options, status};

#[tokio::test]
async fn each_data_request_counts_once_and_metadata_does_not() {
    for world in World::both_ways(options()).await {
        let posts = world.container("posts").await;
        assert_eq!(world.endpoint.request_count(), 0, "{}", world.way);

        posts.create_item("p1", "c1", comment("c1"), None).await.unwrap();
        let n_before = world.endpoint.request_count();
        posts.read_item("p1", "c1", None).await.unwrap();
        assert_eq!(status(posts.read_item("p1", "none", None).await), 404);
        let _: Vec<Value> = posts
            .query_items("SELECT * FROM c", FeedScope::partition("p1"), None)
            .await
            .unwrap()
            .try_collect()
            .await
            .unwrap();
        let batch = TransactionalBatch::new("p1").upsert_item(comment("c2"), None).unwrap();
        posts.execute_transactional_batch(batch, None).await.unwrap();
        posts.delete_item("p1", "c2", None).await.unwrap();

        let requests = world.endpoint.requests_since(n_before);
        let kinds: Vec<RequestKind> = requests.iter().map(|request| request.kind).collect();
        assert_eq!(
            kinds,
            [
                RequestKind::Read,
                RequestKind::Read,
                RequestKind::Query,
                RequestKind::Batch,
                RequestKind::Delete,
            ],
            "{}",
            world.way
        );
        assert_eq!(requests[4].method, "DELETE");
        assert!(
            requests
                .iter()
                .all(|request| request.container == "posts" && request.names_partition_key)
        );
        assert_eq!(world.endpoint.request_count(), n_before + 5, "{}", world.way);
        assert_eq!(world.endpoint.requests().len(), n_before + 5);
    }
}

/// Runs a query for a whole scope, and returns the answers of the store, request by request.
async fn query(world: &World, text: &str, scope: FeedScope) -> Vec<StoreAnswer> {
    let n_before = world.endpoint.request_count();
    let posts = world.container("posts").await;
    let pages = posts.query_items(text, scope, None).await.unwrap();
    let _: Vec<Value> = pages.try_collect().await.unwrap();
    let requests = world.endpoint.requests_since(n_before);
    requests.into_iter().map(|request| request.answer.unwrap()).collect()
}

#[tokio::test]
async fn a_kept_request_has_the_work_of_the_store() {
    let options = EndpointOptions { partitions: 3, ..options() };
    for world in World::both_ways(options).await {
        let posts = world.container("posts").await;
        for id in ["c1", "c2", "c3"] {
            posts.create_item("p1", id, comment(id), None).await.unwrap();
        }
        posts.read_item("p1", "c1", None).await.unwrap();
        assert_eq!(status(posts.read_item("p1", "none", None).await), 404);
        let requests = world.endpoint.requests();
        assert!(requests.iter().all(|one| one.partition_key.as_deref() == Some(r#"["p1"]"#)));
        assert!(requests[0].bytes > 20 && requests[3].bytes == 0, "{}", world.way);
        let answers: Vec<StoreAnswer> =
            requests.into_iter().map(|request| request.answer.unwrap()).collect();
        let [created, .., read, missing] = answers.as_slice() else { panic!("{answers:?}") };
        assert_eq!((created.status, read.status, missing.status), (201, 200, 404));
        assert_eq!((created.items_loaded, created.items_returned), (Some(0), 0));
        assert_eq!((read.items_loaded, read.items_returned), (Some(1), 1));
        assert_eq!((missing.items_loaded, missing.items_returned), (Some(0), 0));
        assert!(created.request_units > 5.0 && read.request_units < 1.1);
        assert!(read.bytes > 100 && created.physical_partition.is_some());

        let one = query(&world, "SELECT VALUE COUNT(1) FROM c", FeedScope::partition("p1")).await;
        assert_eq!((one[0].items_loaded, one[0].items_returned), (Some(3), 1), "{}", world.way);
        assert_eq!(one[0].physical_partition, created.physical_partition);

        let all = query(&world, "SELECT * FROM c", FeedScope::full_container()).await;
        let mut partitions: Vec<_> = all.iter().map(|one| &one.physical_partition).collect();
        partitions.sort_unstable();
        partitions.dedup();
        assert_eq!(partitions.len(), 3, "{}: {all:?}", world.way);
        assert_eq!(all.iter().map(|one| one.items_returned).sum::<u32>(), 3);
    }
}

#[tokio::test]
async fn taken_requests_leave_the_list_and_still_count() {
    for world in World::both_ways(options()).await {
        let posts = world.container("posts").await;
        posts.create_item("p1", "c1", comment("c1"), None).await.unwrap();
        assert_eq!(world.endpoint.take_requests().len(), 1);
        assert!(world.endpoint.requests().is_empty());
        let n_before = world.endpoint.request_count();
        posts.read_item("p1", "c1", None).await.unwrap();
        assert_eq!(n_before, 1);
        let since = world.endpoint.requests_since(n_before);
        assert_eq!(since.len(), 1, "{}", world.way);
        assert_eq!(since[0].kind, RequestKind::Read);
        assert!(since[0].answer.is_some());
    }
}
