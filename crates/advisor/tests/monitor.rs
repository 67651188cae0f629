//! `tributary-partition monitor` on a live container and on a file: the program, the SDK, and the local endpoint.

#![expect(
    clippy::panic,
    clippy::unwrap_used,
    reason = "helpers of tests fail the test as the tests themselves do"
)]

use std::{
    path::PathBuf,
    process::{Output, Stdio},
    sync::atomic::{AtomicU32, Ordering::Relaxed},
};

use serde_json::{Value, json};
use tokio::process::Command;
use tributary_local::cosmos::{ContainersFile, CosmosEndpoint, EndpointOptions, RunningServer};

/// XXH64 of `ann`, with the seed 0: how the handler names her partition.
const ANN: &str = "0b41beba40346ebe";

/// An account with the container `posts` by user: 60 items of ann, and 2 of each of 20 others.
struct MonitorWorld {
    server: RunningServer,
    endpoint: CosmosEndpoint,
}

impl MonitorWorld {
    async fn new() -> Self {
        let options = EndpointOptions { partitions: 3, ..EndpointOptions::default() };
        let endpoint = CosmosEndpoint::in_process(options).unwrap();
        let containers = json!({"containers": [
            {"id": "posts", "partitionKey": {"paths": ["/userId"], "kind": "Hash", "version": 2}},
        ]});
        let containers = ContainersFile::parse(&containers.to_string()).unwrap();
        endpoint.provision("tributary", &containers).await.unwrap();
        let server = endpoint.serve(0).await.unwrap();
        let world = Self { server, endpoint };
        for n in 0..60 {
            world.put("ann", n).await;
        }
        for n in 0..40 {
            world.put(&format!("user-{}", n % 20), n).await;
        }
        world
    }

    async fn put(&self, user: &str, n: usize) {
        let client = self.endpoint.client().await.unwrap();
        let posts = client.database_client("tributary").container_client("posts", None).await;
        let id = format!("{user}-{n}");
        let item = json!({"id": id, "userId": user, "text": "a".repeat(500)});
        posts.unwrap().create_item(user.to_owned(), &id, &item, None).await.unwrap();
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tributary-partition"));
        command.args(["monitor", "--container", "posts"]).args(arguments);
        command.env("COSMOS_CONNECTION", self.server.connection_string());
        command.stdin(Stdio::null()).kill_on_drop(true);
        command
    }

    async fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().await.unwrap()
    }

    /// Returns the status and the output of `--json`.
    async fn json(&self, arguments: &[&str]) -> (i32, Value) {
        let output = self.run(&[&["--json"], arguments].concat()).await;
        let status = output.status.code().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        (status, serde_json::from_str(&text).unwrap_or_else(|_| panic!("{text}{errors}")))
    }
}

/// A file for a test, removed at its end.
struct File(PathBuf);

impl File {
    fn new(rows: &[Value]) -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let name =
            format!("tributary-{}-{}.jsonl", std::process::id(), NUMBER.fetch_add(1, Relaxed));
        let path = std::env::temp_dir().join(name);
        let text = rows.iter().fold(String::new(), |text, row| format!("{text}{row}\n"));
        std::fs::write(&path, text).unwrap();
        Self(path)
    }

    fn path(&self) -> &str {
        self.0.to_str().unwrap()
    }
}

impl Drop for File {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Returns a line of the handler for a minute in which one partition took 90 % of 20,000 request units.
fn line(crossing: u32) -> Value {
    json!({
        "timestamp": "2026-11-22T19:00:00Z", "message": "Measured the use of logical partitions",
        "container": "posts", "request_charge_ru": 20_000.0, "store.requests": 2_000,
        "store.throttled": 5, "store.queries": 40, "store.cross_partition_queries": crossing,
        "partitions": 21, "partitions.gini": 0.85, "partitions.hottest": ANN,
        "partitions.hottest_ru": 18_000.0, "partitions.error_ru": 0.0,
        "partitions.top": json!([[ANN, 18_000.0, 1_800], ["0000000000000000", 100.0, 10]]).to_string(),
    })
}

fn codes(metrics: &Value) -> Vec<&str> {
    let findings = metrics["findings"].as_array().unwrap().iter();
    findings.map(|finding| finding["code"].as_str().unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_live_container_and_a_file_of_it_tell_the_same_sizes() {
    let world = MonitorWorld::new().await;
    let (_, live) = world.json(&[]).await;
    let items: Vec<Value> = (0..100)
        .map(|n| {
            let user = if n < 60 { "ann".to_owned() } else { format!("user-{}", n % 20) };
            json!({"id": n.to_string(), "userId": user, "text": "a".repeat(500)})
        })
        .collect();
    let file = File::new(&items);
    let (_, of_file) = world.json(&["--items", file.path(), "--current", "/userId"]).await;
    for metrics in [live, of_file] {
        assert_eq!(metrics["partitionKey"], "/userId");
        assert_eq!((&metrics["items"], &metrics["itemsInContainer"]), (&json!(100), &json!(100)));
        assert_eq!(metrics["partitions"]["value"], 21.0);
        let largest = &metrics["largestPartitions"];
        assert_eq!(largest[0]["key"], r#"["ann"]"#);
        let bytes = |n: usize| largest[n]["bytes"].as_f64().unwrap();
        assert!((29.0..31.0).contains(&(bytes(0) / bytes(1))), "{metrics}");
        assert!((0.5..0.6).contains(&metrics["skew"]["items"].as_f64().unwrap()), "{metrics}");
        assert_eq!(metrics["crossPartitionQueryRate"], Value::Null);
        assert!(metrics["unknown"].to_string().contains("Without --telemetry"), "{metrics}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_key_behind_a_hash_of_the_handler_is_found_in_the_container() {
    let world = MonitorWorld::new().await;
    let lines = File::new(&[line(30), json!({"message": "Answered a request"})]);
    let (status, metrics) = world.json(&["--telemetry", lines.path()]).await;
    let hot = &metrics["hotPartitions"][0];
    assert_eq!((&hot["name"], &hot["key"]), (&json!(ANN), &json!(r#"["ann"]"#)));
    assert_eq!((&hot["share"], &metrics["crossPartitionQueryRate"]), (&json!(0.9), &json!(0.75)));
    assert_eq!(metrics["skew"]["requestUnits"], 0.85);
    let codes = codes(&metrics);
    for code in ["hot-partition", "cross-partition-queries", "skewed-requests"] {
        assert!(codes.contains(&code), "{codes:?}");
    }
    assert_eq!(status, 1, "something is wrong");
    let page = world.run(&["--telemetry", lines.path()]).await;
    let page = String::from_utf8(page.stdout).unwrap();
    assert!(page.contains(r#"["ann"]"#) && page.contains("90 %"), "{page}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_tables_of_the_account_tell_the_same_and_the_sizes() {
    let world = MonitorWorld::new().await;
    let row = |columns: Value| {
        let mut row = json!({"CollectionName": "posts", "TimeGenerated": "2026-11-22T19:00:00Z"});
        row.as_object_mut().unwrap().extend(columns.as_object().unwrap().clone());
        row
    };
    let mut rows = vec![
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
    let rows = File::new(&[Value::Array(rows)]);
    let (status, metrics) = world.json(&["--telemetry", rows.path()]).await;
    assert_eq!(metrics["hotPartitions"][0]["share"], 0.95);
    assert_eq!(metrics["crossPartitionQueryRate"], 0.5);
    let largest = &metrics["largestPartitions"][0];
    assert_eq!((&largest["key"], &largest["isOfTheStore"]), (&json!(r#"["ann"]"#), &json!(true)));
    let codes = codes(&metrics);
    assert!(codes.contains(&"hot-partition") && codes.contains(&"large-partition"), "{codes:?}");
    assert!(!codes.contains(&"cross-partition-queries"), "half of them is not more than half");
    assert_eq!(status, 1);
}

/// 114 tenants, of which one has 88 % of the items, behind the hashes of many others.
#[tokio::test(flavor = "multi_thread")]
async fn a_sample_is_drawn_across_the_partitions() {
    let world = MonitorWorld::new().await;
    let client = world.endpoint.client().await.unwrap();
    let posts = client.database_client("tributary").container_client("posts", None).await.unwrap();
    // With the 100 items of the 21 others.
    for n in 0..1_500 {
        let tenant = if n % 15 == 14 { format!("tenant-{}", n % 92) } else { "contoso".to_owned() };
        let item = json!({"id": n.to_string(), "userId": tenant});
        posts.create_item(tenant, &n.to_string(), &item, None).await.unwrap();
    }
    let (_, metrics) = world.json(&["--max-request-units", "200"]).await;
    let all = metrics["itemsInContainer"].as_f64().unwrap();
    assert!((1_000.0..2_400.0).contains(&all), "{all} for 1,600, {metrics}");
    let largest = &metrics["largestPartitions"][0];
    assert_eq!(largest["key"], r#"["contoso"]"#, "{metrics}");
    // The size is that of the container, not that of the sample.
    let bytes = largest["bytes"].as_f64().unwrap();
    assert!((200_000.0..700_000.0).contains(&bytes), "{bytes}");
    assert!(metrics["unknown"].to_string().contains("are a sample of about"), "{metrics}");
    assert!(!codes(&metrics).contains(&"low-cardinality"), "{metrics}");
}

#[tokio::test(flavor = "multi_thread")]
async fn unusable_input_is_an_error_in_a_sentence() {
    let world = MonitorWorld::new().await;
    let url = world.server.url();
    for (arguments, sentence) in [
        (&["--container", "none"][..], "there is no container `none` in the database `tributary`"),
        (&["--container", "posts", "--database", "none"], "in the database `none`"),
        (&["--container", "posts", "--telemetry", "/none.jsonl"], "/none.jsonl cannot be read"),
        (&["--container", "posts", "--cosmos", "AccountKey=sesame"], "--cosmos takes"),
    ] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tributary-partition"));
        command.arg("monitor").args(arguments);
        command.env("COSMOS_CONNECTION", world.server.connection_string());
        let output = command.output().await.unwrap();
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{errors}");
        assert!(errors.contains(sentence) && !errors.contains("sesame"), "{errors}");
        assert!(!errors.contains(&url), "{errors}");
    }
}
