use std::collections::BTreeSet;
use std::num::NonZeroU32;

use azure_data_cosmos::clients::ContainerClient;
use azure_data_cosmos::feed::{ContinuationToken, QueryFeedPage};
use azure_data_cosmos::options::{
    ChangeFeedOptions, ChangeFeedStartFrom, MaxItemCountHint, QueryOptions,
};
use azure_data_cosmos::{FeedScope, Query};
use futures::TryStreamExt;
use serde_json::{Value, json};
use tributary_local::cosmos::EndpointOptions;

use crate::world::{World, found, options};

#[tokio::test]
async fn a_query_with_parameters_and_two_order_keys_comes_in_pages() {
    for (world, posts) in World::with_posts(options()).await {
        for n in 0..7 {
            let item = json!({
                "id": format!("c{n}"), "postId": "p1", "type": "comment",
                "creationDate": format!("2026-01-0{}", 1 + n % 3),
            });
            posts.create_item("p1", &format!("c{n}"), item, None).await.unwrap();
        }
        let query = Query::from(
            "SELECT VALUE c.id FROM c WHERE c.type = @type \
             ORDER BY c.creationDate DESC, c.id DESC",
        )
        .with_parameter("@type", "comment")
        .unwrap();

        let mut pages: Vec<Vec<String>> = Vec::new();
        let mut token = None;
        loop {
            let limit = MaxItemCountHint::Limit(NonZeroU32::new(3).unwrap());
            let mut options = QueryOptions::default().with_max_item_count(limit);
            if let Some(token) = token.take() {
                options = options.with_continuation_token(token);
            }
            let mut page = posts
                .query_items(query.clone(), FeedScope::partition("p1"), Some(options))
                .await
                .unwrap()
                .into_pages();
            let Some(ids) = page.try_next().await.unwrap() else {
                break;
            };
            pages.push(ids.into_items());
            if pages.iter().flatten().count() == 7 {
                break;
            }
            token = Some(page.to_continuation_token().unwrap());
        }

        assert_eq!(
            pages,
            [vec!["c5", "c2", "c4"], vec!["c1", "c6", "c3"], vec!["c0"]],
            "{}",
            world.way
        );
    }
}

#[tokio::test]
async fn a_query_over_several_physical_partitions_finds_and_orders_all() {
    let options = EndpointOptions { partitions: 5, ..options() };
    for (world, posts) in World::with_posts(options).await {
        let ranges = posts.read_feed_ranges(None).await.unwrap();
        assert_eq!(ranges.len(), 5, "{}", world.way);
        for n in 0..40 {
            let id = format!("p{n}");
            let item = json!({ "id": id, "postId": id, "n": n });
            posts.create_item(id.clone(), &id, item, None).await.unwrap();
        }

        let query = "SELECT VALUE c.n FROM c ORDER BY c.n";
        let ordered: Vec<Value> = found(&posts, query, FeedScope::full_container()).await;
        assert_eq!(ordered, (0..40).map(|n| json!(n)).collect::<Vec<_>>());

        let mut n_used = 0;
        for range in ranges {
            let in_range: Vec<Value> =
                found(&posts, "SELECT VALUE c.n FROM c", FeedScope::range(range)).await;
            n_used += usize::from(!in_range.is_empty());
        }
        assert!(n_used > 1, "the items spread over partitions: {}", world.way);
    }
}

#[tokio::test]
async fn pages_over_many_logical_partitions_have_each_item_once() {
    let options = EndpointOptions { partitions: 3, ..options() };
    for (world, posts) in World::with_posts(options).await {
        for post in 0..150 {
            let post_id = format!("p{post}");
            let items = if post % 50 == 0 { 12 } else { 1 };
            for n in 0..items {
                let id = format!("c{n}");
                let item = json!({ "id": id, "postId": post_id, "found": post % 3 == 0 });
                posts.create_item(post_id.clone(), &id, item, None).await.unwrap();
            }
        }
        let query = "SELECT VALUE CONCAT(c.postId, ' ', c.id) FROM c WHERE c.found";
        let all = |options| {
            let pages = posts.query_items(query, FeedScope::full_container(), options);
            async { pages.await.unwrap().into_pages().try_collect::<Vec<_>>().await.unwrap() }
        };
        let items = |pages: Vec<QueryFeedPage<String>>| {
            pages.into_iter().flat_map(QueryFeedPage::into_items).collect::<Vec<_>>()
        };
        let whole = items(all(None).await);
        // 49 posts with one item, and one of the three with twelve.
        assert_eq!(whole.len(), 49 + 12, "{}", world.way);

        for page_size in [1, 5, 12, 24, 1_000] {
            let limit = MaxItemCountHint::Limit(NonZeroU32::new(page_size).unwrap());
            let pages = all(Some(QueryOptions::default().with_max_item_count(limit))).await;
            // Only the last page of each physical partition may have fewer items.
            let short = pages.iter().filter(|page| page.items().len() < page_size as usize);
            assert!(short.count() <= 3, "pages of {page_size} items, {}", world.way);
            assert_eq!(items(pages), whole, "pages of {page_size} items, {}", world.way);
        }
    }
}

#[tokio::test]
async fn the_change_feed_starts_at_the_beginning_and_continues() {
    let options = EndpointOptions { partitions: 3, ..options() };
    for (world, posts) in World::with_posts(options).await {
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
