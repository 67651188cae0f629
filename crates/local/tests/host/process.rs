//! The handler's process: its start, its crashes, its end.

use std::time::Duration;

use axum::http::{Method, StatusCode};
use futures::FutureExt as _;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tributary_local::host::{
    Console, FunctionApp, HandlerOptions, HandlerProcess, Host, HostOptions, Settings,
};

use crate::command::app;
#[cfg(target_os = "linux")]
use crate::command::is_running;
use crate::http::{get, post, send, start};
use crate::support::{
    Folder, cosmos_function, eventually, http_function, settings, settings_with, staged, until,
    until_printed,
};

async fn start_error(app: &Folder, settings: &Settings) -> String {
    let loaded = FunctionApp::load(app.path(), settings).unwrap();
    // Only a handler that never listens gets a short timeout.
    let silent = settings.get("ECHO_SILENT").is_some();
    let start_timeout = Duration::from_millis(if silent { 300 } else { 30_000 });
    let console = Console::kept();
    let options = HostOptions { console, start_timeout, ..HostOptions::new(app.path()) };
    Host::start(loaded, settings, options).await.unwrap_err().to_string()
}

async fn process(host: &Host) -> Option<u64> {
    let answer = get(&format!("{}/api/who", host.url())).await;
    (answer.status == StatusCode::IM_A_TEAPOT).then(|| answer.json()["process"].as_u64().unwrap())
}

/// Ends the handler. The request has a body, so the host does not repeat it.
async fn end(host: &Host, code: i32) {
    send(Method::POST, &format!("{}/api/exit/{code}", host.url()), &[], "now").await;
}

#[tokio::test]
async fn a_replaced_handler_finishes_its_request_and_requests_that_arrive_meanwhile_wait() {
    let app = app();
    let options = HandlerOptions {
        executable: app.path().join("echo_handler"),
        arguments: Vec::new(),
        working_directory: app.path().to_owned(),
        settings: settings(),
        launcher: None,
        start_timeout: Duration::from_secs(30),
    };
    let handler = HandlerProcess::start(options, Console::kept());
    let watch = handler.watch();
    let url = watch.url().await.unwrap();
    let first = get(&format!("{url}/api/who")).await.json()["process"].clone();

    // It asks for the body, so the request is in flight.
    let mut caller = TcpStream::connect(url.strip_prefix("http://").unwrap()).await.unwrap();
    let head = "POST /api/slow HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\n";
    caller.write_all(format!("{head}Content-Length: 4\r\n\r\n").as_bytes()).await.unwrap();
    let mut asks = [0; "HTTP/1.1 100 Continue\r\n\r\n".len()];
    caller.read_exact(&mut asks).await.unwrap();
    let replaced = tokio::spawn({
        let watch = watch.clone();
        async move { watch.replace().await }
    });
    until("new requests wait", async || watch.url().now_or_never().is_none()).await;
    caller.write_all(b"late").await.unwrap();
    let mut answer = [0; "HTTP/1.1 418".len()];
    caller.read_exact(&mut answer).await.unwrap();
    assert_eq!(answer, *b"HTTP/1.1 418");

    let url = replaced.await.unwrap().unwrap();
    let second = get(&format!("{url}/api/who")).await.json()["process"].clone();
    assert_ne!(first, second);
    handler.stop().await;
}

#[tokio::test]
async fn exit_code_200_is_a_restart_that_does_not_count_as_an_error_and_exit_code_0_ends_the_host()
{
    let app = app();
    let (host, console) = start(&app, &settings(), None).await;
    for _ in 0..4 {
        let before = eventually("it answers", async || process(&host).await).await;
        end(&host, 200).await;
        eventually("it is another process", async || {
            process(&host).await.filter(|now| *now != before)
        })
        .await;
    }
    until_printed(&console, "(exit code 200)").await;
    end(&host, 0).await;
    assert!(host.failed().await.to_string().contains("exit code 0"));
    host.stop().await;
}

#[tokio::test]
async fn a_handler_that_never_listens_is_a_clear_error() {
    let app = app();
    let error = start_error(&app, &settings_with("ECHO_EXIT", "7")).await;
    assert!(error.contains("failed three times") && error.contains("exit status: 7"), "{error}");
    let error = start_error(&app, &settings_with("ECHO_SILENT", "1")).await;
    assert!(error.contains("did not answer GET / within 0.3 s"), "{error}");
    std::fs::remove_file(app.path().join("echo_handler")).unwrap();
    let error = start_error(&app, &settings()).await;
    assert!(error.contains("echo_handler cannot be started"), "{error}");
}

#[cfg(unix)]
#[tokio::test]
async fn a_handler_that_is_still_being_written_starts_when_it_is_complete() {
    let app = app();
    let handler = app.path().join("echo_handler");
    let built = std::fs::canonicalize(&handler).unwrap();
    std::fs::remove_file(&handler).unwrap();
    std::fs::copy(built, &handler).unwrap();
    let writer = std::fs::OpenOptions::new().append(true).open(&handler).unwrap();
    let written = async {
        tokio::time::sleep(Duration::from_millis(200)).await;
        drop(writer);
    };
    let settings = settings();
    let ((host, _), ()) = tokio::join!(start(&app, &settings, None), written);
    host.stop().await;
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
    let secret = "AccountEndpoint=http://127.0.0.1:1/;AccountKey=";
    let error = start_error(&app, &settings_with("CosmosConnection", "nothing")).await;
    assert!(error.contains("it must be a connection string"), "{error}");
    let unreachable = settings_with("CosmosConnection", &format!("{secret}bm90aGluZw=="));
    let error = start_error(&app, &unreachable).await;
    assert!(!error.contains("bm90aGluZw"), "a key must not be printed: {error}");
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn the_end_of_the_host_ends_the_handler_and_its_children() {
    for stopped in [true, false] {
        let app = app();
        let file = app.path().join("child");
        let settings = settings_with("ECHO_CHILD", &file.to_string_lossy());
        let (host, _) = start(&app, &settings, None).await;
        let handler = process(&host).await.unwrap().to_string();
        let child = std::fs::read_to_string(&file).unwrap();
        assert!(is_running(&handler) && is_running(&child));
        if stopped {
            host.stop().await;
        } else {
            drop(host);
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
    let (host, console) = start(&app, &settings, None).await;
    let first = process(&host).await.unwrap();
    let control = json!({ "reply": "hang", "times": 1 });
    post(&format!("{}/api/control", host.url()), &control).await;
    store.put("p1", json!({})).await;
    eventually("it is another process", async || process(&host).await.filter(|now| *now != first))
        .await;
    until_printed(&console, "longer than functionTimeout").await;
    host.stop().await;
    server.stop().await;
}
