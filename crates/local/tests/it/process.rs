//! The handler's process: its start, its crashes, its end.

use std::time::Duration;

use axum::http::{Method, StatusCode};
use futures::FutureExt as _;
use serde_json::json;
use tributary_local::host::{
    Console, FunctionApp, HandlerOptions, HandlerProcess, Host, HostOptions, Settings,
};

#[cfg(target_os = "linux")]
use crate::command::is_running;
use crate::hosted::{Hosted, get, send};
use crate::support::{
    Folder, app, cosmos_function, eventually, http_function, settings, settings_with, staged,
    until, until_printed,
};

async fn start_error(app: &Folder, settings: &Settings) -> String {
    let loaded = FunctionApp::load(app.path(), settings).unwrap();
    // Only a handler that never listens gets a short timeout.
    let silent = settings.get("TEST_SILENT").is_some();
    let start_timeout = Duration::from_millis(if silent { 300 } else { 30_000 });
    let console = Console::kept();
    let options = HostOptions { console, start_timeout, ..HostOptions::new(app.path()) };
    Host::start(loaded, settings, options).await.err().unwrap().to_string()
}

async fn process(url: &str) -> Option<u64> {
    let answer = get(&format!("{url}/api/who")).await;
    (answer.status == StatusCode::IM_A_TEAPOT).then(|| answer.json()["process"].as_u64().unwrap())
}

async fn another(url: &str, earlier: Option<u64>) -> u64 {
    eventually("it is another process", async || {
        process(url).await.filter(|now| Some(*now) != earlier)
    })
    .await
}

#[tokio::test]
async fn a_replaced_handler_finishes_its_request_and_requests_that_arrive_meanwhile_wait() {
    let app = app();
    let options = HandlerOptions {
        executable: app.path().join("handler"),
        arguments: Vec::new(),
        working_directory: app.path().to_owned(),
        settings: settings(),
        launcher: None,
        start_timeout: Duration::from_secs(30),
    };
    let handler = HandlerProcess::start(options, Console::kept());
    let watch = handler.watch();
    let url = watch.url().await.unwrap();
    let first = process(&url).await;

    app.deliveries();
    app.answers(&json!({ "status": 202, "delay": 500, "times": 1 }));
    let slow = tokio::spawn({
        let url = format!("{url}/api/slow");
        async move { get(&url).await.status }
    });
    until("the request is in flight", async || !app.deliveries().is_empty()).await;
    let replaced = tokio::spawn({
        let watch = watch.clone();
        async move { watch.replace().await }
    });
    until("new requests wait", async || watch.url().now_or_never().is_none()).await;
    assert_eq!(slow.await.unwrap(), StatusCode::ACCEPTED);

    let url = replaced.await.unwrap().unwrap();
    assert_ne!(process(&url).await, first);
    handler.stop().await;
}

#[tokio::test]
async fn exit_code_200_is_a_restart_that_does_not_count_as_an_error_and_exit_code_0_ends_the_host()
{
    let hosted = Hosted::of(app(), &settings(), |options| options).await;
    // The request has a body, so the host does not repeat it.
    let end = async |code: i32| {
        hosted.folder.answers(&json!({ "exit": code, "times": 1 }));
        send(Method::POST, &hosted.url("/api/exit"), &[], "now").await;
    };
    for _ in 0..4 {
        let before = another(hosted.host.url(), None).await;
        end(200).await;
        another(hosted.host.url(), Some(before)).await;
    }
    until_printed(&hosted.console, "(exit code 200)").await;
    end(0).await;
    assert!(hosted.host.failed().await.to_string().contains("exit code 0"));
    hosted.host.stop().await;
}

#[tokio::test]
async fn a_handler_that_never_listens_is_a_clear_error() {
    let app = app();
    let error = start_error(&app, &settings_with("TEST_EXIT", "7")).await;
    assert!(error.contains("failed three times") && error.contains("exit status: 7"), "{error}");
    let error = start_error(&app, &settings_with("TEST_SILENT", "1")).await;
    assert!(error.contains("did not answer GET / within 0.3 s"), "{error}");
    std::fs::remove_file(app.path().join("handler")).unwrap();
    let error = start_error(&app, &settings()).await;
    assert!(error.contains("handler cannot be started"), "{error}");
}

#[cfg(unix)]
#[tokio::test]
async fn a_handler_that_is_still_being_written_starts_when_it_is_complete() {
    let app = app();
    let handler = app.path().join("handler");
    let built = std::fs::canonicalize(&handler).unwrap();
    std::fs::remove_file(&handler).unwrap();
    std::fs::copy(built, &handler).unwrap();
    let writer = std::fs::OpenOptions::new().append(true).open(&handler).unwrap();
    let written = async {
        tokio::time::sleep(Duration::from_millis(200)).await;
        drop(writer);
    };
    let settings = settings();
    let (hosted, ()) = tokio::join!(Hosted::of(app, &settings, |options| options), written);
    hosted.host.stop().await;
}

#[tokio::test]
async fn a_trigger_without_an_account_is_a_clear_error() {
    let app = staged(&[("Copies", cosmos_function())]);
    let error = start_error(&app, &settings()).await;
    assert_eq!(
        error,
        "the setting CosmosConnection of Copies does not lead to a Cosmos DB account: it is \
         missing in local.settings.json"
    );
    let error = start_error(&app, &settings_with("CosmosConnection", "nothing")).await;
    assert!(error.contains("it must be a connection string"), "{error}");
    let unreachable = "AccountEndpoint=http://127.0.0.1:1/;AccountKey=bm90aGluZw==";
    let error = start_error(&app, &settings_with("CosmosConnection", unreachable)).await;
    assert!(!error.contains("bm90aGluZw"), "a key must not be printed: {error}");
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn the_end_of_the_host_ends_the_handler_and_its_children() {
    for stopped in [true, false] {
        let app = app();
        let file = app.path().join("child");
        let settings = settings_with("TEST_CHILD", &file.to_string_lossy());
        let hosted = Hosted::of(app, &settings, |options| options).await;
        let handler = process(hosted.host.url()).await.unwrap().to_string();
        let child = std::fs::read_to_string(&file).unwrap();
        assert!(is_running(&handler) && is_running(&child));
        if stopped {
            hosted.host.stop().await;
        } else {
            drop(hosted);
        }
        until("both are gone", async || !is_running(&handler) && !is_running(&child)).await;
    }
}

#[tokio::test]
async fn an_invocation_beyond_the_function_timeout_kills_the_handler() {
    let store = crate::support::Store::new(1).await;
    let server = store.endpoint.serve(0).await.unwrap();
    let mut settings = settings_with("CosmosConnection", &server.connection_string());
    settings.set("AzureFunctionsJobHost__functionTimeout", "00:00:00.2");
    let app = staged(&[
        ("Copies", cosmos_function()),
        ("Rest", http_function("api/{*path}", &[], "anonymous")),
    ]);
    let hosted = Hosted::of(app, &settings, |options| options).await;
    let first = process(hosted.host.url()).await;
    hosted.folder.answers(&json!({ "delay": 60_000, "times": 1 }));
    store.put("p1", json!({})).await;
    until_printed(&hosted.console, "longer than functionTimeout").await;
    another(hosted.host.url(), first).await;
    hosted.host.stop().await;
}
