//! Reads of a replica that lags.

use azure_data_cosmos::clients::ContainerClient;
use azure_data_cosmos::options::{
    ItemReadOptions, ItemWriteOptions, OperationOptions, Precondition, ReadConsistencyStrategy,
};
use azure_data_cosmos::{FeedScope, TransactionalBatch};
use serde_json::{Value, json};
use tributary_local::chaos::{Chaos, ChaosKind};
use tributary_local::cosmos::EndpointOptions;

use crate::support::{Store, found, status};

/// Returns the number of likes of the item `c1`, as a point read and a query see it.
async fn likes(posts: &ContainerClient) -> [Option<u64>; 2] {
    let read = posts.read_item("p1", "c1", None).await.ok();
    let read = read.and_then(|read| read.into_model::<Value>().unwrap()["likes"].as_u64());
    let query = "SELECT VALUE c.likes FROM c WHERE c.id = 'c1'";
    [read, found(posts, query, FeedScope::full_container()).await.first().copied()]
}

fn liked(id: &str, likes: u64) -> Value {
    json!({ "id": id, "postId": "p1", "likes": likes })
}

#[tokio::test]
async fn another_client_reads_a_frozen_container_as_it_was_and_writes_the_newest_state() {
    let store = Store::new(1).await;
    let writer = &store.posts;
    let created = writer.create_item("p1", "c1", liked("c1", 1), None).await.unwrap();
    let frozen = store.endpoint.freeze_replica("posts");
    writer.replace_item("p1", "c1", liked("c1", 2), None).await.unwrap();
    assert_eq!(likes(writer).await, [Some(2); 2], "a client sees its own writes");
    let reader = store.another_client().await;
    assert_eq!(likes(&reader).await, [Some(1); 2]);

    // A client that asks for the latest committed state sees it.
    let mut latest = OperationOptions::default();
    latest.read_consistency_strategy = Some(ReadConsistencyStrategy::LatestCommitted);
    let latest = ItemReadOptions::default().with_operation_options(latest);
    let read = reader.read_item("p1", "c1", Some(latest)).await.unwrap();
    assert_eq!(read.into_model::<Value>().unwrap()["likes"], 2);

    let stale = Precondition::if_match(created.headers().etag().unwrap().to_string());
    let stale = ItemWriteOptions::default().with_precondition(stale);
    let replaced = reader.replace_item("p1", "c1", liked("c1", 3), Some(stale)).await;
    assert_eq!(status(replaced), 412);
    drop(frozen);
    assert_eq!(likes(&reader).await, [Some(2); 2]);
}

#[tokio::test]
async fn chaos_shows_older_states_to_other_clients_but_never_half_of_a_batch() {
    let chaos = Chaos::new("stale=1".parse().unwrap(), 7);
    let options = EndpointOptions { chaos: Some(chaos.clone()), ..EndpointOptions::default() };
    let store = Store::with_options(options).await;
    let writer = &store.posts;
    let reader = store.another_client().await;
    let mut behind = 0;
    for likes in 1..=60_u64 {
        let mut batch = TransactionalBatch::new("p1");
        for id in ["c1", "c2"] {
            batch = batch.upsert_item(liked(id, likes), None).unwrap();
        }
        writer.execute_transactional_batch(batch, None).await.unwrap();
        let own = writer.read_item("p1", "c1", None).await.unwrap();
        assert_eq!(own.into_model::<Value>().unwrap()["likes"], likes);

        let query = "SELECT VALUE c.likes FROM c";
        let seen: Vec<u64> = found(&reader, query, FeedScope::partition("p1")).await;
        assert!(seen.is_empty() || (seen.len() == 2 && seen[0] == seen[1]), "{seen:?}");
        behind += usize::from(seen != [likes, likes]);
    }
    assert!(behind > 0, "no read was behind");
    let injected = chaos.injected().into_iter().find(|(kind, _)| *kind == ChaosKind::Stale);
    assert!(injected.is_some_and(|(_, times)| times > 0));
}
