//! Items and requests as input.

use serde_json::json;
use tributary_partition::{RequestKind, sample};

fn error(text: &str) -> String {
    sample::read(text.as_bytes(), |_| {}).unwrap_err().to_string()
}

#[test]
fn a_line_that_is_no_item_is_named() {
    assert!(error("{}\n\n{\"a\":}\n").starts_with("line 3: not JSON (expected value"));
    assert_eq!(error("{}\n[]\n"), r#"line 2: an item is a JSON object, such as {"id": "1"}"#);
    assert!(
        error(&format!("{{}}\n{}", "x".repeat(33 << 20))).starts_with("line 2: longer than 32 MB")
    );
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

#[test]
fn a_request_without_a_meaning_is_refused_with_a_remedy() {
    let error = |json| serde_json::from_value::<RequestKind>(json).unwrap_err().to_string();
    let of = |filters| json!({"kind": "k", "operation": "query", "filters": filters});
    assert!(error(of(json!({"/at": {"last": "a while"}}))).contains("such as \"30 days\""));
    assert!(error(of(json!({"/at": {"since": 1}}))).contains("a list of values, or"));
    assert!(error(of(json!({"at": "?"}))).contains("begin with /"));
    assert!(error(json!({"kind": "k", "operation": "scan"})).contains("unknown variant `scan`"));
    assert!(
        error(json!({"kind": "k", "operation": "query", "per": 1})).contains("unknown field `per`")
    );
    assert!(
        error(json!({"kind": "k", "operation": "query", "orderBy": "newest"}))
            .contains("/createdAt desc")
    );
}
