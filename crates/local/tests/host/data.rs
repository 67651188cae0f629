//! `cargo local --data`: the data of the endpoint over restarts.

use std::fs;

use azure_data_cosmos::{DatabaseClient, FeedScope, Query};
use futures::TryStreamExt as _;
use serde_json::{Value, json};
use tributary_local::cosmos::WELL_KNOWN_KEY;
use tributary_local::host::connect;

use crate::command::{Running, finished};
use crate::support::{Folder, cosmos_function, staged, until};

const LEASES: &str = "leases";

/// An app with a trigger, items with a partition key of two levels, and items that may expire.
fn app() -> Folder {
    let app = staged(&[("Copies", cosmos_function())]);
    let key = |paths: &[&str], kind: &str| json!({"paths": paths, "kind": kind, "version": 2});
    let containers = [
        json!({"id": "posts", "partitionKey": key(&["/postId"], "Hash")}),
        json!({"id": "news", "partitionKey": key(&["/provider", "/month"], "MultiHash"), "defaultTtl": -1}),
        json!({"id": LEASES, "partitionKey": key(&["/id"], "Hash")}),
    ];
    app.write("infra/containers.json", json!({"containers": containers}));
    let values = json!({"FUNCTIONS_WORKER_RUNTIME": "custom", "CosmosDatabase": "tributary"});
    app.write("local.settings.json", json!({"IsEncrypted": false, "Values": values}));
    app
}

struct Endpoint {
    running: Running,
    database: DatabaseClient,
}

impl Endpoint {
    async fn start(app: &Folder, data: &str) -> Self {
        let arguments = ["--cosmos-only", "--cosmos-port", "0", "--data", data];
        let mut running = Running::start(app, &arguments);
        let ready = running.ready();
        assert_eq!(ready.get("api"), None);
        let url = ready["cosmos"].as_str().unwrap();
        let account = format!("AccountEndpoint={url};AccountKey={WELL_KNOWN_KEY}");
        let database = connect(&account).await.unwrap().database_client("tributary");
        Self { running, database }
    }

    async fn post(&self, id: &str) {
        let posts = self.database.container_client("posts", None).await.unwrap();
        let post = json!({"id": id, "postId": id, "title": "Line 1\nLine 2"});
        posts.upsert_item(id.to_owned(), id, post, None).await.unwrap();
    }

    async fn ids(&self, container: &str) -> Vec<String> {
        let client = self.database.container_client(container, None).await.unwrap();
        let scope = FeedScope::full_container();
        let ids = client.query_items(Query::from("SELECT VALUE c.id FROM c"), scope, None);
        let mut ids: Vec<String> = ids.await.unwrap().try_collect().await.unwrap();
        ids.sort();
        ids
    }
}

#[tokio::test]
async fn items_come_back_after_the_end_and_after_a_kill() {
    let app = app();
    let folder = app.path().join("deep/data");
    let data = folder.to_str().unwrap();
    let endpoint = Endpoint::start(&app, data).await;
    endpoint.post("p1").await;
    let news = endpoint.database.container_client("news", None).await.unwrap();
    for (id, ttl) in [("n1", -1), ("n2", 1_000)] {
        let item = json!({"id": id, "provider": "p", "month": "2026-11", "ttl": ttl});
        news.upsert_item(("p", "2026-11"), id, item, None).await.unwrap();
    }
    let leases = endpoint.database.container_client(LEASES, None).await.unwrap();
    leases.upsert_item("l1", "l1", json!({"id": "l1"}), None).await.unwrap();
    endpoint.running.end_by("-INT");

    // The time to live of one item ends while nothing runs.
    let file = folder.join("items.jsonl");
    let text = fs::read_to_string(&file).unwrap();
    let old = text.lines().map(|line| {
        let mut line: Value = serde_json::from_str(line).unwrap();
        if line["item"]["id"] == "n2" {
            line["item"]["_ts"] = json!(1_000_000);
        }
        format!("{line}\n")
    });
    fs::write(&file, old.collect::<String>()).unwrap();

    let endpoint = Endpoint::start(&app, data).await;
    assert_eq!(endpoint.ids("posts").await, ["p1"]);
    assert_eq!(endpoint.ids("news").await, ["n1"]);
    assert_eq!(endpoint.ids(LEASES).await, [""; 0]);
    endpoint.post("p2").await;
    let is_saved = async || fs::read_to_string(&file).unwrap().contains("\"p2\"");
    until("the file has the new item", is_saved).await;
    endpoint.running.end_by("-KILL");
    let endpoint = Endpoint::start(&app, data).await;
    assert_eq!(endpoint.ids("posts").await, ["p1", "p2"]);
    endpoint.running.end_by("-INT");
}

#[tokio::test]
async fn a_folder_has_one_process_at_a_time() {
    let app = app();
    let folder = app.path().join("data");
    let data = folder.to_str().unwrap();
    let endpoint = Endpoint::start(&app, data).await;
    let arguments = ["--cosmos-only", "--cosmos-port", "0", "--data", data];
    let (code, _, stderr) = finished(&app, &arguments);
    assert_eq!(code, Some(1));
    assert!(stderr.contains("another cargo local uses this folder"), "{stderr}");
    endpoint.running.end_by("-INT");
}

#[test]
fn a_wrong_line_is_named_and_stays() {
    let app = app();
    let file = app.path().join("data/items.jsonl");
    let folder = file.parent().unwrap();
    fs::create_dir_all(folder).unwrap();
    let good = json!({"container": "posts", "item": {"id": "p1", "postId": "p1"}}).to_string();
    let data = folder.to_str().unwrap();
    for (wrong, fault) in [
        (&good[..good.len() - 5], "line 2 has no item"),
        ("", "line 2 has no item"),
        ("{\"container\": \"users\", \"item\": {}}", "line 2: the app has no container 'users'"),
        ("{\"container\": \"posts\", \"item\": {\"postId\": \"p2\"}}", "line 2"),
    ] {
        let text = format!("{good}\n{wrong}\n");
        fs::write(&file, &text).unwrap();
        let arguments = ["--cosmos-only", "--cosmos-port", "0", "--data", data];
        let (code, stdout, stderr) = finished(&app, &arguments);
        assert_eq!((code, stdout.as_str()), (Some(1), ""), "{stderr}");
        assert!(stderr.contains(fault), "{wrong}: {stderr}");
        assert_eq!(fs::read_to_string(&file).unwrap(), text);
    }
    let (code, _, stderr) = finished(&app, &["--cosmos-only", "--data", "/dev/null/data"]);
    assert_eq!(code, Some(1));
    assert!(stderr.contains("--data /dev/null/data"), "{stderr}");
}
