//! `tributary-partition monitor` on a live container and on a file.

use std::fs;

use serde_json::{Value, json};

use super::{ContainerWorld, order};
use crate::support::{CommandOutput, Folder};

/// XXH64 of `ann`, with the seed 0: how the handler names her partition.
const ANN: &str = "0b41beba40346ebe";

const FILE: &str = "--container orders --items items.jsonl --current /customerId --json";

/// Returns 60 orders of ann, and 2 of each of 20 others.
fn orders() -> Vec<Value> {
    let customer = |n| if n < 60 { "ann".to_owned() } else { format!("customer-{}", n % 20) };
    (0..100).map(|n| order(n, &customer(n))).collect()
}

fn lines(rows: &[Value]) -> String {
    rows.iter().map(|row| row.to_string() + "\n").collect()
}

fn json_of(output: &CommandOutput) -> (i32, Value) {
    let json = serde_json::from_str(&output.out);
    (output.code, json.unwrap_or_else(|_| panic!("{output:?}")))
}

pub(super) async fn live(world: &ContainerWorld, arguments: &[&str]) -> Value {
    let line = ["monitor", "--container", "orders", "--json"];
    json_of(&world.run(&[&line, arguments].concat()).await).1
}

/// Returns the metrics of a file of the orders with this telemetry, which has a warning, and the codes of its findings.
fn measured(telemetry: &[Value]) -> (Value, Vec<String>) {
    let folder = Folder::new().with("items.jsonl", &lines(&orders()));
    let folder = folder.with("rows.jsonl", &lines(telemetry));
    let line = format!("monitor {FILE} --telemetry rows.jsonl");
    let words: Vec<_> = line.split(' ').collect();
    let (status, metrics) = json_of(&folder.command(&words).output().unwrap().into());
    assert_eq!(status, 1, "something is wrong");
    let findings = metrics["findings"].as_array().unwrap().iter();
    let codes = findings.map(|finding| finding["code"].as_str().unwrap().to_owned()).collect();
    (metrics, codes)
}

/// Returns a line of the handler for a minute in which one partition took 90 % of 20,000 request units.
fn line_of_handler() -> Value {
    json!({
        "timestamp": "2026-11-22T19:00:00Z", "message": "Measured the use of logical partitions",
        "container": "orders", "request_charge_ru": 20_000.0, "store.requests": 2_000,
        "store.throttled": 5, "store.queries": 40, "store.cross_partition_queries": 30,
        "partitions": 21, "partitions.gini": 0.85,
        "partitions.top": json!([[ANN, 18_000.0, 1_800], ["0000000000000000", 100.0, 10]]).to_string(),
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_live_container_and_a_file_of_it_tell_the_same_sizes() {
    let world = ContainerWorld::new(orders()).await;
    fs::write(world.folder.path("items.jsonl"), lines(&orders())).unwrap();
    let words: Vec<_> = FILE.split(' ').skip(2).collect();
    for metrics in [live(&world, &[]).await, live(&world, &words[..4]).await] {
        assert_eq!(metrics["partitionKey"], "/customerId");
        assert_eq!((&metrics["items"], &metrics["itemsInContainer"]), (&json!(100), &json!(100)));
        assert_eq!(metrics["partitions"]["value"], 21.0);
        let largest = &metrics["largestPartitions"];
        assert_eq!(largest[0]["key"], r#"["ann"]"#);
        let bytes = |n: usize| largest[n]["bytes"].as_f64().unwrap();
        assert!((28.0..32.0).contains(&(bytes(0) / bytes(1))), "{metrics}");
        assert!((0.5..0.6).contains(&metrics["skew"]["items"].as_f64().unwrap()), "{metrics}");
        assert_eq!(metrics["crossPartitionQueryRate"], Value::Null);
        assert!(metrics["unknown"].to_string().contains("Without --telemetry"), "{metrics}");
    }
    let page = world.run(&["monitor", "--container", "orders"]).await.out;
    assert!(page.contains("LARGEST PARTITIONS") && page.contains(r#"["ann"]"#), "{page}");
}

#[test]
fn the_key_behind_a_hash_of_the_handler_is_found_among_the_items() {
    let (metrics, codes) = measured(&[line_of_handler(), json!({"message": "Answered a request"})]);
    let hot = &metrics["hotPartitions"][0];
    assert_eq!((&hot["name"], &hot["key"]), (&json!(ANN), &json!(r#"["ann"]"#)));
    assert_eq!((&hot["share"], &metrics["crossPartitionQueryRate"]), (&json!(0.9), &json!(0.75)));
    assert_eq!(metrics["skew"]["requestUnits"], 0.85);
    for code in ["hot-partition", "cross-partition-queries", "skewed-requests"] {
        assert!(codes.iter().any(|found| found == code), "{codes:?}");
    }
}

#[test]
fn the_tables_of_the_account_count_more_than_the_lines_and_tell_the_sizes() {
    let row = |columns: Value| {
        let mut row = json!({"CollectionName": "orders", "TimeGenerated": "2026-11-22T19:00:00Z"});
        row.as_object_mut().unwrap().extend(columns.as_object().unwrap().clone());
        row
    };
    let mut rows = vec![
        line_of_handler(),
        row(json!({"CollectionName": "users", "PartitionKey": "[\"u\"]", "RequestCharge": 1})),
        row(json!({"PartitionKey": "[\"ann\"]", "RequestCharge": 9_500.0})),
        row(json!({"PartitionKey": "[\"user-1\"]", "RequestCharge": "500"})),
        row(json!({"PartitionKey": "[\"ann\"]", "SizeKb": 16 * 1024 * 1024})),
    ];
    for n in 0..30 {
        for range in 0..=(n % 2) {
            let range = range.to_string();
            rows.push(row(json!({"ActivityId": n.to_string(), "PartitionKeyRangeId": range, "QueryText": "SELECT 1"})));
        }
    }
    // As `az monitor log-analytics query` prints them.
    let (metrics, codes) = measured(&[rows.into()]);
    assert_eq!(metrics["measured"]["requestUnits"], 10_000.0);
    assert_eq!(metrics["hotPartitions"][0]["share"], 0.95);
    let gini = metrics["skew"]["requestUnits"].as_f64().unwrap();
    assert!((gini - 0.45).abs() < 1e-9, "{gini}");
    assert_eq!(metrics["crossPartitionQueryRate"], 0.5);
    let largest = &metrics["largestPartitions"][0];
    assert_eq!((&largest["key"], &largest["isOfTheStore"]), (&json!(r#"["ann"]"#), &json!(true)));
    for code in ["hot-partition", "large-partition"] {
        assert!(codes.iter().any(|found| found == code), "{codes:?}");
    }
    assert!(
        !codes.iter().any(|code| code == "cross-partition-queries"),
        "half is not more than half"
    );
}
