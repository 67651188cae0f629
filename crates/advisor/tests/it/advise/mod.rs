//! `tributary-partition advise`: the posts of 200 users over a year, and the requests of their readers.

use serde_json::{Value, json};

use crate::support::Folder;

mod beyond_a_key;
mod characteristics;
mod page;
mod ranking;
mod refusals;
mod traffic;

const REQUESTS: &str = r#"{"kind": "posts of a user", "operation": "query", "filters": {"/userId": "?"}, "limit": 20, "orderBy": "/createdAt desc", "frequency": {"perDay": 12000}}
{"kind": "read a post", "operation": "read", "filters": {"/id": "?", "/userId": "?"}, "frequency": {"perDay": 40000}}
{"kind": "posts of a tag", "operation": "query", "filters": {"/tag": "?"}, "limit": 20, "frequency": {"perDay": 9000}}
{"kind": "create a post", "operation": "create", "filters": {"/userId": "?"}, "frequency": {"perDay": 200}}
"#;

/// Returns 1,600 posts of 200 users, ten tags; user and tag are independent of each other. One user writes more than
/// the others.
fn items() -> String {
    let item = |n: u32| {
        json!({
            "id": format!("post-{n}"),
            "userId": format!("user-{}", if n.is_multiple_of(100) { 7 } else { n * 7 % 200 }),
            "tag": format!("tag-{}", n / 160 % 10),
            "createdAt": format!("2026-{:02}-{:02}T08:30:00.000Z", n % 12 + 1, n / 12 % 28 + 1),
            "content": "c".repeat(200),
        })
    };
    (0..1_600).map(|n| item(n).to_string() + "\n").collect()
}

/// The arguments for a container of which the posts of some users were drawn.
#[rustfmt::skip]
const LARGE: [&str; 10] = [
    "--items", "items.jsonl", "--requests", "requests.jsonl", "--container", "posts",
    "--items-in-container", "400000000", "--sampled", "/userId",
];

fn posts() -> Folder {
    Folder::new().with("items.jsonl", &items()).with("requests.jsonl", REQUESTS)
}

fn advice(folder: &Folder, arguments: &[&str]) -> Value {
    let output = folder.advise(&[arguments, &["--json"]].concat());
    assert!(output.code < 2, "{}", output.err);
    serde_json::from_str(&output.out).unwrap()
}

fn large(folder: &Folder, more: &[&str]) -> Value {
    advice(folder, &[&LARGE[..], more].concat())
}
