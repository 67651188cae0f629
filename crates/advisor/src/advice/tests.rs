//! Definitions of containers; the rest is tested through the command.

use proptest::prelude::*;
use serde_json::{Value, json};
use tree_sitter::Parser;

use super::{AdviceQuestion, ContainerDefinition, container::ContainerEntry, rank};
use crate::{RequestKind, ValidationOptions, report::CandidateReport, validate};

fn assert_bicep(text: &str) {
    let mut parser = Parser::new();
    parser.set_language(&tree_sitter_bicep::LANGUAGE.into()).unwrap();
    let tree = parser.parse(text, None).unwrap();
    assert!(!tree.root_node().has_error(), "{text}");
}

fn definition(strategy: &str, requests: &[Value]) -> ContainerDefinition {
    let requests: Vec<RequestKind> =
        requests.iter().map(|request| serde_json::from_value(request.clone()).unwrap()).collect();
    let definition = ContainerDefinition::new("posts", &strategy.parse().unwrap(), &requests, &[]);
    assert_bicep(&definition.bicep);
    assert_eq!(parsed(&definition.entry), serde_json::to_value(&definition.entry).unwrap());
    definition
}

fn parsed(entry: &ContainerEntry) -> Value {
    serde_json::from_str(&entry.json()).unwrap()
}

#[test]
fn without_requests_everything_is_indexed() {
    let entry = parsed(&definition("/userId", &[]).entry);
    assert_eq!(entry["indexingPolicy"]["includedPaths"], json!([{"path": "/*"}]));
    assert_eq!(entry["partitionKey"], json!({"paths": ["/userId"], "kind": "Hash", "version": 2}));
}

/// Returns the paths with an index of their own, and the composite indexes, with an arrow for each direction.
fn indexes(strategy: &str, requests: &[Value]) -> (Vec<String>, Vec<String>) {
    let policy = parsed(&definition(strategy, requests).entry)["indexingPolicy"].take();
    let path = |one: &Value| one["path"].as_str().unwrap().to_owned();
    let arrow = |one: &Value| if one["order"] == "descending" { "↓" } else { "↑" };
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let composite = |index: &Value| {
        list(index).iter().map(|one| path(one) + arrow(one)).collect::<Vec<_>>().join(" ")
    };
    let included = list(&policy["includedPaths"]).iter().map(path).collect();
    (included, list(&policy["compositeIndexes"]).iter().map(composite).collect())
}

/// <https://learn.microsoft.com/azure/cosmos-db/index-policy>: the partition key, unless it is `/id`, is not
/// indexed on its own.
#[test]
fn properties_of_queries_and_the_key_are_indexed() {
    let requests = [
        json!({"kind": "a", "operation": "query", "filters": {"/userId": "?"}, "orderBy": "/createdAt desc"}),
        json!({"kind": "b", "operation": "query", "filters": {"/tag": "?", "/at": {"last": "1 day"}}}),
        json!({"kind": "c", "operation": "create", "filters": {"/other": "?"}}),
    ];
    let (paths, composites) = indexes("/userId", &requests);
    // Tag and time are found by their composite index.
    assert_eq!(paths, ["/createdAt/?", "/userId/?"]);
    assert_eq!(composites, ["/userId↓ /createdAt↓", "/tag↑ /at↑"]);
    let (paths, _) = indexes("/id", &requests);
    assert_eq!(paths, ["/createdAt/?", "/userId/?"]);
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
    let definition = definition("/userId+/createdAt by month", &requests);
    assert_eq!(
        definition.queries[0].text,
        "SELECT * FROM c WHERE c.partitionKey = @partitionKey AND c.tenant = @tenant \
         AND c.createdAt >= @createdAtFrom \
         ORDER BY c.partitionKey DESC, c.tenant DESC, c.createdAt DESC"
    );
    let (paths, composites) = indexes("/userId+/createdAt by month", &requests);
    assert_eq!(paths, ["/createdAt/?", "/partitionKey/?"]);
    assert_eq!(composites, ["/partitionKey↓ /tenant↓ /createdAt↓"]);
}

#[test]
fn a_read_or_write_without_the_key_finds_its_item_by_an_index() {
    let requests = [
        json!({"kind": "rename", "operation": "patch", "filters": {"/slug": "?"}, "set": ["/title"]}),
        json!({"kind": "by email", "operation": "read", "filters": {"/email": "?"}}),
        json!({"kind": "remove", "operation": "delete", "filters": {"/id": "?", "/userId": "?"}}),
    ];
    let (paths, composites) = indexes("/userId", &requests);
    assert_eq!(paths, ["/email/?", "/slug/?", "/userId/?"]);
    assert_eq!(composites, [""; 0]);
}

#[test]
fn a_unique_key_is_part_of_the_definition() {
    let key = "/tenant".parse().unwrap();
    let unique = ["/tenant,/email", "/tenant,/\"full name\"", "/email"]
        .map(|unique| super::UniquenessPlan::new(&unique.parse().unwrap(), &key, &[]));
    let definition = ContainerDefinition::new("users", &key, &[], &unique);
    assert_bicep(&definition.bicep);
    let entry = parsed(&definition.entry);
    assert_eq!(entry, serde_json::to_value(&definition.entry).unwrap());
    let paths = json!([{"paths": ["/email"]}, {"paths": ["/\"full name\""]}]);
    assert_eq!(entry["uniqueKeyPolicy"]["uniqueKeys"], paths, "an email alone needs a reservation");
}

/// Exported queries may be without their texts.
#[test]
fn a_query_of_which_nothing_is_known_needs_everything_indexed() {
    let requests = [
        json!({"kind": "a", "operation": "query"}),
        json!({"kind": "b", "operation": "query", "filters": {"/tag": "?"}, "orderBy": "/at"}),
    ];
    let (paths, composites) = indexes("/userId", &requests);
    assert_eq!((paths, composites), (vec!["/*".to_owned()], vec!["/tag↑ /at↑".to_owned()]));
    let (paths, _) = indexes("/id", &[json!({"kind": "a", "operation": "create"})]);
    assert_eq!(paths, ["/id/?"], "an empty list would be everything");
}

#[test]
fn each_computed_level_has_a_property_of_its_own() {
    let definition = definition("/tenantId,/userId+/createdAt by month,/id in 10 buckets", &[]);
    let entry = parsed(&definition.entry);
    assert_eq!(
        entry["partitionKey"]["paths"],
        json!(["/tenantId", "/partitionKey2", "/partitionKey3"])
    );
    assert_eq!(entry["partitionKey"]["kind"], "MultiHash");
    let made_of: Vec<_> = definition.computed.iter().map(|one| one.made_of.as_str()).collect();
    assert_eq!(made_of, ["/userId+/createdAt by month", "/id in 10 buckets"]);
}

proptest! {
    /// Names without a slash: the grammar here takes `//` within a text for a comment.
    #[test]
    fn any_name_and_path_is_json_and_bicep(name in "[a-z'\"\\\\$\\{\\} ]{0,8}", property in "[a-z'\"\\\\$\\{ ]{1,6}") {
        let path = format!("/{}", Value::from(property.as_str()));
        let request = json!({"kind": "a", "operation": "query", "filters": {path.clone(): "?"}, "orderBy": "/at"});
        let requests = [serde_json::from_value(request).unwrap()];
        let definition = ContainerDefinition::new(&name, &"/userId".parse().unwrap(), &requests, &[]);
        prop_assert_eq!(parsed(&definition.entry), serde_json::to_value(&definition.entry).unwrap());
        assert_bicep(&definition.bicep);
    }
}

fn reports(items: &str, candidates: &[&str], requests: &[Value]) -> Vec<CandidateReport> {
    let candidates = candidates.iter().map(|candidate| candidate.parse().unwrap()).collect();
    let requests = requests.iter().map(|request| serde_json::from_value(request.clone()).unwrap());
    validate(items.as_bytes(), requests.collect(), candidates, ValidationOptions::default(), |_| {})
        .unwrap()
}

fn items() -> String {
    let item = |n: u32| format!("{{\"id\": \"{n}\", \"user\": \"user-{}\"}}\n", n % 150);
    (0..600).map(item).collect()
}

#[test]
fn the_simplest_of_equals_and_then_the_one_with_fewer_warnings_is_first() {
    let query = json!({"kind": "items of a user", "operation": "query", "filters": {"/user": "?"},
        "frequency": {"perDay": 1000}});
    let reports = reports(&items(), &["/id", "/user in 200 buckets", "/user"], &[query]);
    let ranked = rank(reports);
    let strategies: Vec<_> =
        ranked.iter().map(|one| one.report.estimates.strategy.to_string()).collect();
    assert_eq!(strategies, ["/user", "/id", "/user in 200 buckets"]);
    assert_eq!(ranked.iter().map(|one| one.place).collect::<Vec<_>>(), [1, 2, 3]);
}

#[test]
fn without_candidates_there_is_no_advice() {
    assert!(super::Advice::new(Vec::new(), &[], &AdviceQuestion::default()).is_none());
}
