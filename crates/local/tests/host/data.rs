//! `cargo local --data`: the data of the endpoint over restarts.

use azure_data_cosmos::{DatabaseClient, FeedScope, Query};
use futures::TryStreamExt as _;
use serde_json::json;
use tributary_local::cosmos::WELL_KNOWN_KEY;
use tributary_local::host::connect;

use crate::command::{Running, finished};
use crate::support::{Folder, cosmos_function, staged};

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
    let item = json!({"id": "n1", "provider": "p", "month": "2026-11", "ttl": -1});
    news.upsert_item(("p", "2026-11"), "n1", item, None).await.unwrap();
    let leases = endpoint.database.container_client(LEASES, None).await.unwrap();
    leases.upsert_item("l1", "l1", json!({"id": "l1"}), None).await.unwrap();
    endpoint.running.end_by("-INT");

    let endpoint = Endpoint::start(&app, data).await;
    assert_eq!(endpoint.ids("posts").await, ["p1"]);
    assert_eq!(endpoint.ids("news").await, ["n1"]);
    // A trigger goes on where it was.
    assert_eq!(endpoint.ids(LEASES).await, ["l1"]);
    endpoint.post("p2").await;
    endpoint.running.end_by("-KILL");
    let endpoint = Endpoint::start(&app, data).await;
    assert_eq!(endpoint.ids("posts").await, ["p1", "p2"]);
    endpoint.running.end_by("-INT");
}

#[tokio::test]
async fn a_folder_that_is_in_use_or_cannot_be_written_is_named() {
    let app = app();
    let folder = app.path().join("data");
    let data = folder.to_str().unwrap();
    let endpoint = Endpoint::start(&app, data).await;
    for (folder, fault) in [(data, "is in use by another process"), ("/dev/null/data", "")] {
        let arguments = ["--cosmos-only", "--cosmos-port", "0", "--data", folder];
        let (code, stdout, stderr) = finished(&app, &arguments);
        assert_eq!((code, stdout.as_str()), (Some(1), ""), "{stderr}");
        assert!(stderr.contains(folder) && stderr.contains(fault), "{stderr}");
    }
    endpoint.running.end_by("-INT");
}
