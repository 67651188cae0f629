//! The containers that the advisor prints against the same rules as ours.

use std::fs;

use serde_json::{Value, json};
use tributary_partition::{RequestKind, advice::ContainerDefinition};

use tributary_testing::checks::indexes::{Policy, SentQuery};

use super::root;

/// Requests of every kind, beside those of the examples: writes and reads without the key, lists of values,
/// ranges, orders.
fn all_kinds() -> Vec<Value> {
    vec![
        json!({"kind": "list", "operation": "query", "filters": {"/tenant": "?", "/userId": "?",
            "/createdAt": {"last": "30 days"}}, "orderBy": "/createdAt desc"}),
        json!({"kind": "by state", "operation": "query", "filters": {"/state": ["new", "paid"],
            "/createdAt": {"from": "2026-01-01", "to": "2026-02-01"}}}),
        json!({"kind": "best", "operation": "query", "filters": {"/tenant": "a"}, "orderBy": "/score asc"}),
        json!({"kind": "by slug", "operation": "read", "filters": {"/slug": "?"}}),
        json!({"kind": "rename", "operation": "patch", "filters": {"/code": "?"}, "set": ["/title"]}),
        json!({"kind": "newest", "operation": "query", "orderBy": "/createdAt desc"}),
    ]
}

fn read(requests: &[Value]) -> Vec<RequestKind> {
    requests.iter().map(|request| serde_json::from_value(request.clone()).unwrap()).collect()
}

fn examples() -> Vec<Vec<RequestKind>> {
    let files = fs::read_dir(root().join("docs/examples")).unwrap();
    let files = files.map(|file| file.unwrap().path());
    let files = files.filter(|path| path.to_string_lossy().ends_with(".requests.jsonl"));
    let requests = |text: String| -> Vec<RequestKind> {
        text.lines().map(|line| RequestKind::read(line).unwrap()).collect()
    };
    files.map(|path| requests(fs::read_to_string(path).unwrap())).collect()
}

/// A query as it is printed, and with the order as a reader would write it without ADR 8.
fn asked(definition: &ContainerDefinition) -> Vec<SentQuery> {
    let queries = definition.queries.iter().flat_map(|query| {
        let plain = query.text.split_once(" ORDER BY ").map(|(filter, order)| {
            let last = order.rsplit(", ").next().unwrap();
            format!("{filter} ORDER BY {last}")
        });
        let texts = [Some(query.text.clone()), plain];
        texts.into_iter().flatten().map(|text| (text, query.levels > 0))
    });
    let container = || "printed".to_owned();
    queries
        .map(|(text, in_partition)| SentQuery { container: container(), text, in_partition })
        .collect()
}

#[test]
fn every_printed_container_serves_its_queries_and_has_no_index_without_one() {
    let keys = [
        "/id",
        "/tenant",
        "/userId",
        "/tenant,/userId",
        "/tenant,/userId,/id",
        "/type,/postId",
        "/userId+/createdAt by month",
        "/tenant,/createdAt by day",
        "/createdAt by month+/id in 10 buckets",
    ];
    let mut kinds = examples();
    assert!(kinds.len() > 4, "the examples have moved");
    kinds.push(read(&all_kinds()));
    for (requests, key) in kinds.iter().flat_map(|requests| keys.map(|key| (requests, key))) {
        let definition = ContainerDefinition::new("printed", &key.parse().unwrap(), requests, &[]);
        let printed = &definition.entry;
        let asked = asked(&definition);
        let policy = Policy::from_container(printed);
        let missing = |policy: &Policy| -> Vec<String> {
            asked.iter().flat_map(|query| policy.unserved(query)).collect()
        };
        assert_eq!(missing(&policy), [""; 0], "{key}");
        // The key has an index in any case: the app may send other queries in its partition.
        let is_key = |what: &str| {
            let paths = printed["partitionKey"]["paths"].as_array().unwrap().iter();
            paths.map(|path| format!("{}/?", path.as_str().unwrap())).any(|path| path == what)
        };
        for (what, without) in policy.without_each() {
            assert!(
                is_key(&what) || !missing(&without).is_empty(),
                "{key}: {what} serves no query"
            );
        }
    }
}
