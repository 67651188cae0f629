//! Input that cannot be used is refused with its place and the remedy.

use serde_json::{Value, json};

use super::{items, posts};

#[test]
fn each_wrong_input_is_exit_code_2_and_a_sentence() {
    let large = "a".repeat(2 << 20);
    let folder = posts()
        .with("broken.jsonl", "{\"id\": \"1\"}\n{\"id\": \n")
        .with("large.jsonl", &format!("{{}}\n{{\"id\": \"2\", \"text\": \"{large}\"}}\n"))
        .with("list.jsonl", "[1]\n")
        .with("empty.jsonl", "\n")
        .with("flat.jsonl", "{\"done\": true}\n")
        .with("table.csv", "a,b\n1,2\n")
        .with("wrong.toml", "[volume]\nitem = 5\n")
        .with("half.json", "[{\"id\": \"1\"},\n {\"id\": \"2\"}")
        .with("comma.csv", "OperationName;RequestCharge\nRead;1.000\n")
        .with("packed.zip", "PK\u{3}\u{4}");
    std::fs::write(folder.path("items.zst"), b"\x28\xB5\x2F\xFD").unwrap();
    std::fs::write(folder.path("windows.csv"), b"\xFF\xFEa\0").unwrap();
    std::fs::write(folder.path("head.csv"), b"Stra\xDFe,b\n1,2\n").unwrap();
    std::fs::write(folder.path("row.csv"), b"a,b\n1,2\nZ\xFCrich,2\n").unwrap();
    for (line, with) in [
        ("", &["--items"][..]),
        ("--items none.jsonl", &["none.jsonl cannot be read"]),
        ("--characteristics wrong.toml", &["wrong.toml", "line 2", "`items`", "[access]"]),
        ("--items broken.jsonl --candidate /id", &["broken.jsonl", "line 2"]),
        ("--items large.jsonl --candidate /id", &["line 2: the item has 2097172 bytes"]),
        ("--items list.jsonl --candidate /id", &["item 1", "a JSON object"]),
        ("--items empty.jsonl --candidate /id", &["has no items"]),
        ("--items flat.jsonl", &["name one by --candidate"]),
        ("--items .", &["cannot be read"]),
        ("--items half.json", &["half.json", "its array does not end"]),
        ("--items items.zst", &["items.zst", "Zstandard", "`zstd -d FILE`"]),
        ("--items packed.zip", &["packed.zip", "`unzip FILE`"]),
    ] {
        folder.refused(line, with);
    }
    for (line, with) in [
        ("--candidate userId", &["begin with /"][..]),
        ("--requests empty.jsonl", &["has no request", "\"perDay\""]),
        ("--traffic table.csv", &["table.csv", "columns a, b"]),
        ("--traffic windows.csv", &["windows.csv", "`iconv -f UTF-16"]),
        ("--traffic head.csv", &["head.csv: is not UTF-8", "`iconv -f WINDOWS-1252 -t UTF-8"]),
        ("--traffic row.csv", &["row.csv: is not UTF-8", "record 2", "`iconv -f WINDOWS-1252"]),
        ("--traffic comma.csv", &["comma.csv: RequestCharge such as 0.000"]),
        ("--containers items.jsonl --container posts", &["infra/containers.json"]),
        // The number of items that a value finds depends on the draw, and so does the key.
        ("--items-in-container 4000", &["say by --sampled how the file was drawn"]),
        ("--items-in-container 4000 --sampled keys", &["give the key by --current"]),
        ("--items-in-container 4000 --sampled some", &["write items, keys, or the key of which"]),
        ("--items-in-container 1599 --sampled items", &["less than the 1600 items of the sample"]),
        ("--items-per-day NaN", &["--items-per-day"]),
        ("--traffic items.jsonl --days 0", &["--days"]),
    ] {
        folder.refused(&format!("--items items.jsonl {line}"), with);
    }
}

#[test]
fn a_request_without_a_meaning_or_with_two_is_refused() {
    let query = |filters: &str| {
        format!("{{\"kind\": \"a\", \"operation\": \"query\", \"filters\": {{{filters}}}}}")
    };
    let range = |range: &str| query(&format!("\"/createdAt\": {range}"));
    let of = |operation: &str, more: Value| {
        let mut request = json!({"kind": "a", "operation": operation});
        request.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        request.to_string()
    };
    let writes = |writes: Value| of("transaction", json!({"writes": writes}));
    for (line, with) in [
        (of("query", json!({"filter": {}})), &["unknown field `filter`", "`filters`"][..]),
        (of("query", json!({"frequency": {"perDay": -1}})), &["from 0 on"]),
        (query("\"/tag\": \"a\", \"/tag\": \"?\""), &["/tag has two filters", "from"]),
        (query("\"/tag\": \"a\", \"/\\\"tag\\\"\": \"?\""), &["/tag has two filters"]),
        (
            query(r#""/createdAt": {"last": "1 day"}, "/id": {"last": "2 days"}"#),
            &["one property may have a `last`"],
        ),
        (range(r#"{"from": "2026-06-01", "to": "2026-05-01"}"#), &["/createdAt: `from` is not"]),
        (range(r#"{"from": 3, "to": "4"}"#), &["two texts, or two numbers"]),
        (range("{}"), &["`from`, `to`, or both"]),
        (range("[]"), &["an empty list finds nothing"]),
        (range(r#"{"last": "a while"}"#), &["such as \"30 days\""]),
        (range(r#"{"since": 1}"#), &["a list of values, or"]),
        (of("scan", json!({})), &["unknown variant `scan`"]),
        (of("query", json!({"orderBy": "newest"})), &["/createdAt desc"]),
        (
            writes(json!([{"operation": "create", "items": 100}, {"operation": "patch"}])),
            &["at most 100", "101", "split it"],
        ),
        (writes(json!([{"operation": "create", "items": 0}])), &["1 or more"]),
        (writes(json!([{"operation": "query"}])), &["a request of its own"]),
        (of("read", json!({"set": ["/tag"]})), &["`set`"]),
        (of("create", json!({"limit": 5})), &["only a query has `limit`"]),
        (of("query", json!({"limit": 0})), &["`limit` is 1 or more"]),
        (of("query", json!({"writes": [{"operation": "create"}]})), &["only a transaction"]),
    ] {
        let folder = posts().with("one.jsonl", &line);
        let with = [&["one.jsonl, line 1"], with].concat();
        folder.refused("--items items.jsonl --requests one.jsonl", &with);
    }
    let twice = of("query", json!({})) + "\n" + &of("read", json!({}));
    let folder = posts().with("twice.jsonl", &twice);
    folder.refused("--items items.jsonl --requests twice.jsonl", &["line 2", "its own name"]);
}

#[test]
fn a_misspelt_property_is_refused_with_the_one_that_may_be_meant() {
    let request = json!({"kind": "a", "operation": "query", "filters": {"/usrId": "?"}});
    let some: String = items().lines().take(160).map(|line| line.to_owned() + "\n").collect();
    let folder = posts().with("items.jsonl", &some).with("requests.jsonl", &request.to_string());
    for (arguments, with) in [
        (
            "--requests requests.jsonl",
            &["no item has /usrId", "the request \"a\"", "did you mean /userId?"][..],
        ),
        ("--candidate /userID", &["the key /userID", "did you mean /userId?"]),
        ("--candidate /author/userId", &["did you mean /userId?"]),
        ("--current /tga", &["did you mean /tag?"]),
        ("--time /created", &["--time", "did you mean /createdAt?"]),
        ("--unique /contents", &["did you mean /content?"]),
        ("--candidate /zebra", &["they have /", "/createdAt", "/userId"]),
    ] {
        folder.refused(&format!("--items items.jsonl {arguments}"), with);
    }
}

/// One of two notations of a property is a mistake.
#[test]
fn a_notation_that_few_items_have_is_refused_and_a_rare_property_is_told() {
    let few = "{\"id\": \"x\", \"userID\": \"1\", \"comment\": \"c\"}\n".repeat(20);
    let folder = posts().with("items.jsonl", &(items() + &few));
    folder.refused(
        "--items items.jsonl --candidate /userID",
        &["20 of 1620 items have /userID", "1600 of 1620 have /userId: did you mean that?"],
    );
    let output = folder.advise_line("--items items.jsonl --candidate /comment");
    assert_eq!(output.code, 0, "{}", output.err);
    assert!(output.out.contains("/comment 1 % (the key /comment)"), "{}", output.out);
}

#[test]
fn help_shows_a_request_a_key_and_the_exit_codes() {
    let output = posts().advise(&["--help"]);
    assert_eq!(output.code, 0);
    insta::assert_snapshot!(output.out);
}
