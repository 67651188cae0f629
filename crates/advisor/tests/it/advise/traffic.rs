//! Requests from measured traffic.

use serde_json::{Value, json};

use super::posts;

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
    let folder = posts().with("export.csv", EXPORT).with("texts.json", TEXTS);
    let posts = "--items items.jsonl --current /userId --container posts";
    let output = folder.advise_line(&format!(
        "{posts} --traffic export.csv texts.json --write-requests derived.jsonl"
    ));
    assert!(output.code < 2, "{}", output.err);
    insta::assert_snapshot!(folder.read("derived.jsonl"));
    assert!(output.out.contains("Measured traffic"), "{}", output.out);
    assert!(output.out.contains("5 rows of 1.0 days"), "{}", output.out);
    // --requests reads the derived requests.
    let again = folder.advise_line(&format!("{posts} --requests derived.jsonl"));
    assert!(again.code < 2, "{}", again.err);
    assert!(output.out.starts_with(&again.out), "{}\n{}", output.out, again.out);
}

/// A measured query cannot be misspelt: its property may be gone.
#[test]
fn a_measured_query_by_a_property_that_no_item_has_is_told_and_not_refused() {
    let texts = TEXTS.replace("c.tag = @tag", "c.deleted = @deleted");
    let folder = posts().with("export.csv", EXPORT).with("texts.json", &texts);
    let line = "--items items.jsonl --traffic export.csv texts.json";
    let output = folder.advise_line(&format!("{line} --current /userId"));
    assert!(output.code < 2, "{}", output.err);
    let told = "/deleted 0 % (the request \"query by /deleted\")";
    assert!(output.out.contains(told), "{}", output.out);
    folder.refused(&format!("{line} --candidate /deleted"), &["no item has /deleted"]);
}

/// The name of a tag is no property of an item: neither a key nor an index is made of it.
#[test]
fn a_text_that_is_not_understood_decides_nothing_and_says_so() {
    let texts = TEXTS.replace("WHERE c.tag", "JOIN t IN c.tags WHERE t.name");
    let folder = posts().with("export.csv", EXPORT).with("texts.json", &texts);
    let output = folder.advise_line(
        "--items items.jsonl --current /userId --traffic export.csv texts.json --write-requests derived.jsonl",
    );
    assert!(output.code < 2, "{}", output.err);
    let told = "Queries whose text has JOIN count without filters: write them by hand";
    assert!(output.out.contains(told) && !output.out.contains("/name"), "{}", output.out);
    let query = r#""kind":"query without a certain filter (its text has JOIN)","operation":"query","frequency""#;
    assert!(folder.read("derived.jsonl").contains(query));
}

#[test]
fn lines_of_the_handler_give_the_frequencies() {
    let line = |function: &str, hour: u32| {
        let at = format!("2026-11-22T{hour:02}:00:00Z");
        json!({"timestamp": at, "message": "Answered a request", "function": function}).to_string()
    };
    let lines = [line("posts of a user", 0), line("posts of a user", 6), line("Other", 12)];
    let folder = posts().with("lines.jsonl", &lines.join("\n"));
    let output = folder
        .advise_line("--items items.jsonl --requests requests.jsonl --traffic lines.jsonl --json");
    assert_eq!(output.code, 0, "{}", output.err);
    let advice: Value = serde_json::from_str(&output.out).unwrap();
    let requests = &advice["ranked"][0]["report"]["requests"];
    assert_eq!((&requests[0]["perDay"], &requests[1]["perDay"]), (&json!(4.0), &json!(40000.0)));
    let notes = advice["traffic"]["notes"].to_string();
    assert!(notes.contains("Other"), "{notes}");
}
