use std::num::NonZeroU32;

use azure_data_cosmos::FeedScope;
use azure_data_cosmos::feed::QueryFeedPage;
use azure_data_cosmos::options::{MaxItemCountHint, QueryOptions};
use futures::TryStreamExt;
use serde_json::json;
use tributary_local::cosmos::EndpointOptions;

use crate::world::{World, options};

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
