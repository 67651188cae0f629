use azure_data_cosmos::{FeedScope, TransactionalBatch};
use futures::TryStreamExt;
use serde_json::Value;
use tributary_local::cosmos::{EndpointOptions, RequestKind};

use crate::world::{World, comment, options, status};

#[tokio::test]
async fn each_data_request_counts_once_and_metadata_does_not() {
    for world in World::both_ways(options()).await {
        let posts = world.container("posts").await;
        assert_eq!(world.endpoint.request_count(), 0, "{}", world.way);

        posts.create_item("p1", "c1", comment("c1"), None).await.unwrap();
        let mark = world.endpoint.request_count();
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

        let requests = world.endpoint.requests_since(mark);
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
        assert_eq!(world.endpoint.request_count(), mark + 5, "{}", world.way);
        assert_eq!(world.endpoint.requests().len(), mark + 5);
    }
}

#[tokio::test]
async fn without_being_asked_for_the_list_stays_empty() {
    let options = EndpointOptions { keep_requests: false, ..options() };
    for world in World::both_ways(options).await {
        let posts = world.container("posts").await;
        posts.create_item("p1", "c1", comment("c1"), None).await.unwrap();
        assert_eq!(world.endpoint.request_count(), 1, "{}", world.way);
        assert!(world.endpoint.requests().is_empty(), "{}", world.way);
    }
}
