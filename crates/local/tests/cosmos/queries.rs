use std::num::NonZeroU32;

use azure_data_cosmos::feed::{FeedRange, QueryFeedPage};
use azure_data_cosmos::options::{MaxItemCountHint, QueryOptions};
use azure_data_cosmos::{FeedScope, PartitionKey};
use futures::TryStreamExt;
use serde_json::{Value, json};
use tributary_local::cosmos::{EndpointOptions, RunningServer};

use crate::raw::{Answer, IS_QUERY, KEY, post, send, serve};
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

const ITEMS: &str = "/dbs/d/colls/c/docs";

/// Starts a server with the container of [`ITEMS`].
async fn server(partitions: u32, kind: &str, paths: &[&str]) -> RunningServer {
    let server = serve(EndpointOptions { partitions, ..options() }).await;
    post(&server, "/dbs", &[], &json!({"id": "d"})).await.expect(201);
    let key = json!({"paths": paths, "kind": kind, "version": 2});
    let container = json!({"id": "c", "partitionKey": key});
    post(&server, "/dbs/d/colls", &[], &container).await.expect(201);
    server
}

async fn create(server: &RunningServer, key: &Value, item: &Value) {
    post(server, ITEMS, &[(KEY, &*key.to_string())], item).await.expect(201);
}

async fn query(server: &RunningServer, text: &str, headers: &[(&str, &str)]) -> Answer {
    ask(server, ITEMS, text, headers).await.expect(200)
}

/// Sends a query with a parameter that is null.
async fn ask(server: &RunningServer, path: &str, text: &str, headers: &[(&str, &str)]) -> Answer {
    let none = json!([{"name": "@none", "value": null}]);
    let body = json!({"query": text, "parameters": none});
    post(server, path, &[&IS_QUERY, headers].concat(), &body).await
}

#[tokio::test]
async fn a_prefix_of_a_hierarchical_key_reads_the_items_under_it_and_no_others() {
    let paths = ["/tenant", "/user", "/session"];
    let server = &server(3, "MultiHash", &paths).await;
    for tenant in [json!("A"), json!("B"), json!(7)] {
        for user in ["u1", "u2", "u3"] {
            for session in ["s1", "s2"] {
                let id = format!("{user}{session}");
                let item = json!({"id": id, "tenant": tenant, "user": user, "session": session});
                create(server, &json!([tenant, user, session]), &item).await;
            }
        }
    }

    for (prefix, n_items, last) in [
        (json!(["A"]), 6, Some(&"u3s2")),
        (json!([7]), 6, Some(&"u3s2")),
        (json!(["B", "u2"]), 2, Some(&"u2s2")),
        (json!(["C"]), 0, None),
        (json!([{}]), 0, None),
    ] {
        let key = [(KEY, &*prefix.to_string())];
        let found = query(server, "SELECT * FROM c", &key).await;
        assert_eq!(found.items().len(), n_items, "{prefix}");
        for (path, value) in paths.iter().zip(prefix.as_array().unwrap()) {
            let is_under = |item: &Value| item.pointer(path) == Some(value);
            assert!(found.items().iter().all(is_under), "{prefix}: {}", found.body);
        }
        let sorted = query(server, "SELECT * FROM c ORDER BY c.id DESC", &key).await;
        assert_eq!(sorted.ids().first(), last, "{prefix}");
        let count = query(server, "SELECT VALUE COUNT(1) FROM c", &key).await;
        assert_eq!(count.items(), [json!(n_items)], "{prefix}");
        for feed in [&[][..], &[("a-im", "Incremental Feed")]] {
            let all = send(server, "GET", ITEMS, &[&key, feed].concat(), b"").await;
            assert_eq!(all.ids().len(), n_items, "{prefix} {feed:?}");
        }
    }

    // As the SDK of Python asks: for a range of hashed keys, in pages.
    for user in ["u1", "u2", "u3"] {
        let prefix = PartitionKey::from(("B", user));
        let range = FeedRange::for_partition(prefix, &("/tenant", "/user", "/session").into());
        let [start, end] = [range.min_inclusive(), range.max_exclusive()].map(ToString::to_string);
        let range = [
            ("x-ms-read-key-type", "EffectivePartitionKeyRange"),
            ("x-ms-start-epk", &start),
            ("x-ms-end-epk", &end),
            ("x-ms-max-item-count", "10"),
        ];
        let found = query(server, "SELECT * FROM c", &range).await;
        assert_eq!(found.items().len(), 2, "{user}: {}", found.body);
    }
}

#[tokio::test]
async fn what_would_be_answered_wrongly_is_refused_with_its_name() {
    let server = &server(1, "Hash", &["/pk"]).await;
    create(server, &json!(["p"]), &json!({"id": "1", "pk": "p", "n": 4})).await;

    let key = (KEY, r#"["p"]"#);
    let is_plan = ("x-ms-cosmos-is-query-plan-request", "True");
    for (text, named) in [
        ("SELECT * FROM c WHERE c.value = 1", "incorrect syntax near 'value'"),
        ("SELECT * FORM c", "incorrect syntax near 'FORM'"),
        ("SELECT * FROM c WHERE c.id != null", "IS_NULL"),
        ("SELECT * FROM c WHERE null<>c.id", "IS_NULL"),
        ("SELECT * FROM c WHERE c.id != @none", "IS_NULL"),
        ("SELECT * FROM c WHERE NOT (c.id = NULL)", "IS_NULL"),
    ] {
        for (path, headers) in [(ITEMS, &[key][..]), (ITEMS, &[key, is_plan]), ("/dbs", &[])] {
            let refused = ask(server, path, text, headers).await.expect(400);
            let message = refused.body["message"].as_str().unwrap();
            assert!(message.contains(named), "{text}: {message}");
        }
    }
    for text in [
        r#"SELECT VALUE {"n": c.n, "id": 'a "quoted" id'} FROM c WHERE c['id'] = '1'"#,
        r#"SELECT * FROM c WHERE c["id"] = "1" AND c.pk IN ("p", "q") AND c.id LIKE "1%""#,
        "SELECT * FROM c WHERE NOT IS_NULL(c.id) AND c.n != 5 AND (NOT (c.n = 5))",
    ] {
        assert_eq!(query(server, text, &[key]).await.items().len(), 1, "{text}");
    }

    let incremented = json!([{"op": "incr", "path": "/n", "value": 1}]);
    let patch = async |body: Value| {
        let path = format!("{ITEMS}/1");
        send(server, "PATCH", &path, &[key], body.to_string().as_bytes()).await
    };
    let condition = "from c where c.n = 3";
    let refused = patch(json!({"operations": incremented, "condition": condition})).await;
    assert!(refused.expect(400).body["message"].as_str().unwrap().contains("`condition`"));
    assert_eq!(patch(json!({"operations": incremented})).await.expect(200).body["n"], 5);
}
