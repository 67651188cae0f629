//! Estimates beside the counts of the local endpoint on the wire: store requests and request units of
//! each kind of request, over many drawn requests, within a tenth.
#![allow(clippy::unwrap_used, reason = "a test ends at its first error")]

use azure_data_cosmos::{
    FeedScope, Query,
    clients::ContainerClient,
    options::{MaxItemCountHint, QueryOptions},
};
use futures::TryStreamExt;
use serde_json::{Value, json};
use tributary_local::cosmos::{ContainersFile, CosmosEndpoint, EndpointOptions};
use tributary_partition::{RequestKind, ValidationOptions, report::RequestEstimates, validate};

const PARTITIONS: u32 = 4;
const BY_USER: &str = "/userId";
const BY_MONTH: &str = "/userId+/createdAt by month";
/// The step between the items of the sample whose values the requests ask for.
const SENT_ITEM_STEP: usize = 7;

const CONTAINERS: &str = r#"{"containers": [
    {"id": "by-user", "partitionKey": {"paths": ["/userId"], "kind": "Hash", "version": 2},
     "indexingPolicy": {"automatic": true, "indexingMode": "consistent", "includedPaths": [{"path": "/*"}], "excludedPaths": [{"path": "/body/?"}],
        "compositeIndexes": [[{"path": "/userId", "order": "ascending"}, {"path": "/createdAt", "order": "descending"}]]}},
    {"id": "by-month", "partitionKey": {"paths": ["/partitionKey"], "kind": "Hash", "version": 2}}
]}"#;

/// Returns 600 posts of 30 users over 100 days; user 0 has a quarter of them.
fn posts() -> Vec<Value> {
    (0..600_u32)
        .map(|n| {
            let user = if n % 4 == 0 { 0 } else { n % 30 };
            let day = n / 6;
            let month = 7 + day / 28;
            let day = day % 28 + 1;
            let status = ["new", "read", "old"][n as usize / 30 % 3];
            let at = format!("2026-{month:02}-{day:02}T{:02}:00:00Z", n % 24);
            json!({
                "id": format!("post-{n}"), "userId": format!("user-{user}"), "createdAt": at,
                "status": status, "likes": n % 7,
                "body": "b".repeat(200 + n as usize % 900),
            })
        })
        .collect()
}

struct WireWorld {
    endpoint: CosmosEndpoint,
    by_user: ContainerClient,
    by_month: ContainerClient,
    posts: Vec<Value>,
}

impl WireWorld {
    async fn new() -> Self {
        let options = EndpointOptions {
            partitions: PARTITIONS,
            expiry_interval: None,
            keep_requests: true,
            ..EndpointOptions::default()
        };
        let endpoint = CosmosEndpoint::in_process(options).unwrap();
        endpoint.provision("db", &ContainersFile::parse(CONTAINERS).unwrap()).await.unwrap();
        let client = endpoint.client().await.unwrap();
        let database = client.database_client("db");
        let by_user = database.container_client("by-user".to_owned(), None).await.unwrap();
        let by_month = database.container_client("by-month".to_owned(), None).await.unwrap();
        let posts = posts();
        for post in &posts {
            let id = text(post, "id");
            let user = text(post, "userId");
            by_user.create_item(user, &id, post.clone(), None).await.unwrap();
            let mut keyed = post.clone();
            let key = month_key(post);
            keyed["partitionKey"] = json!(&key);
            by_month.create_item(key, &id, keyed, None).await.unwrap();
        }
        Self { endpoint, by_user, by_month, posts }
    }

    /// Returns the estimate of a kind of request.
    fn estimate(&self, candidate: &str, request: Value) -> RequestEstimates {
        let items: String = self.posts.iter().map(|post| post.to_string() + "\n").collect();
        let requests: Vec<RequestKind> = vec![serde_json::from_value(request).unwrap()];
        let containers: Value = serde_json::from_str(CONTAINERS).unwrap();
        let policy = match candidate {
            BY_USER => {
                serde_json::from_value(containers["containers"][0]["indexingPolicy"].clone())
                    .unwrap()
            }
            _ => cosmos_model::charges::policy::IndexingPolicy::default(),
        };
        let options = ValidationOptions {
            physical_partitions: Some(PARTITIONS),
            indexing_policy: policy,
            time: Some("/createdAt".parse().unwrap()),
            ..ValidationOptions::default()
        };
        let candidates = vec![candidate.parse().unwrap()];
        validate(items.as_bytes(), requests, candidates, options).unwrap()[0].estimates.requests[0]
            .clone()
    }

    /// Returns the store requests and the request units of one of the requests that `each` sends.
    async fn counted(&self, each: impl AsyncFn(&Value)) -> (f64, f64) {
        let mut n = 0.0;
        let mut requests = 0.0;
        let mut units = 0.0;
        for post in self.posts.iter().step_by(SENT_ITEM_STEP) {
            let mark = self.endpoint.request_count();
            each(post).await;
            let sent = self.endpoint.requests_since(mark);
            n += 1.0;
            requests += f64::from(u32::try_from(sent.len()).unwrap());
            units += sent
                .iter()
                .filter_map(|request| request.answer.as_ref().map(|answer| answer.request_units))
                .sum::<f64>();
        }
        (requests / n, units / n)
    }

    #[track_caller]
    fn same(what: &str, estimate: &RequestEstimates, (requests, units): (f64, f64)) {
        let near = |estimated: f64, counted: f64| (estimated / counted - 1.0).abs() < 0.1;
        let shown = format!(
            "{what}: {:.2} requests for {requests:.2}, {:.2} RU for {units:.2}",
            estimate.physical_partitions, estimate.request_units
        );
        println!("{shown}");
        assert!(near(estimate.physical_partitions, requests), "{shown}");
        assert!(near(estimate.request_units, units), "{shown}");
    }
}

fn text(item: &Value, property: &str) -> String {
    item[property].as_str().unwrap().to_owned()
}

fn month_key(post: &Value) -> String {
    format!("{}_{}", text(post, "userId"), &text(post, "createdAt")[..7])
}

async fn query(container: &ContainerClient, scope: FeedScope, query: &str) {
    pages(container, scope, query, QueryOptions::default()).await;
}

async fn pages(container: &ContainerClient, scope: FeedScope, query: &str, options: QueryOptions) {
    let feed = container.query_items::<Value>(Query::from(query), scope, Some(options));
    let mut pages = feed.await.unwrap().into_pages();
    while pages.try_next().await.unwrap().is_some() {}
}

#[tokio::test]
async fn reads_are_within_a_tenth_of_what_is_counted() {
    let world = WireWorld::new().await;
    let kind = |operation: &str, filters: Value| json!({"kind": "k", "operation": operation, "filters": filters});

    let estimate = world.estimate(BY_USER, kind("read", json!({"/id": "?", "/userId": "?"})));
    let counted = world.counted(async |post| {
        world.by_user.read_item(text(post, "userId"), &text(post, "id"), None).await.unwrap();
    });
    WireWorld::same("point read", &estimate, counted.await);

    let estimate = world.estimate(BY_USER, kind("query", json!({"/userId": "?"})));
    let of_user =
        |post: &Value| format!("SELECT * FROM c WHERE c.userId = '{}'", text(post, "userId"));
    let counted = world.counted(async |post| {
        query(&world.by_user, FeedScope::partition(text(post, "userId")), &of_user(post)).await;
    });
    WireWorld::same("all of a user", &estimate, counted.await);

    let mut newest = kind("query", json!({"/userId": "?"}));
    newest["limit"] = json!(20);
    newest["orderBy"] = json!("/createdAt desc");
    let estimate = world.estimate(BY_USER, newest);
    let counted = world.counted(async |post| {
        let user = text(post, "userId");
        let text =
            format!("SELECT TOP 20 * FROM c WHERE c.userId = '{user}' ORDER BY c.createdAt DESC");
        query(&world.by_user, FeedScope::partition(user), &text).await;
    });
    WireWorld::same("newest of a user", &estimate, counted.await);

    let mut count = kind("query", json!({"/userId": "?", "/status": "new"}));
    count["select"] = json!("count");
    let estimate = world.estimate(BY_USER, count);
    let counted = world.counted(async |post| {
        let user = text(post, "userId");
        let text =
            format!("SELECT VALUE COUNT(1) FROM c WHERE c.userId = '{user}' AND c.status = 'new'");
        query(&world.by_user, FeedScope::partition(user), &text).await;
    });
    WireWorld::same("count of a user", &estimate, counted.await);

    let estimate =
        world.estimate(BY_USER, kind("query", json!({"/likes": "?", "/status": ["new", "old"]})));
    let counted = world.counted(async |post| {
        let text = format!(
            "SELECT * FROM c WHERE c.likes = {} AND c.status IN ('new', 'old')",
            post["likes"]
        );
        query(&world.by_user, FeedScope::full_container(), &text).await;
    });
    WireWorld::same("over all partitions", &estimate, counted.await);
}

/// Each physical partition returns its own first items, as many as the answer has. The Rust SDK plans the
/// query itself and sends it to each without the TOP, so the page has to be as large.
#[tokio::test]
async fn the_first_items_of_all_partitions_are_within_a_tenth_of_what_is_counted() {
    let world = WireWorld::new().await;
    for (what, filters, condition) in [
        ("newest 20 of all", json!({}), "true"),
        ("newest 20 of a state", json!({"/status": "new"}), "c.status = 'new'"),
    ] {
        let newest = json!({"kind": "k", "operation": "query", "filters": filters,
            "limit": 20, "orderBy": "/createdAt desc"});
        let estimate = world.estimate(BY_USER, newest);
        let counted = world.counted(async |_| {
            let text =
                format!("SELECT TOP 20 * FROM c WHERE {condition} ORDER BY c.createdAt DESC");
            let page = MaxItemCountHint::Limit(20.try_into().unwrap());
            let options = QueryOptions::default().with_max_item_count(page);
            pages(&world.by_user, FeedScope::full_container(), &text, options).await;
        });
        WireWorld::same(what, &estimate, counted.await);
    }
}

#[tokio::test]
async fn a_range_over_computed_keys_is_within_a_tenth_of_what_is_counted() {
    let world = WireWorld::new().await;
    let recent = json!({
        "kind": "k", "operation": "query", "filters": {"/userId": "?", "/createdAt": {"last": "45 days"}},
    });
    let estimate = world.estimate(BY_MONTH, recent);
    // The newest is of 16 October, so it begins on 1 September.
    let newest = world.posts.iter().map(|post| text(post, "createdAt")).max().unwrap();
    assert_eq!(&newest[..10], "2026-10-16");
    let counted = world.counted(async |post| {
        let user = text(post, "userId");
        for month in ["2026-09", "2026-10"] {
            let text = format!(
                "SELECT * FROM c WHERE c.userId = '{user}' AND c.createdAt >= '2026-09-01T23:00:00Z'"
            );
            query(&world.by_month, FeedScope::partition(format!("{user}_{month}")), &text).await;
        }
    });
    WireWorld::same("45 days of a user", &estimate, counted.await);
}

#[tokio::test]
async fn writes_are_within_a_tenth_of_what_is_counted() {
    let world = WireWorld::new().await;
    let known = json!({"/id": "?", "/userId": "?"});
    let kind = |operation: &str, set: &[&str]| json!({"kind": "k", "operation": operation, "filters": known, "set": set});

    let estimate = world.estimate(BY_USER, kind("replace", &["/likes"]));
    let counted = world.counted(async |post| {
        let mut liked = post.clone();
        liked["likes"] = json!(100);
        let user = text(post, "userId");
        let id = text(post, "id");
        world.by_user.replace_item(user, &id, liked, None).await.unwrap();
    });
    WireWorld::same("replace", &estimate, counted.await);

    let estimate = world.estimate(BY_USER, kind("delete", &[]));
    let counted = world.counted(async |post| {
        world.by_user.delete_item(text(post, "userId"), &text(post, "id"), None).await.unwrap();
    });
    WireWorld::same("delete", &estimate, counted.await);

    let estimate = world.estimate(BY_USER, kind("create", &[]));
    let counted = world.counted(async |post| {
        let user = text(post, "userId");
        let id = text(post, "id");
        world.by_user.create_item(user, &id, post.clone(), None).await.unwrap();
    });
    WireWorld::same("create", &estimate, counted.await);
}
