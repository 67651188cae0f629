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
    let output = folder.advise(&[
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
    assert!(output.code < 2, "{}", output.err);
    insta::assert_snapshot!(folder.read("derived.jsonl"));
    assert!(output.out.contains("Measured traffic"), "{}", output.out);
    assert!(output.out.contains("5 rows of 1.0 days"), "{}", output.out);
    // --requests reads the derived requests.
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
    assert!(output.out.starts_with(&again.out), "{}\n{}", output.out, again.out);
}

/// A measured query cannot be misspelt: its property may be gone.
#[test]
fn a_measured_query_by_a_property_that_no_item_has_is_told_and_not_refused() {
    let texts = TEXTS.replace("c.tag = @tag", "c.deleted = @deleted");
    let folder = posts::folder().with("export.csv", EXPORT).with("texts.json", &texts);
    let output = folder.advise(&[
        "--items",
        "items.jsonl",
        "--traffic",
        "export.csv",
        "texts.json",
        "--current",
        "/userId",
    ]);
    assert!(output.code < 2, "{}", output.err);
    assert!(
        output.out.contains("/deleted 0 % (the request \"query by /deleted\")"),
        "{}",
        output.out
    );
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
    let output = folder.advise(&[
        "--items",
        "items.jsonl",
        "--requests",
        "requests.jsonl",
        "--traffic",
        "lines.jsonl",
        "--json",
    ]);
    assert_eq!(output.code, 0, "{}", output.err);
    let advice: serde_json::Value = serde_json::from_str(&output.out).unwrap();
    assert_eq!(advice["ranked"][0]["report"]["requests"][0]["perDay"], 4.0);
    assert_eq!(advice["ranked"][0]["report"]["requests"][1]["perDay"], 40000.0);
    assert!(
        advice["traffic"]["notes"][0].as_str().unwrap().contains("Other"),
        "{}",
        advice["traffic"]
    );
}
