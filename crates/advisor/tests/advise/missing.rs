//! Advice beyond a key: second copies, unique values, the way to another key.

use serde_json::{Value, json};

use crate::{posts, support::Folder};

fn lines(requests: &[Value]) -> String {
    let lines: Vec<_> = requests.iter().map(ToString::to_string).collect();
    lines.join("\n")
}

fn query(kind: &str, path: &str, per_day: u32) -> Value {
    json!({"kind": kind, "operation": "query", "filters": {path: "?"}, "limit": 20,
        "frequency": {"perDay": per_day}})
}

fn output(folder: &Folder, more: &[&str]) -> String {
    let output = folder.advise(&[&posts::LARGE[..], more].concat());
    assert!(output.code < 2, "{}", output.err);
    output.out
}

fn json(folder: &Folder, more: &[&str]) -> Value {
    serde_json::from_str(&output(folder, &[more, &["--json"]].concat())).unwrap()
}

/// Half of the requests know the user, the others the tag or the id alone.
#[test]
fn requests_that_no_key_serves_get_a_second_copy_with_its_costs() {
    let create = json!({"kind": "create", "operation": "create", "filters": {"/userId": "?"},
        "frequency": {"perDay": 200}});
    let requests =
        [query("of a user", "/userId", 50_000), query("of a tag", "/tag", 50_000), create];
    let folder = posts::folder().with("requests.jsonl", &lines(&requests));
    let keys = ["--candidate", "/userId", "--candidate", "/tag", "--candidate", "/id"];
    let why = json(&folder, &keys)["why"][0].as_str().unwrap().to_owned();
    assert!(why.starts_with("No key serves these requests"), "{why}");
    assert!(why.contains("a second copy under /"), "{why}");
    assert!(why.contains("RU a day as a global secondary index and"), "{why}");
    // Without the second kind of query the user is the key.
    let folder = folder.with("requests.jsonl", &lines(&requests[..1]));
    assert!(!output(&folder, &keys).contains("No key serves"));
    // In one physical partition any key serves them.
    let folder = folder.with("requests.jsonl", &lines(&requests));
    let small = ["--items", "items.jsonl", "--requests", "requests.jsonl"];
    let output = folder.advise(&[&small[..], &keys].concat());
    assert!(!output.out.contains("No key serves"), "{}", output.out);
}

#[test]
fn a_transaction_that_no_key_keeps_together_is_named() {
    let transaction = json!({"kind": "rename all", "operation": "transaction", "filters": {},
        "writes": [{"operation": "patch", "items": 3}], "frequency": {"perDay": 10}});
    let folder = posts::folder().with("requests.jsonl", &lines(&[transaction]));
    let out = output(&folder, &["--candidate", "/userId", "--candidate", "/tag"]);
    assert!(out.contains("No key keeps \"rename all\" in one logical partition"), "{out}");
}

#[test]
fn a_unique_value_gets_a_unique_key_or_a_reservation() {
    let folder = posts::folder();
    let unique = |unique: &str, key: &str| {
        let advice = json(&folder, &["--unique", unique, "--candidate", key]);
        let sentence = advice["unique"][0]["sentence"].as_str().unwrap().to_owned();
        (advice["container"]["entry"]["uniqueKeyPolicy"].clone(), sentence)
    };
    let (policy, sentence) = unique("/userId,/content", "/userId");
    assert_eq!(policy, json!({"uniqueKeys": [{"paths": ["/content"]}]}));
    assert!(
        sentence.contains("cannot be changed") && sentence.contains("may lack it"),
        "{sentence}"
    );
    let (policy, sentence) = unique("/content", "/userId");
    assert_eq!(policy, Value::Null);
    assert!(sentence.contains("Reserve it") && sentence.contains("990 RU a day"), "{sentence}");
    let (policy, sentence) = unique("/userId,/id", "/userId");
    assert_eq!(policy, Value::Null);
    assert!(sentence.contains("unique by itself"), "{sentence}");
    // The key is made of unique properties only.
    let (policy, _) = unique("/userId,/createdAt", "/userId+/createdAt by month");
    assert_eq!(policy["uniqueKeys"][0]["paths"], json!(["/userId", "/createdAt"]));
    let out = output(&folder, &["--unique", "/userId,/content", "--candidate", "/userId"]);
    assert!(out.contains("Unique values") && out.contains("\"uniqueKeyPolicy\""), "{out}");
    let refused = folder.advise(&[&posts::LARGE[..], &["--unique", "/contents"]].concat());
    assert!(refused.code == 2 && refused.err.contains("did you mean /content?"), "{}", refused.err);
}

#[test]
fn reads_and_writes_are_apart_and_each_physical_partition_has_its_share() {
    let folder = posts::folder();
    let growing = ["--candidate", "/userId", "--items-per-day", "1500000"];
    let load = json(&folder, &growing)["load"].take();
    let total = |spread: &Value| -> f64 {
        spread["shares"].as_array().unwrap().iter().map(|share| share.as_f64().unwrap()).sum()
    };
    let partitions = |spread: &Value| spread["partitions"].as_f64().unwrap();
    for spread in [&load["now"], &load["inAYear"]] {
        assert!((total(spread) - 1.0).abs() < 1e-9, "{spread}");
        assert_eq!(
            spread["shares"].as_array().unwrap().len().to_string(),
            spread["partitions"].to_string().trim_end_matches(".0")
        );
    }
    assert!(partitions(&load["inAYear"]) > partitions(&load["now"]), "{load}");
    // 200 of the 61,200 requests a day are writes.
    assert!(load["reads"].as_f64() > load["writes"].as_f64(), "{load}");
    let advice = json(&folder, &growing);
    let all = advice["ranked"][0]["report"]["requestUnitsPerDay"]["value"].as_f64().unwrap();
    let parts = load["reads"].as_f64().unwrap() + load["writes"].as_f64().unwrap();
    assert!((all / parts - 1.0).abs() < 1e-9, "{load}");
    let out = output(&folder, &growing);
    assert!(out.contains("Reads take") && out.contains("In a year"), "{out}");
}

/// One tenant with most of the load makes one physical partition as busy.
#[test]
fn a_busy_key_makes_its_physical_partition_busy() {
    let item = |n: u32| {
        format!(
            "{}\n",
            json!({"id": n.to_string(), "tenant": if n.is_multiple_of(5) { n } else { 0 }})
        )
    };
    let items: String = (0..1_000).map(item).collect();
    let requests = json!({"kind": "read", "operation": "read", "filters": {"/tenant": "?", "/id": "?"},
        "frequency": {"perDay": 1000}});
    let folder =
        Folder::new().with("items.jsonl", &items).with("requests.jsonl", &lines(&[requests]));
    let files = ["--items", "items.jsonl", "--requests", "requests.jsonl"];
    let more = ["--candidate", "/tenant", "--physical-partitions", "4", "--json"];
    let output = folder.advise(&[&files[..], &more].concat());
    let mut advice: Value = serde_json::from_str(&output.out).unwrap();
    let shares = advice["load"]["now"]["shares"].take();
    assert!(shares[0].as_f64().unwrap() > 0.8, "{shares}");
}

#[test]
fn the_way_to_another_key_has_limits_steps_and_costs() {
    let folder = posts::folder();
    let current = ["--current", "/tag", "--candidate"];
    let advice = json(&folder, &[&current[..], &["/userId"]].concat());
    let change = &advice["change"];
    assert_eq!((&change["from"], &change["to"]), (&json!("/tag"), &json!("/userId")));
    assert_eq!(change["items"], 400_000_000.0);
    let create = advice["ranked"][0]["report"]["requests"][3]["requestUnits"].as_f64().unwrap();
    assert!((change["write"].as_f64().unwrap() / (4e8 * create) - 1.0).abs() < 1e-9, "{change}");
    let out = output(&folder, &[&current[..], &["/userId"]].concat());
    for text in [
        "To change the key from /tag to /userId",
        "Consequences",
        "400,000,000 items are read once",
        "az cosmosdb copy create",
        "container=posts-2",
        "each costs twice",
        "An id is unique within a logical partition",
        "from its beginning",
    ] {
        assert!(out.contains(text), "{text}: {out}");
    }
    // A copy job cannot compute a property.
    let out = output(&folder, &[&current[..], &["/userId in 200 buckets"]].concat());
    assert!(
        out.contains("a copy job cannot write it") && !out.contains("az cosmosdb copy"),
        "{out}"
    );
    assert!(out.contains("It computes /partitionKey from /userId in 200 buckets"), "{out}");
    // The current key needs no way.
    let kept = ["--current", "/userId", "--candidate", "/userId"];
    assert!(!output(&folder, &kept).contains("To change the key"));
}
