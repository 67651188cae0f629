//! `tributary-partition monitor` on a live container: the program, the SDK, and the local endpoint.

#![expect(
    clippy::panic,
    clippy::unwrap_used,
    reason = "helpers of tests fail the test as the tests themselves do"
)]

use std::{
    path::PathBuf,
    process::{Output, Stdio},
    sync::atomic::{AtomicU32, Ordering::Relaxed},
    time::Duration,
};

use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufRead, AsyncBufReadExt, BufReader, Lines},
    process::Command,
};
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
async fn a_scan_tells_the_sizes_of_partitions_and_what_it_cost() {
    let world = MonitorWorld::new().await;
    let (_, metrics) = world.json(&[]).await;
    assert_eq!(metrics["partitionKey"], json!(["/userId"]));
    let scan = &metrics["scan"];
    assert_eq!((&scan["items"], &scan["isComplete"]), (&json!(100), &json!(true)), "{scan}");
    assert_eq!(scan["physicalPartitions"], 3);
    assert!(scan["requestUnits"].as_f64().unwrap() > 3.0, "{scan}");
    assert!(scan["requests"].as_u64().unwrap() >= 3, "{scan}");
    assert_eq!(metrics["items"]["cardinality"]["value"], 21.0);
    let largest = &metrics["largestPartitions"][0];
    assert_eq!(largest["key"], r#"["ann"]"#);
    let share = largest["bytes"].as_f64().unwrap() / scan["bytes"].as_f64().unwrap();
    assert!((0.58..0.62).contains(&share), "{metrics}");
    assert!((0.5..0.6).contains(&metrics["skew"]["items"].as_f64().unwrap()), "{metrics}");
    assert_eq!(metrics["crossPartitionQueryRate"], Value::Null);
    assert!(metrics["unknown"].to_string().contains("Without --telemetry"), "{metrics}");
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

#[tokio::test(flavor = "multi_thread")]
async fn a_scan_ends_with_its_request_units_or_its_sample() {
    let world = MonitorWorld::new().await;
    for (arguments, most, told) in [
        (["--max-request-units", "1"], 99, "no random sample"),
        (["--sample", "30"], 30, "of about"),
    ] {
        let (_, metrics) = world.json(&arguments).await;
        let scan = &metrics["scan"];
        assert!((1..=most).contains(&scan["items"].as_u64().unwrap()), "{arguments:?}: {scan}");
        assert_eq!(scan["isComplete"], false, "{arguments:?}");
        assert!(metrics["unknown"].to_string().contains(told), "{metrics}");
    }
    let (_, metrics) = world.json(&["--sample", "1000"]).await;
    assert_eq!(metrics["scan"]["isComplete"], true, "all of them are fewer");
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
    for arguments in [["--sample", "100"], ["--max-request-units", "400"]] {
        let (_, metrics) = world.json(&arguments).await;
        let scan = &metrics["scan"];
        let all = scan["itemsInContainer"].as_f64().unwrap();
        assert!((1_000.0..2_400.0).contains(&all), "{arguments:?}: {all} for 1,600, {scan}");
        let top = &metrics["items"]["byItems"]["top"][0];
        assert_eq!(top["key"], r#"["contoso"]"#, "{arguments:?}: {metrics}");
        let share = top["share"].as_f64().unwrap();
        assert!((0.78..0.98).contains(&share), "{arguments:?}: {share} for 0.875, {scan}");
        assert!(metrics["unknown"].to_string().contains("ids end in certain"), "{metrics}");
        assert!(!codes(&metrics).contains(&"low-cardinality"), "{arguments:?}: of a part");
        // The size is that of the container, not that of the sample.
        let bytes = metrics["largestPartitions"][0]["bytes"].as_f64().unwrap();
        assert!((200_000.0..700_000.0).contains(&bytes), "{bytes}");
        let bytes = metrics["items"]["growth"]["largestBytes"].as_f64().unwrap();
        assert!((200_000.0..700_000.0).contains(&bytes), "{bytes}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_part_of_the_keys_is_called_so() {
    let world = MonitorWorld::new().await;
    let page = world.run(&["--sample", "30"]).await;
    let page = String::from_utf8(page.stdout).unwrap();
    assert!(page.contains("at least ") && page.contains(" logical partitions"), "{page}");
}

/// Waits for a line with this text.
async fn output(lines: &mut Lines<impl AsyncBufRead + Unpin>, text: &str) {
    let line = async { while !lines.next_line().await.unwrap().unwrap().contains(text) {} };
    tokio::time::timeout(Duration::from_mins(1), line).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_watch_prints_a_line_each_until_it_is_interrupted() {
    let world = MonitorWorld::new().await;
    let mut watch = world.command(&["--watch", "1"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(watch.stdout.take().unwrap()).lines();
    let first = lines.next_line().await.unwrap().unwrap();
    assert!(first.contains("posts: 100 items, 21 partitions"), "{first}");
    world.put("bob", 1).await;
    output(&mut lines, "101 items, 22 partitions").await;
    let id = watch.id().unwrap().to_string();
    assert!(Command::new("kill").args(["-INT", &id]).status().await.unwrap().success());
    let status = tokio::time::timeout(Duration::from_secs(30), watch.wait()).await.unwrap();
    assert_eq!(status.unwrap().code(), Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_watch_goes_on_after_a_round_that_fails() {
    let world = MonitorWorld::new().await;
    let lines = File::new(&[line(1)]);
    let arguments = ["--watch", "1", "--telemetry", lines.path()];
    let mut command = world.command(&arguments);
    let mut watch = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut rounds = BufReader::new(watch.stdout.take().unwrap()).lines();
    let mut errors = BufReader::new(watch.stderr.take().unwrap()).lines();
    rounds.next_line().await.unwrap().unwrap();
    std::fs::write(&lines.0, "{").unwrap();
    output(&mut errors, "is no JSON").await;
    std::fs::write(&lines.0, line(39).to_string()).unwrap();
    output(&mut rounds, "cross-partition queries 98 %").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_watch_ends_when_its_request_units_are_spent() {
    let world = MonitorWorld::new().await;
    let output = world.run(&["--watch", "1", "--json", "--max-request-units", "60"]).await;
    assert_eq!(output.status.code(), Some(0));
    let text = String::from_utf8(output.stdout).unwrap();
    let spent: f64 = text
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .map(|metrics| metrics["scan"]["requestUnits"].as_f64().unwrap())
        .sum();
    assert!((60.0..90.0).contains(&spent) && text.lines().count() > 1, "{spent}: {text}");
    assert!(String::from_utf8_lossy(&output.stderr).contains("--max-request-units is reached"));
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
