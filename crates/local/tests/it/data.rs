//! `cargo local --data`: the data of the endpoint over restarts.

use azure_data_cosmos::ContainerClient;
use serde_json::json;
use tributary_local::cosmos::WELL_KNOWN_KEY;
use tributary_local::host::connect;

use crate::command::{Running, finished};
use crate::support::{Folder, app, containers};

async fn start(app: &Folder, data: &str) -> (Running, ContainerClient) {
    let mut running = Running::start(app, &["--cosmos-only", "--cosmos-port", "0", "--data", data]);
    let ready = running.ready();
    assert_eq!(ready.get("api"), None);
    let url = ready["cosmos"].as_str().unwrap();
    let account = format!("AccountEndpoint={url};AccountKey={WELL_KNOWN_KEY}");
    let database = connect(&account).await.unwrap().database_client("tributary");
    (running, database.container_client("posts", None).await.unwrap())
}

#[tokio::test]
async fn items_come_back_after_the_end_and_after_a_kill_and_a_folder_has_one_endpoint() {
    let app = app();
    app.write("infra/containers.json", containers(&[("posts", "/postId")]));
    let folder = app.path().join("deep/data");
    let data = folder.to_str().unwrap();
    for (n, signal) in ["-INT", "-KILL", "-INT"].into_iter().enumerate() {
        let (running, posts) = start(&app, data).await;
        let id = format!("p{n}");
        posts.upsert_item(id.clone(), &id, json!({"id": id, "postId": id}), None).await.unwrap();
        for earlier in 0..n {
            let id = format!("p{earlier}");
            posts.read_item(id.clone(), &id, None).await.unwrap();
        }
        for (folder, fault) in [(data, "is in use by another process"), ("/dev/null/data", "")] {
            let arguments = ["--cosmos-only", "--cosmos-port", "0", "--data", folder];
            let (code, stdout, stderr) = finished(&app, &arguments);
            assert_eq!((code, stdout.as_str()), (Some(1), ""), "{stderr}");
            assert!(stderr.contains(folder) && stderr.contains(fault), "{stderr}");
        }
        running.end_by(signal);
    }
}
