//! Definitions of containers; the rest is tested through the command.

use proptest::prelude::*;
use serde_json::{Value, json};
use tree_sitter::Parser;

use super::{Definition, Question, container::Entry, rank};
use crate::{Options, RequestKind, report::Report, validate};

fn assert_bicep(text: &str) {
    let mut parser = Parser::new();
    parser.set_language(&tree_sitter_bicep::LANGUAGE.into()).unwrap();
    let tree = parser.parse(text, None).unwrap();
    assert!(!tree.root_node().has_error(), "{text}");
}

fn definition(strategy: &str, requests: &[Value]) -> Definition {
    let requests: Vec<RequestKind> =
        requests.iter().map(|request| serde_json::from_value(request.clone()).unwrap()).collect();
    let definition = Definition::new("posts", &strategy.parse().unwrap(), &requests);
    assert_bicep(&definition.bicep);
    assert_eq!(parsed(&definition.entry), serde_json::to_value(&definition.entry).unwrap());
    definition
}

fn parsed(entry: &Entry) -> Value {
    serde_json::from_str(&entry.json()).unwrap()
}

#[test]
fn without_requests_everything_is_indexed() {
    let entry = parsed(&definition("/userId", &[]).entry);
    assert_eq!(entry["indexingPolicy"]["includedPaths"], json!([{"path": "/*"}]));
    assert_eq!(entry["partitionKey"], json!({"paths": ["/userId"], "kind": "Hash", "version": 2}));
}

#[test]
fn what_queries_ask_for_is_indexed_and_the_key_is_not() {
    let entry = parsed(
        &definition(
            "/userId",
            &[
                json!({"kind": "a", "operation": "query", "filters": {"/userId": "?"}, "orderBy": "/createdAt desc"}),
                json!({"kind": "b", "operation": "query", "filters": {"/tag": "?", "/at": {"last": "1 day"}}}),
                json!({"kind": "c", "operation": "create", "filters": {"/other": "?"}}),
            ],
        )
        .entry,
    );
    let policy = &entry["indexingPolicy"];
    assert_eq!(
        policy["includedPaths"],
        json!([{"path": "/at/?"}, {"path": "/createdAt/?"}, {"path": "/tag/?"}])
    );
    assert_eq!(
        policy["compositeIndexes"],
        json!([
            [{"path": "/userId", "order": "descending"}, {"path": "/createdAt", "order": "descending"}],
            [{"path": "/tag", "order": "ascending"}, {"path": "/at", "order": "ascending"}],
        ])
    );
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
        let definition = Definition::new(&name, &"/userId".parse().unwrap(), &requests);
        prop_assert_eq!(parsed(&definition.entry), serde_json::to_value(&definition.entry).unwrap());
        assert_bicep(&definition.bicep);
    }
}

fn reports(items: &str, candidates: &[&str], requests: &[Value]) -> Vec<Report> {
    let candidates = candidates.iter().map(|candidate| candidate.parse().unwrap()).collect();
    let requests = requests.iter().map(|request| serde_json::from_value(request.clone()).unwrap());
    validate(items.as_bytes(), requests.collect(), candidates, Options::default(), |_| {}).unwrap()
}

fn items() -> String {
    let item = |n: u32| format!("{{\"id\": \"{n}\", \"user\": \"user-{}\"}}\n", n % 150);
    (0..600).map(item).collect()
}

#[test]
fn of_equals_the_one_with_fewer_warnings_and_then_the_simpler_is_first() {
    let query = json!({"kind": "items of a user", "operation": "query", "filters": {"/user": "?"},
        "frequency": {"perDay": 1000}});
    let reports = reports(&items(), &["/id", "/user in 200 buckets", "/user"], &[query]);
    let ranked = rank(reports);
    let strategies: Vec<_> = ranked.iter().map(|one| one.report.strategy.to_string()).collect();
    assert_eq!(strategies, ["/user", "/user in 200 buckets", "/id"]);
    assert_eq!(ranked.iter().map(|one| one.place).collect::<Vec<_>>(), [1, 2, 3]);
}

/// A risk counts as much as twice the request units: not more, or nothing would weigh against it.
#[test]
fn a_risk_doubles_the_score() {
    let query = json!({"kind": "items of a user", "operation": "query", "filters": {"/user": "?"},
        "frequency": {"perDay": 1000}});
    for standing in rank(reports(&items(), &["/id", "/user"], &[query])) {
        let factor = 2_f64.powi(i32::try_from(standing.risks.len()).unwrap());
        let doubled = standing.report.request_units_per_day.value * factor;
        assert!((standing.score() - doubled).abs() < 1e-9);
        assert!(!standing.risks.contains(&"not-aligned"), "its harm is in the request units");
    }
}

#[test]
fn without_candidates_there_is_no_advice() {
    assert!(super::Advice::new(Vec::new(), &[], &Question::default()).is_none());
}
