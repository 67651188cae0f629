//! Definitions of containers; the rest is tested through the command.

use serde_json::{Value, json};

use super::ContainerDefinition;
use crate::RequestKind;

fn definition(strategy: &str, requests: &[Value]) -> ContainerDefinition {
    let requests: Vec<RequestKind> =
        requests.iter().map(|request| serde_json::from_value(request.clone()).unwrap()).collect();
    ContainerDefinition::new("posts", &strategy.parse().unwrap(), &requests, &[])
}

fn indexes(strategy: &str, requests: &[Value]) -> (Vec<String>, Vec<String>) {
    let policy = definition(strategy, requests).entry["indexingPolicy"].take();
    let path = |index: &Value| index["path"].as_str().unwrap().to_owned();
    let arrow = |index: &Value| if index["order"] == "descending" { "↓" } else { "↑" };
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let composite = |index: &Value| {
        list(index).iter().map(|index| path(index) + arrow(index)).collect::<Vec<_>>().join(" ")
    };
    let included = list(&policy["includedPaths"]).iter().map(path).collect();
    (included, list(&policy["compositeIndexes"]).iter().map(composite).collect())
}

#[test]
fn all_levels_of_a_key_and_a_computed_one_are_indexed_and_begin_the_lists() {
    let of_a_user = json!({"kind": "a", "operation": "query", "filters": {"/userId": "?", "/tenant": "?",
        "/createdAt": {"last": "30 days"}}, "orderBy": "/createdAt desc"});
    let requests = [of_a_user];
    let (paths, composites) = indexes("/tenant,/userId", &requests);
    assert_eq!(paths, ["/createdAt/?", "/tenant/?", "/userId/?"]);
    assert_eq!(composites, ["/tenant↓ /userId↓ /createdAt↓"]);
    let (paths, composites) = indexes("/tenant,/slug", &requests);
    assert_eq!(paths, ["/createdAt/?", "/slug/?", "/tenant/?"]);
    assert_eq!(composites, ["/tenant↓ /userId↓ /createdAt↓"]);
    let (paths, composites) = indexes("/userId+/createdAt by month", &requests);
    assert_eq!(paths, ["/createdAt/?", "/partitionKey/?"]);
    assert_eq!(composites, ["/partitionKey↓ /tenant↓ /createdAt↓"]);
}

#[test]
fn where_nothing_is_known_of_a_query_everything_is_indexed() {
    let requests = [
        json!({"kind": "a", "operation": "query"}),
        json!({"kind": "b", "operation": "query", "filters": {"/tag": "?"}, "orderBy": "/at"}),
    ];
    let (paths, composites) = indexes("/userId", &requests);
    assert_eq!((paths, composites), (vec!["/*".to_owned()], vec!["/tag↑ /at↑".to_owned()]));
    assert_eq!(indexes("/userId", &[]).0, ["/*"], "without requests");
    let (paths, _) = indexes("/id", &[json!({"kind": "a", "operation": "create"})]);
    assert_eq!(paths, ["/id/?"], "an empty list would be everything");
}

#[test]
fn each_computed_level_has_a_property_of_its_own() {
    let definition = definition("/tenantId,/userId+/createdAt by month,/id in 10 buckets", &[]);
    let entry = &definition.entry;
    assert_eq!(
        entry["partitionKey"]["paths"],
        json!(["/tenantId", "/partitionKey2", "/partitionKey3"])
    );
    assert_eq!(entry["partitionKey"]["kind"], "MultiHash");
    let made_of: Vec<_> =
        definition.computed.iter().map(|computed| computed.made_of.as_str()).collect();
    assert_eq!(made_of, ["/userId+/createdAt by month", "/id in 10 buckets"]);
}

#[test]
fn texts_and_unique_keys_are_quoted_in_bicep() {
    let key = "/tenant".parse().unwrap();
    let unique: super::UniqueProperties = "/tenant,/\"it's ${a}\"".parse().unwrap();
    let unique = [unique.plan(&key, &[]).unique_key.unwrap()];
    let definition = ContainerDefinition::new("it's ${a}\\b", &key, &[], &unique);
    for line in [
        r"  name: 'it\'s \${a}\\b'",
        r"      partitionKey: { kind: 'Hash', paths: ['/tenant'], version: 2 }",
        r#"      uniqueKeyPolicy: { uniqueKeys: [{ paths: ['/"it\'s \${a}"'] }] }"#,
    ] {
        assert!(definition.bicep.lines().any(|other| other == line), "{}", definition.bicep);
    }
}
