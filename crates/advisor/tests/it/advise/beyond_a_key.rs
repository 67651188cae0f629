//! Advice beyond a key: second copies, unique values, the load, and the way to another key.

use serde_json::{Value, json};

use super::{LARGE, large, posts};
use crate::support::{Folder, create};

fn lines(requests: &[Value]) -> String {
    requests.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

fn output(folder: &Folder, more: &[&str]) -> String {
    let output = folder.advise(&[&LARGE[..], more].concat());
    assert!(output.code < 2, "{}", output.err);
    output.out
}

/// Half of the requests know the user, the others the tag or the id alone.
#[test]
fn requests_that_no_key_serves_get_a_second_copy_with_its_costs() {
    let page = |kind: &str, path: &str| {
        json!({"kind": kind, "operation": "query", "filters": {path: "?"}, "limit": 20,
            "frequency": {"perDay": 50_000}})
    };
    let requests = [page("of a user", "/userId"), page("of a tag", "/tag"), create(200)];
    let folder = posts().with("requests.jsonl", &lines(&requests));
    let keys = ["--candidate", "/userId", "--candidate", "/tag", "--candidate", "/id"];
    let out = output(&folder, &keys);
    assert!(out.contains("No key serves these requests"), "{out}");
    assert!(out.contains("what a second copy for \"of a"), "{out}");
    assert!(out.contains("SAVES RU A DAY  AS AN INDEX, COSTS  AS A PROJECTION"), "{out}");
    assert!(out.contains("saves more than it costs: a global secondary index"), "{out}");
    // Without the second kind of query the user is the key.
    let folder = folder.with("requests.jsonl", &lines(&requests[..1]));
    assert!(!output(&folder, &keys).contains("No key serves"));
    // In one physical partition any key serves them.
    let folder = folder.with("requests.jsonl", &lines(&requests));
    let small = format!("--items items.jsonl --requests requests.jsonl {}", keys.join(" "));
    let output = folder.advise_line(&small);
    assert!(!output.out.contains("No key serves"), "{}", output.out);
}

#[test]
fn a_transaction_that_no_key_keeps_together_is_named() {
    let transaction = json!({"kind": "rename all", "operation": "transaction", "filters": {},
        "writes": [{"operation": "patch", "items": 3}], "frequency": {"perDay": 10}});
    let folder = posts().with("requests.jsonl", &lines(&[transaction]));
    let out = output(&folder, &["--candidate", "/userId", "--candidate", "/tag"]);
    assert!(out.contains("No key keeps \"rename all\" in one logical partition"), "{out}");
}

#[test]
fn a_unique_value_gets_a_unique_key_or_a_reservation() {
    let folder = posts();
    let cases = [
        ("/userId,/content", "/userId", json!([{"paths": ["/content"]}]), "cannot be changed"),
        ("/content", "/userId", Value::Null, "Reserve it: a container by the value"),
        ("/content", "/userId", Value::Null, "990 RU a day for the creates"),
        ("/userId,/id", "/userId", Value::Null, "is unique by itself"),
        // The key is made of unique properties only.
        (
            "/userId,/createdAt",
            "/userId+/createdAt by month",
            json!([{"paths": ["/userId", "/createdAt"]}]),
            "A second write of them is a 409",
        ),
    ];
    for (unique, key, keys, sentence) in cases {
        let advice = large(&folder, &["--unique", unique, "--candidate", key]);
        assert_eq!(advice["container"]["entry"]["uniqueKeyPolicy"]["uniqueKeys"], keys, "{unique}");
        let said = advice["unique"][0]["sentence"].as_str().unwrap();
        assert!(said.contains(sentence), "{said}");
    }
}

#[test]
fn each_physical_partition_has_its_share_of_the_load() {
    let folder = posts();
    for (key, n_partitions, busiest) in [("/userId", 40, 0.025..0.03), ("/tag", 4, 0.3..0.8)] {
        let partitions = n_partitions.to_string();
        let advice = large(&folder, &["--candidate", key, "--physical-partitions", &partitions]);
        let load = &advice["load"];
        let shares = load["shares"].as_array().unwrap().iter();
        let shares: Vec<_> = shares.map(|share| share.as_f64().unwrap()).collect();
        assert_eq!(shares.len(), n_partitions);
        assert!((shares.iter().sum::<f64>() - 1.0).abs() < 1e-9, "{load}");
        assert!(busiest.contains(&shares[0]) && shares.is_sorted_by(|a, b| a >= b), "{load}");
        let all = &advice["ranked"][0]["report"]["requestUnitsPerDay"]["value"];
        let parts = load["reads"].as_f64().unwrap() + load["writes"].as_f64().unwrap();
        assert!((all.as_f64().unwrap() / parts - 1.0).abs() < 1e-9, "{load}");
    }
}

#[test]
fn the_way_to_another_key_has_its_costs() {
    let folder = posts();
    let arguments = ["--current", "/tag", "--candidate", "/userId"];
    let advice = large(&folder, &arguments);
    let change = &advice["change"];
    assert_eq!((&change["from"], &change["to"]), (&json!("/tag"), &json!("/userId")));
    assert_eq!(change["items"], 400_000_000.0);
    let create = advice["ranked"][0]["report"]["requests"][3]["requestUnits"].as_f64().unwrap();
    assert!((change["write"].as_f64().unwrap() / (4e8 * create) - 1.0).abs() < 1e-9, "{change}");
    let out = output(&folder, &arguments);
    assert!(out.contains("400,000,000 items are read once"), "{out}");
    assert!(out.contains("az cosmosdb copy create"), "{out}");
    // A copy job cannot compute a property.
    let out = output(&folder, &["--current", "/tag", "--candidate", "/userId in 200 buckets"]);
    assert!(out.contains("cannot write it") && !out.contains("az cosmosdb copy"), "{out}");
    // The current key needs no way.
    let kept = ["--current", "/userId", "--candidate", "/userId"];
    assert!(!output(&folder, &kept).contains("To change the key"));
}
