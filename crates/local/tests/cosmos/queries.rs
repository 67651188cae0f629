use std::num::NonZeroU32;

use azure_data_cosmos::FeedScope;
use azure_data_cosmos::feed::QueryFeedPage;
use azure_data_cosmos::options::{MaxItemCountHint, QueryOptions};
use futures::TryStreamExt;
use serde_json::{Value, json};
use tributary_local::cosmos::EndpointOptions;

use crate::world::{World, found, options};

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
