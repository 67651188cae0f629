//! Candidates are ranked by the costs of requests and risks, and the best is explained.

use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::{LARGE, REQUESTS, advice, large, posts};
use crate::support::{Folder, random};

fn strategies(advice: &Value) -> Vec<&str> {
    let ranked = advice["ranked"].as_array().unwrap();
    ranked.iter().map(|standing| standing["report"]["strategy"].as_str().unwrap()).collect()
}

#[test]
fn the_given_candidates_are_compared_and_the_best_is_explained() {
    let candidates = ["--candidate", "/userId", "--candidate", "/tag", "--candidate", "/id"];
    let output = posts().advise(&[&LARGE[..], &candidates].concat());
    assert_eq!((output.code, output.err.as_str()), (0, ""));
    insta::assert_snapshot!(output.out);
}

#[test]
fn the_key_that_requests_name_is_proposed_and_is_the_best() {
    let advice = large(&posts(), &[]);
    let strategies = strategies(&advice);
    assert_eq!(strategies[0], "/userId");
    assert_eq!(strategies.len(), 12);
    // Each kind of the guide's matrix has a candidate.
    for part in ["+", ",", " by month", " buckets"] {
        let has_part = strategies.iter().any(|strategy| strategy.contains(part));
        assert!(has_part, "{part}: {strategies:?}");
    }
}

#[test]
fn the_definition_is_an_entry_of_containers_json_that_is_read_again() {
    let folder = posts();
    let advice = large(&folder, &["--candidate", "/tag,/userId"]);
    let entry = &advice["container"]["entry"];
    let folder = folder.with("containers.json", &format!("{{\"containers\": [{entry}]}}"));
    let file = ["--containers", "containers.json", "--candidate", "/userId"];
    let advice = large(&folder, &file);
    assert_eq!(advice["current"], "/tag,/userId");
    assert_eq!(strategies(&advice), ["/userId", "/tag,/userId"]);
}

#[test]
fn a_warning_about_the_current_key_is_exit_code_1() {
    let folder = posts();
    let bad = folder.advise_line(
        "--items items.jsonl --requests requests.jsonl --candidate /userId --current /tag",
    );
    assert_eq!(bad.code, 1);
    for part in ["Findings for /tag (current)", "To change the key from /tag to /userId"] {
        assert!(bad.out.contains(part), "{}", bad.out);
    }
    // The query of a fifth of all items would be enough for a warning about /userId.
    let fitting: Vec<_> = REQUESTS.lines().filter(|line| !line.contains("tag")).collect();
    let folder = folder.with("fitting.jsonl", &fitting.join("\n"));
    let good = folder.advise_line(
        "--items items.jsonl --requests fitting.jsonl --current /userId --items-per-day 200",
    );
    assert_eq!(good.code, 0, "{}", good.out);
    assert!(good.out.contains("keep it"), "{}", good.out);
}

/// Of forty items, chance says which of two values is the one that many items have.
#[test]
fn a_sample_that_is_too_small_to_decide_is_exit_code_3() {
    let value = |n: u64, of: u64| (random(n, of) * 150.0).floor();
    let items = |n_items: u64| -> String {
        let item = |n: u64| json!({"id": n.to_string(), "a": value(n, 4), "b": value(n, 5)});
        (0..n_items).map(|n| item(n).to_string() + "\n").collect()
    };
    let query = |by: &str| {
        json!({"kind": by, "operation": "query", "filters": {by: "?"}, "limit": 20,
            "orderBy": "/id asc", "frequency": {"perDay": 100_000}})
    };
    let requests = format!("{}\n{}\n", query("/a"), query("/b"));
    let run = |n_items: u64| {
        let folder = Folder::new().with("items.jsonl", &items(n_items));
        folder.with("requests.jsonl", &requests).advise_line(
            "--items items.jsonl --requests requests.jsonl --candidate /a --candidate /b \
             --items-in-container 60000 --sampled items --physical-partitions 8",
        )
    };
    let small = run(40);
    assert!(small.out.contains("The sample does not decide: in a half of it, /"), "{}", small.out);
    assert_eq!(small.code, 3);
    let large = run(20_000);
    assert!(large.out.contains("half of the sample"), "{}", large.out);
    assert_eq!(large.code, 0);
}

#[test]
fn a_key_whose_transactions_span_partitions_comes_last() {
    let like = json!({"kind": "like", "operation": "transaction", "filters": {"/userId": "?"},
        "writes": [{"operation": "replace"}, {"operation": "create"}], "frequency": {"perDay": 1}});
    let folder = posts().with("requests.jsonl", &format!("{REQUESTS}{like}\n"));
    let advice = large(&folder, &["--candidate", "/id", "--candidate", "/userId"]);
    assert_eq!(strategies(&advice), ["/userId", "/id"]);
    assert_eq!(advice["ranked"][1]["works"], false);
}

#[test]
fn without_requests_risks_are_ranked_and_the_rest_is_called_unknown() {
    let output = posts().advise(&["--items", "items.jsonl"]);
    assert_eq!(output.code, 0, "{}", output.err);
    for part in [
        "no requests are known, so only risks were compared",
        "Without --requests it is unknown",
        "Sorted by the number of warnings",
    ] {
        assert!(output.out.contains(part), "{part}: {}", output.out);
    }
    assert!(!output.out.contains("Requests with"), "{}", output.out);
}

#[test]
fn several_files_and_stdin_are_one_sample() {
    let folder =
        posts().with("more.jsonl", "{\"id\": \"x\", \"userId\": \"new\", \"tag\": \"new\"}\n");
    let both = ["--items", "items.jsonl", "--items", "more.jsonl", "--candidate", "/userId"];
    assert_eq!(advice(&folder, &both)["items"], 1_601);
    // An export as an array, in any layout, and compressed.
    let lines = folder.read("more.jsonl").replace(',', ",\n");
    let folder = folder.with("array.json", &format!("\u{feff} [\n  {lines},{lines}\n]"));
    let gzip =
        Command::new("gzip").args(["-k", "array.json"]).current_dir(folder.path("")).status();
    assert!(gzip.unwrap().success());
    for name in ["array.json", "array.json.gz"] {
        assert_eq!(advice(&folder, &["--items", name, "--candidate", "/tag"])["items"], 2);
    }
    let file = std::fs::File::open(folder.path("items.jsonl")).unwrap();
    let mut cat = Command::new("cat").stdin(file).stdout(Stdio::piped()).spawn().unwrap();
    let arguments = ["advise", "--items", "-", "--candidate", "/userId", "--json"];
    let output = folder.command(&arguments).stdin(cat.stdout.take().unwrap()).output().unwrap();
    cat.wait().unwrap();
    let advice: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(advice["items"], 1_600);
}
