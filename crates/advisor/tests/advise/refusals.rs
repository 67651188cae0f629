//! Input that cannot be used is refused with the place and with what to write.

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
        let said = folder.advise(arguments);
        assert_eq!((said.code, said.out.as_str()), (2, ""), "{arguments:?}: {}", said.err);
        for text in with {
            assert!(said.err.contains(text), "{arguments:?}: {text}: {}", said.err);
        }
    };
    refused(&[], &["--items"]);
    refused(&["--items", "none.jsonl"], &["none.jsonl cannot be read"]);
    refused(&["--items", "broken.jsonl", "--candidate", "/id"], &["broken.jsonl", "line 2"]);
    refused(&["--items", "list.jsonl", "--candidate", "/id"], &["line 1", "a JSON object"]);
    refused(&["--items", "empty.jsonl", "--candidate", "/id"], &["has no items"]);
    refused(&["--items", "flat.jsonl"], &["name one by --candidate"]);
    // The same, when keys are to be proposed of what can be read.
    refused(&["--items", "list.jsonl"], &["line 1", "a JSON object"]);
    refused(&["--items", "empty.jsonl"], &["has no items"]);
    refused(&["--items", "."], &["cannot be read"]);
    refused(&["--items", "-", "--items", "-"], &["once"]);
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

#[test]
fn help_shows_a_request_a_key_and_the_exit_codes() {
    let said = posts::folder().advise(&["--help"]);
    assert_eq!(said.code, 0);
    insta::assert_snapshot!(said.out);
}
