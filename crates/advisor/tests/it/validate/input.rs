//! Items and requests as input.

use serde_json::json;
use tributary_partition::{RequestKind, sample};

#[test]
fn a_line_that_is_longer_than_any_item_is_named() {
    let text = format!("{{}}\n{}", "x".repeat(33 << 20));
    let error = sample::read(text.as_bytes(), |_| {}).unwrap_err().to_string();
    assert!(error.starts_with("line 2: longer than 32 MB"), "{error}");
}

#[test]
fn a_file_from_windows_is_read_too() {
    let mut ids = Vec::new();
    let text = "\u{feff}{\"id\": \"1\"}\r\n\r\n  {\"id\": \"2\"}";
    let read = sample::read(text.as_bytes(), |items| {
        ids.extend(items.iter().map(|item| (item.value["id"].clone(), item.bytes)));
    });
    read.unwrap();
    assert_eq!(ids, [(json!("1"), 10), (json!("2"), 10)]);
}

#[test]
fn a_kind_of_request_is_read_and_written() {
    let json = json!({
        "kind": "posts of a user", "operation": "query",
        "filters": {"/userId": "?", "/createdAt": {"last": "30 days"}, "/status": ["new", "paid"]},
        "limit": 20, "orderBy": "/createdAt desc", "select": ["/title"], "frequency": {"perDay": 12000.0},
    });
    let request: RequestKind = serde_json::from_value(json.clone()).unwrap();
    let written = serde_json::to_value(&request).unwrap();
    assert_eq!(written["filters"]["/createdAt"], json!({"last": "2592000 seconds"}));
    let again: RequestKind = serde_json::from_value(written).unwrap();
    assert_eq!(again, request);
    assert_eq!(request.per_day(), Some(12_000.0));
    let count: RequestKind =
        serde_json::from_value(json!({"kind": "n", "operation": "query", "select": "count"}))
            .unwrap();
    assert_eq!(serde_json::to_value(count).unwrap()["select"], "count");
}
