//! Requests from measured traffic.

use crate::posts;

const EXPORT: &str = "\
TimeGenerated,OperationName,CollectionName,Requests,RequestCharge
2026-11-20T00:00:00Z,Read,posts,40000,40000
2026-11-20T00:00:00Z,Query,posts,12000,60000
2026-11-20T00:00:00Z,Create,posts,200,1700
";

const TEXTS: &str = r#"[
{"TimeGenerated": "2026-11-20T00:00:00Z", "CollectionName": "posts", "count_": 100, "QueryText": "SELECT * FROM c WHERE c.userId = @user ORDER BY c.createdAt DESC"},
{"TimeGenerated": "2026-11-20T00:00:00Z", "CollectionName": "posts", "count_": 20, "QueryText": "SELECT * FROM c WHERE c.tag = @tag"}
]"#;

#[test]
fn a_year_of_traffic_is_advice_without_requests() {
    let folder = posts::folder().with("export.csv", EXPORT).with("texts.json", TEXTS);
    let said = folder.advise(&[
        "--items",
        "items.jsonl",
        "--traffic",
        "export.csv",
        "texts.json",
        "--current",
        "/userId",
        "--container",
        "posts",
        "--write-requests",
        "derived.jsonl",
    ]);
    assert!(said.code < 2, "{}", said.err);
    insta::assert_snapshot!(folder.read("derived.jsonl"));
    assert!(said.out.contains("Measured traffic"), "{}", said.out);
    assert!(said.out.contains("5 rows of 1.0 days"), "{}", said.out);
    // What was derived is what --requests reads.
    let again = folder.advise(&[
        "--items",
        "items.jsonl",
        "--requests",
        "derived.jsonl",
        "--current",
        "/userId",
        "--container",
        "posts",
    ]);
    assert!(again.code < 2, "{}", again.err);
    assert!(said.out.starts_with(&again.out), "{}\n{}", said.out, again.out);
}

/// A query that was measured cannot be misspelt: what it filters by may be gone.
#[test]
fn a_measured_query_by_a_property_that_no_item_has_is_told_and_not_refused() {
    let texts = TEXTS.replace("c.tag = @tag", "c.deleted = @deleted");
    let folder = posts::folder().with("export.csv", EXPORT).with("texts.json", &texts);
    let said = folder.advise(&[
        "--items",
        "items.jsonl",
        "--traffic",
        "export.csv",
        "texts.json",
        "--current",
        "/userId",
    ]);
    assert!(said.code < 2, "{}", said.err);
    assert!(said.out.contains("/deleted 0 % (the request \"query by /deleted\")"), "{}", said.out);
    let refused = folder.advise(&[
        "--items",
        "items.jsonl",
        "--traffic",
        "export.csv",
        "texts.json",
        "--candidate",
        "/deleted",
    ]);
    assert!(refused.code == 2 && refused.err.contains("no item has /deleted"), "{}", refused.err);
}

/// A text with OR counts as a scan; the export says what its queries were charged.
#[test]
fn what_was_charged_is_compared_with_the_estimates() {
    let export = EXPORT.replace("Query,posts,12000,60000", "Query,posts,12000,36000");
    let texts = r#"{"TimeGenerated": "2026-11-20T00:00:00Z", "CollectionName": "posts", "QueryText": "SELECT * FROM c WHERE c.userId = @a OR c.userId = @b"}"#;
    let folder = posts::folder().with("export.csv", &export).with("texts.json", texts);
    let said = folder.advise(&[
        "--items",
        "items.jsonl",
        "--traffic",
        "export.csv",
        "texts.json",
        "--current",
        "/userId",
        "--container",
        "posts",
    ]);
    assert!(said.code < 2, "{}", said.err);
    let same = "Operation read: charged 40,000 RU a day, estimated for /userId 40,000, the same within the error.";
    assert!(said.out.contains(same), "{}", said.out);
    assert!(said.out.contains("Operation query: charged 36,000 RU a day"), "{}", said.out);
    assert!(said.out.contains("times as much: a filter is missing"), "{}", said.out);
}

#[test]
fn lines_of_the_handler_give_the_frequencies() {
    let line = |function: &str, hour: u32| {
        format!(
            "{{\"timestamp\":\"2026-11-22T{hour:02}:00:00Z\",\"message\":\"Answered a request\",\"function\":\"{function}\"}}\n"
        )
    };
    let lines =
        [line("posts of a user", 0), line("posts of a user", 6), line("Other", 12)].concat();
    let folder = posts::folder().with("lines.jsonl", &lines);
    let said = folder.advise(&[
        "--items",
        "items.jsonl",
        "--requests",
        "requests.jsonl",
        "--traffic",
        "lines.jsonl",
        "--json",
    ]);
    assert_eq!(said.code, 0, "{}", said.err);
    let advice: serde_json::Value = serde_json::from_str(&said.out).unwrap();
    assert_eq!(advice["ranked"][0]["report"]["requests"][0]["perDay"], 4.0);
    assert_eq!(advice["ranked"][0]["report"]["requests"][1]["perDay"], 40000.0);
    assert!(
        advice["traffic"]["notes"][0].as_str().unwrap().contains("Other"),
        "{}",
        advice["traffic"]
    );
}
