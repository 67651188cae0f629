//! Input that cannot be used is refused with its place and the remedy.

use crate::posts;

#[test]
fn each_wrong_input_is_exit_code_2_and_a_sentence() {
    let folder = posts::folder()
        .with("broken.jsonl", "{\"id\": \"1\"}\n{\"id\": \n")
        .with("list.jsonl", "[1]\n")
        .with("empty.jsonl", "\n")
        .with("flat.jsonl", "{\"done\": true}\n")
        .with("unknown.jsonl", "{\"kind\": \"a\", \"operation\": \"query\", \"filter\": {}}\n")
        .with("twice.jsonl", "{\"kind\": \"a\", \"operation\": \"query\"}\n{\"kind\": \"a\", \"operation\": \"read\"}\n")
        .with("negative.jsonl", "{\"kind\": \"a\", \"operation\": \"query\", \"frequency\": {\"perDay\": -1}}\n")
        .with("table.csv", "a,b\n1,2\n");
    let refused = |arguments: &[&str], with: &[&str]| {
        let output = folder.advise(arguments);
        assert_eq!((output.code, output.out.as_str()), (2, ""), "{arguments:?}: {}", output.err);
        for text in with {
            assert!(output.err.contains(text), "{arguments:?}: {text}: {}", output.err);
        }
    };
    refused(&[], &["--items"]);
    refused(&["--items", "none.jsonl"], &["none.jsonl cannot be read"]);
    refused(&["--items", "broken.jsonl", "--candidate", "/id"], &["broken.jsonl", "line 2"]);
    refused(&["--items", "list.jsonl", "--candidate", "/id"], &["line 1", "a JSON object"]);
    refused(&["--items", "empty.jsonl", "--candidate", "/id"], &["has no items"]);
    refused(&["--items", "flat.jsonl"], &["name one by --candidate"]);
    // The same holds where keys are proposed.
    refused(&["--items", "list.jsonl"], &["line 1", "a JSON object"]);
    refused(&["--items", "empty.jsonl"], &["has no items"]);
    refused(&["--items", "."], &["cannot be read"]);
    refused(&["--items", "items.jsonl", "--candidate", "userId"], &["begin with /"]);
    refused(&["--items", "items.jsonl", "--candidate", "/a by hour"], &["by day"]);
    for (option, bad) in [
        ("--items-per-day", &["NaN", "-5", "inf", "many"][..]),
        ("--items-in-container", &["0", "-1", "1.5"]),
        ("--days", &["0", "-1", "NaN"]),
    ] {
        for bad in bad {
            let given = format!("{option}={bad}");
            refused(&["--items", "items.jsonl", "--traffic", "items.jsonl", &given], &[option]);
        }
    }
    let requests = |file, with: &[&str]| {
        refused(&["--items", "items.jsonl", "--requests", file], with);
    };
    requests("none.jsonl", &["none.jsonl cannot be read"]);
    requests("unknown.jsonl", &["unknown.jsonl, line 1", "unknown field `filter`", "`filters`"]);
    requests("twice.jsonl", &["line 2", "its own name"]);
    requests("negative.jsonl", &["line 1", "from 0 on"]);
    requests("empty.jsonl", &["has no request", "\"perDay\""]);
    refused(&["--items", "items.jsonl", "--traffic", "table.csv"], &["table.csv", "columns a, b"]);
    refused(
        &["--items", "items.jsonl", "--containers", "items.jsonl", "--container", "posts"],
        &["infra/containers.json"],
    );
    refused(&["--items", "items.jsonl", "--containers", "items.jsonl"], &["--container"]);
}

/// Runs `advise` with this line of requests, and expects a refusal that says all of `with`.
#[track_caller]
fn refused_request(line: &str, with: &[&str]) {
    let folder = posts::folder().with("one.jsonl", line);
    let output = folder.advise(&["--items", "items.jsonl", "--requests", "one.jsonl"]);
    assert_eq!((output.code, output.out.as_str()), (2, ""), "{line}: {}", output.err);
    for text in [&["one.jsonl, line 1"], with].concat() {
        assert!(output.err.contains(text), "{line}: {text}: {}", output.err);
    }
}

#[test]
fn two_filters_on_one_property_are_refused() {
    let query = |filters: &str| {
        format!("{{\"kind\": \"a\", \"operation\": \"query\", \"filters\": {{{filters}}}}}")
    };
    refused_request(&query("\"/tag\": \"a\", \"/tag\": \"?\""), &["/tag has two filters", "from"]);
    refused_request(&query("\"/tag\": \"a\", \"/\\\"tag\\\"\": \"?\""), &["/tag has two filters"]);
    refused_request(
        &query("\"/createdAt\": {\"last\": \"1 day\"}, \"/id\": {\"last\": \"2 days\"}"),
        &["one property may have a `last`"],
    );
}

#[test]
fn a_range_that_ends_before_it_begins_is_refused() {
    let query = |range: &str| {
        format!(
            "{{\"kind\": \"a\", \"operation\": \"query\", \"filters\": {{\"/createdAt\": {range}}}}}"
        )
    };
    let backwards = &["/createdAt: `from` is not before `to`"];
    refused_request(&query(r#"{"from": "2026-06-01", "to": "2026-05-01"}"#), backwards);
    refused_request(&query(r#"{"from": 3, "to": 3}"#), backwards);
    refused_request(&query(r#"{"from": 3, "to": "4"}"#), &["two texts, or two numbers"]);
    refused_request(&query("{}"), &["`from`, `to`, or both"]);
    refused_request(&query("[]"), &["an empty list finds nothing"]);
}

#[test]
fn a_transaction_has_at_most_100_writes_and_no_query() {
    let transaction = |writes: &str| {
        format!("{{\"kind\": \"a\", \"operation\": \"transaction\", \"writes\": [{writes}]}}")
    };
    let many = r#"{"operation": "create", "items": 100}, {"operation": "patch"}"#;
    refused_request(&transaction(many), &["at most 100", "101", "split it"]);
    refused_request(&transaction(r#"{"operation": "create", "items": 0}"#), &["1 or more"]);
    refused_request(&transaction(r#"{"operation": "query"}"#), &["a request of its own"]);
    refused_request(&transaction(r#"{"operation": "transaction"}"#), &["a request of its own"]);
}

#[test]
fn a_field_that_the_operation_lacks_is_refused() {
    let request = |operation: &str, more: &str| {
        format!("{{\"kind\": \"a\", \"operation\": \"{operation}\", {more}}}")
    };
    refused_request(&request("read", "\"set\": [\"/tag\"]"), &["`set`"]);
    refused_request(&request("create", "\"limit\": 5"), &["only a query has `limit`"]);
    refused_request(&request("patch", "\"orderBy\": \"/tag\""), &["only a query has"]);
    refused_request(&request("query", "\"limit\": 0"), &["`limit` is 1 or more"]);
    refused_request(
        &request("query", "\"writes\": [{\"operation\": \"create\"}]"),
        &["only a transaction"],
    );
}

#[test]
fn an_item_larger_than_the_service_stores_is_refused() {
    let large =
        format!("{{\"id\": \"1\"}}\n{{\"id\": \"2\", \"text\": \"{}\"}}\n", "a".repeat(2 << 20));
    let folder = posts::folder().with("large.jsonl", &large);
    let output = folder.advise(&["--items", "large.jsonl", "--candidate", "/id"]);
    assert_eq!((output.code, output.out.as_str()), (2, ""));
    assert!(output.err.contains("line 2: the item has 2097172 bytes"), "{}", output.err);
}

/// The number of items that a value finds depends on the draw, and so does the key.
#[test]
fn a_sample_is_refused_that_does_not_say_how_it_was_drawn() {
    let folder = posts::folder();
    let large = ["--items", "items.jsonl", "--items-in-container", "400000000"];
    for (more, error) in [
        (&[][..], "say by --sampled how the file was drawn"),
        (&["--sampled", "keys"], "give the key by --current"),
        (&["--sampled", "some"], "write items, keys, or the key of which whole values were drawn"),
    ] {
        let output = folder.advise(&[&large[..], more].concat());
        assert_eq!((output.code, output.out.as_str()), (2, ""));
        assert!(output.err.contains(error), "{}", output.err);
    }
}

#[test]
fn a_container_has_at_least_the_items_of_its_sample() {
    let small = ["--items", "items.jsonl", "--items-in-container", "1599", "--sampled", "items"];
    let output = posts::folder().advise(&small);
    assert_eq!((output.code, output.out.as_str()), (2, ""));
    assert!(output.err.contains("less than the 1600 items of the sample"), "{}", output.err);
}

#[test]
fn a_misspelt_property_is_refused_with_the_one_that_may_be_meant() {
    let query = |path: &str| {
        format!("{{\"kind\": \"a\", \"operation\": \"query\", \"filters\": {{\"{path}\": \"?\"}}}}")
    };
    let folder = posts::folder().with("requests.jsonl", &query("/usrId"));
    let refused = |arguments: &[&str], with: &[&str]| {
        let output = folder.advise(&[&["--items", "items.jsonl"], arguments].concat());
        assert_eq!((output.code, output.out.as_str()), (2, ""), "{}", output.err);
        for text in with {
            assert!(output.err.contains(text), "{arguments:?}: {text}: {}", output.err);
        }
    };
    let requests = ["--requests", "requests.jsonl"];
    refused(&requests, &["no item has /usrId", "the request \"a\"", "did you mean /userId?"]);
    refused(&["--candidate", "/userID"], &["the key /userID", "did you mean /userId?"]);
    refused(&["--candidate", "/author/userId"], &["did you mean /userId?"]);
    refused(&["--current", "/tga"], &["did you mean /tag?"]);
    refused(&["--time", "/created"], &["--time", "did you mean /createdAt?"]);
    refused(&["--candidate", "/zebra"], &["they have /", "/createdAt", "/userId"]);
}

/// One of two notations of a property is a mistake.
#[test]
fn a_notation_that_few_items_have_is_refused_and_a_rare_property_is_told() {
    let few = "{\"id\": \"x\", \"userID\": \"1\", \"comment\": \"c\"}\n".repeat(20);
    let folder = posts::folder().with("items.jsonl", &(posts::items() + &few));
    let arguments = ["--items", "items.jsonl", "--candidate"];
    let output = folder.advise(&[&arguments[..], &["/userID"]].concat());
    assert_eq!(output.code, 2);
    assert!(output.err.contains("20 of 1620 items have /userID"), "{}", output.err);
    assert!(output.err.contains("1600 of 1620 have /userId: did you mean that?"), "{}", output.err);
    let output = folder.advise(&[&arguments[..], &["/comment"]].concat());
    assert_eq!(output.code, 0, "{}", output.err);
    assert!(output.out.contains("/comment 1 % (the key /comment)"), "{}", output.out);
}

#[test]
fn help_shows_a_request_a_key_and_the_exit_codes() {
    let output = posts::folder().advise(&["--help"]);
    assert_eq!(output.code, 0);
    insta::assert_snapshot!(output.out);
}
