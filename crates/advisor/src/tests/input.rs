//! Items and requests as input.

use crate::{CandidateReport, RequestKind, ValidationOptions, validate};
use serde_json::json;

fn read(text: &str) -> anyhow::Result<CandidateReport> {
    let candidates = vec!["/id".parse().unwrap()];
    let options = ValidationOptions::default();
    Ok(validate(text.as_bytes(), vec![], candidates, options)?.remove(0))
}

#[test]
fn a_line_that_is_longer_than_any_item_is_named() {
    let text = format!("{{}}\n{}", "x".repeat(33 << 20));
    let error = read(&text).unwrap_err().to_string();
    assert!(error.starts_with("line 2: longer than 32 MB"), "{error}");
}

#[test]
fn a_kind_of_request_is_read_and_written() {
    let json = json!({
        "kind": "posts of a user", "operation": "query",
        "filters": {"/userId": "?", "/createdAt": {"last": "30 days"}, "/status": ["new", "paid"], "/city": "Basel",
            "/date": {"from": "2026-10-01", "to": "2026-11-22"}},
        "limit": 20, "orderBy": "/createdAt desc", "select": ["/title"], "frequency": {"perDay": 12000.0},
    });
    let request: RequestKind = serde_json::from_value(json.clone()).unwrap();
    let mut written = serde_json::to_value(&request).unwrap();
    let again: RequestKind = serde_json::from_value(written.clone()).unwrap();
    assert_eq!(again, request);
    assert_eq!(written["filters"]["/createdAt"], json!({"last": "2592000 seconds"}));
    written["filters"]["/createdAt"] = json!({"last": "30 days"});
    assert_eq!(written, json);
    assert_eq!(request.per_day(), Some(12_000.0));
    let count: RequestKind =
        serde_json::from_value(json!({"kind": "n", "operation": "query", "select": "count"}))
            .unwrap();
    assert_eq!(serde_json::to_value(count).unwrap()["select"], "count");
}
