use std::collections::BTreeSet;

use azure_data_cosmos::FeedScope;
use azure_data_cosmos::clients::ContainerClient;
use azure_data_cosmos::feed::ContinuationToken;
use azure_data_cosmos::options::{ChangeFeedOptions, ChangeFeedStartFrom};
use futures::TryStreamExt;
use serde_json::{Value, json};
use tributary_local::cosmos::EndpointOptions;

use crate::world::{World, options};

#[tokio::test]
async fn the_change_feed_starts_at_the_beginning_and_continues() {
    let options = EndpointOptions { partitions: 3, ..options() };
    for world in World::both_ways(options).await {
        let posts = world.container("posts").await;
        for n in 0..12 {
            write(&posts, n, 0).await;
        }

        let (first, token) = changes(&posts, None).await;
        let expected: BTreeSet<_> = (0..12).map(|n| (format!("p{n}"), 0)).collect();
        assert_eq!(first, expected, "{}", world.way);

        write(&posts, 3, 1).await;
        write(&posts, 4, 1).await;
        write(&posts, 3, 2).await;
        let (second, token) = changes(&posts, Some(token)).await;
        let expected = BTreeSet::from([("p3".into(), 2), ("p4".into(), 1)]);
        assert_eq!(second, expected, "{}", world.way);

        let (third, _) = changes(&posts, Some(token)).await;
        assert_eq!(third, BTreeSet::new(), "{}", world.way);
    }
}

async fn write(posts: &ContainerClient, n: u32, version: u32) {
    let id = format!("p{n}");
    let item = json!({ "id": id, "postId": id, "version": version });
    posts.upsert_item(id.clone(), &id, item, None).await.unwrap();
}

/// Reads all present changes, as id and version.
async fn changes(
    posts: &ContainerClient,
    from: Option<ContinuationToken>,
) -> (BTreeSet<(String, u64)>, ContinuationToken) {
    let mut options = ChangeFeedOptions::default();
    if let Some(token) = from {
        options = options.with_continuation_token(token);
    }
    let mut pages = posts
        .query_change_feed::<Value>(
            FeedScope::full_container(),
            ChangeFeedStartFrom::Beginning,
            Some(options),
        )
        .await
        .unwrap();
    let mut changes = BTreeSet::new();
    // One empty page of each physical partition ends the read.
    let mut n_empty = 0;
    while n_empty < 3 {
        let page = pages.try_next().await.unwrap().unwrap();
        n_empty = if page.items().is_empty() { n_empty + 1 } else { 0 };
        for change in page.items() {
            let item = change.current().unwrap();
            changes.insert((
                item["id"].as_str().unwrap().to_owned(),
                item["version"].as_u64().unwrap(),
            ));
        }
    }
    (changes, pages.to_continuation_token().unwrap())
}
