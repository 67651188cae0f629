use std::num::NonZeroU32;

use azure_data_cosmos::clients::ContainerClient;
use azure_data_cosmos::models::ResponseHeaders;
use azure_data_cosmos::options::{
    ChangeFeedOptions, ChangeFeedStartFrom, MaxItemCountHint, QueryOptions,
};
use azure_data_cosmos::{FeedScope, Query, TransactionalBatch};
use futures::TryStreamExt;
use serde_json::{Value, json};
use tributary_local::cosmos::EndpointOptions;

use crate::world::{World, options};

#[tokio::test]
async fn a_write_costs_by_what_the_container_indexes() {
    let world = World::new(options()).await;
    // `posts` indexes some properties, `leases` all of them.
    let [posts, leases] = [world.container("posts").await, world.container("leases").await];
    let mut charges = Vec::new();
    for extra in [0, 5] {
        let mut item = json!({ "id": "1", "postId": "1" });
        for n in 0..extra {
            item[format!("p{n}")] = json!(n);
        }
        for container in [&posts, &leases] {
            let written = container.create_item("1", "1", item.clone(), None).await.unwrap();
            let deleted = container.delete_item("1", "1", None).await.unwrap();
            assert_eq!(said(deleted.headers()), said(written.headers()));
            charges.push(said(written.headers()));
        }
    }
    // The id and the time of the last write. In `posts` also that two named paths have no value,
    // and three composite indexes; in `leases` all properties of the item.
    assert_eq!(charges, ["7.15", "6.15", "7.15", "8.15"]);
}

#[tokio::test]
async fn a_replacement_pays_for_the_terms_that_differ_and_a_batch_for_all_its_operations() {
    let (_world, posts) = World::with_posts(options()).await;
    let item = |id: &str, user: &str, likes: u32| json!({ "id": id, "postId": "1", "type": "post", "userId": user, "likes": likes });
    let mut charges = Vec::new();
    // A composite index has the user, whom only the last one changes.
    for (user, likes) in [("ann", 1), ("ann", 2), ("bob", 2)] {
        let written = posts.upsert_item("1", "1", item("1", user, likes), None).await.unwrap();
        charges.push(said(written.headers()));
    }
    let batch = || {
        TransactionalBatch::new("1")
            .replace_item("1", item("1", "bob", 3), None)
            .unwrap()
            .create_item(item("2", "bob", 0))
            .unwrap()
    };
    // 4.95 and 4 terms that differ, and 4.95 and 11 terms. The second one is refused.
    for _ in 0..2 {
        let done = posts.execute_transactional_batch(batch(), None).await.unwrap();
        charges.push(said(done.headers()));
    }
    assert_eq!(charges, ["7.15", "10.70", "11.10", "12.90", "1.00"]);
}

#[tokio::test]
async fn a_query_costs_by_the_items_that_it_loads_not_by_those_that_it_returns() {
    let world = World::new(options()).await;
    let posts = filled(&world, 10, 4_000).await;
    let by_type = "WHERE c.type = 'post' ORDER BY c.creationDate";
    let whole = query(&posts, &format!("SELECT * FROM c {by_type}"), None).await;
    let short = query(&posts, &format!("SELECT c.id FROM c {by_type}"), None).await;
    let count = query(&posts, "SELECT VALUE COUNT(1) FROM c WHERE c.type = 'post'", None).await;
    let none = query(&posts, "SELECT * FROM c WHERE c.type = 'none'", None).await;
    // 10 items and 40 KB loaded, and 40 KB shown or not.
    assert!((8.0..8.2).contains(&whole), "{whole}");
    assert!((0.7..0.9).contains(&(whole - short)), "{whole} {short}");
    assert!((0.1..0.3).contains(&(short - count)), "{short} {count}");
    assert!((2.9..3.0).contains(&none), "{none}");
}

#[tokio::test]
async fn a_partition_key_that_the_filter_names_too_is_looked_up_once() {
    let world = World::new(options()).await;
    let posts = filled(&world, 10, 100).await;
    let mut charges = Vec::new();
    for filter in ["", "c.postId = '1' AND ", "c.id > '' AND "] {
        let text = format!("SELECT * FROM c WHERE {filter}c.type = 'post'");
        charges.push(query(&posts, &text, None).await);
    }
    assert!((charges[1] - charges[0]).abs() < 0.001, "{charges:?}");
    assert!((charges[2] - charges[0] - 0.2).abs() < 0.001, "{charges:?}");
}

#[tokio::test]
async fn the_pages_of_a_query_cost_what_the_whole_does() {
    let world = World::new(options()).await;
    let posts = filled(&world, 10, 100).await;
    for text in [
        "SELECT * FROM c WHERE c.type = 'post'",
        "SELECT c.id FROM c WHERE c.type = 'post' ORDER BY c.creationDate",
        "SELECT DISTINCT c.id FROM c",
    ] {
        let whole = query(&posts, text, None).await;
        let paged = query(&posts, text, NonZeroU32::new(3)).await;
        assert!((whole - paged).abs() < 0.1, "{text}: {whole} {paged}");
    }
}

#[tokio::test]
async fn the_first_items_in_an_order_cost_each_physical_partition_its_own_first_items() {
    let options = EndpointOptions { partitions: 4, ..options() };
    let (world, posts) = World::with_posts(options).await;
    for n in 0..80 {
        let id = n.to_string();
        let item = json!({ "id": id, "postId": id, "creationDate": n, "content": "x".repeat(900) });
        posts.create_item(id.clone(), &id, item, None).await.unwrap();
    }
    let text = "SELECT TOP 5 * FROM c ORDER BY c.creationDate DESC";
    let n_before = world.endpoint.request_count();
    charges(&posts, text, FeedScope::full_container(), NonZeroU32::new(5)).await;
    let requests = world.endpoint.requests_since(n_before);
    let loaded = requests.iter().map(|request| request.answer.as_ref().unwrap().items_loaded);
    assert_eq!(loaded.collect::<Vec<_>>(), [5; 4]);
}

#[tokio::test]
async fn a_page_of_the_change_feed_costs_what_its_items_cost_to_read() {
    let world = World::new(options()).await;
    let posts = filled(&world, 10, 100).await;
    let read = posts.read_item("1", "3", None).await.unwrap();
    assert_eq!(said(read.headers()), "1.00");
    let from = ChangeFeedStartFrom::Beginning;
    let options = Some(ChangeFeedOptions::default());
    let scope = FeedScope::full_container();
    let mut feed = posts.query_change_feed::<Value>(scope, from, options).await.unwrap();
    let page = feed.try_next().await.unwrap().unwrap();
    assert_eq!(said(page.headers()), "10.00");
}

#[tokio::test]
async fn a_refused_request_costs_its_point_read() {
    let world = World::new(options()).await;
    let posts = filled(&world, 1, 100).await;
    let taken = json!({ "id": "0", "postId": "1" });
    let refused = [
        posts.read_item("1", "none", None).await.unwrap_err(),
        posts.create_item("1", "0", taken, None).await.unwrap_err(),
    ];
    for error in refused {
        let charge = error.diagnostics().unwrap().total_request_charge().value();
        assert_eq!(format!("{charge:.2}"), "1.00", "{error}");
    }
}

/// Fills `posts` with items in one logical partition.
async fn filled(world: &World, n_items: u32, n_bytes: usize) -> ContainerClient {
    let posts = world.container("posts").await;
    for n in 0..n_items {
        let id = n.to_string();
        let item = json!({
            "id": id, "postId": "1", "type": "post", "creationDate": n, "content": "x".repeat(n_bytes),
        });
        posts.create_item("1", &id, item, None).await.unwrap();
    }
    posts
}

async fn query(posts: &ContainerClient, text: &str, page: Option<NonZeroU32>) -> f64 {
    charges(posts, text, FeedScope::partition("1"), page).await
}

/// Returns the sum over the pages of a query.
async fn charges(
    posts: &ContainerClient,
    text: &str,
    scope: FeedScope,
    page: Option<NonZeroU32>,
) -> f64 {
    let mut options = QueryOptions::default();
    if let Some(limit) = page {
        options = options.with_max_item_count(MaxItemCountHint::Limit(limit));
    }
    let feed = posts.query_items::<Value>(Query::from(text), scope, Some(options)).await.unwrap();
    let mut pages = feed.into_pages();
    let mut sum = 0.0;
    while let Some(page) = pages.try_next().await.unwrap() {
        sum += charge(page.headers());
    }
    sum
}

/// Returns the charge in the header.
fn said(headers: &ResponseHeaders) -> String {
    format!("{:.2}", charge(headers))
}

fn charge(headers: &ResponseHeaders) -> f64 {
    headers.request_charge().unwrap().value()
}
