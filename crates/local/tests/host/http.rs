//! HTTP functions and the admin endpoint of a running host.

use axum::http::{HeaderMap, Method, Request, StatusCode};
use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use serde_json::{Value, json};
use tributary_local::host::{Console, FunctionApp, Host, HostOptions, Keys, Settings};

use crate::support::{Folder, cosmos_function, eventually, http_function, settings, staged};

pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap()
    }
}

pub(crate) async fn send(
    method: Method,
    url: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> Answer {
    let client: Client<HttpConnector, Full<Bytes>> =
        Client::builder(TokioExecutor::new()).build_http();
    let mut request = Request::builder().method(method).uri(url);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let request = request.body(Full::from(body.to_owned())).unwrap();
    answer(&client, request).await.unwrap()
}

/// Sends a request; `None` without an answer.
pub(crate) async fn try_get(url: &str) -> Option<Answer> {
    let client = Client::builder(TokioExecutor::new()).build_http();
    answer(&client, Request::get(url).body(Full::default()).unwrap()).await
}

async fn answer(
    client: &Client<HttpConnector, Full<Bytes>>,
    request: Request<Full<Bytes>>,
) -> Option<Answer> {
    let (parts, body) = client.request(request).await.ok()?.into_parts();
    let body = body.collect().await.ok()?.to_bytes();
    let text = String::from_utf8(body.to_vec()).unwrap();
    Some(Answer { status: parts.status, headers: parts.headers, text })
}

pub(crate) async fn get(url: &str) -> Answer {
    send(Method::GET, url, &[], "").await
}

pub(crate) async fn post(url: &str, body: &Value) -> Answer {
    send(Method::POST, url, &[("content-type", "application/json")], &body.to_string()).await
}

pub(crate) async fn start(
    folder: &Folder,
    settings: &Settings,
    keys: Option<Keys>,
) -> (Host, Console) {
    let app = FunctionApp::load(folder.path(), settings).unwrap();
    let console = Console::kept();
    let options = HostOptions { keys, console: console.clone(), ..HostOptions::new(folder.path()) };
    (Host::start(app, settings, options).await.unwrap(), console)
}

/// Returns an app with one route for all, a timer that is never due, and no change feed.
fn app() -> Folder {
    let timer = json!({ "bindings": [{ "type": "timerTrigger", "direction": "in",
        "name": "timer", "schedule": "0 0 0 1 1 *" }] });
    staged(&[
        ("Admin", http_function("api/secret", &["get"], "admin")),
        ("Change", http_function("api/change", &["get"], "function")),
        ("Control", http_function("api/control", &["post"], "anonymous")),
        ("Recorded", http_function("api/recorded", &["get"], "anonymous")),
        ("Rest", http_function("api/rest/{*path}", &[], "anonymous")),
        ("Nightly", timer),
    ])
}

#[tokio::test]
async fn a_request_reaches_the_handler_unchanged() {
    let app = app();
    let (host, console) = start(&app, &settings(), None).await;
    let url = format!("{}/api/rest/a%2Fb/c?x=1&x=2&y=%20", host.url());
    let headers = [("x-mine", "1"), ("connection", "x-hop"), ("x-hop", "2"), ("te", "trailers")];
    let body = "ü".repeat(100_000);
    let answer = send(Method::PATCH, &url, &headers, &body).await;

    assert_eq!(answer.status, StatusCode::IM_A_TEAPOT);
    assert_eq!(answer.headers["x-echo"], "yes");
    assert!(!answer.headers.contains_key("x-private"), "it was named in Connection");
    let echo = answer.json();
    assert_eq!(echo["method"], "PATCH");
    // The host decodes a path, but no slash, and encodes it again.
    assert_eq!(echo["path"], "/api/rest/a%252Fb/c");
    assert_eq!(echo["query"], "x=1&x=2&y=%20");
    assert_eq!(echo["body"], body);
    let header = |name: &str| {
        let headers = echo["headers"].as_array().unwrap();
        headers.iter().find(|pair| pair[0] == name).map(|pair| pair[1].as_str().unwrap())
    };
    assert_eq!(header("x-mine"), Some("1"));
    assert_eq!(header("x-hop"), None);
    assert_eq!(header("te"), None);
    assert_eq!(header("x-forwarded-host"), Some(host.url().trim_start_matches("http://")));
    let id = header("x-azure-functions-invocationid").unwrap();
    let lines = console.lines();
    assert!(
        lines.iter().any(|line| line.contains(&format!("'Functions.Rest' (Succeeded, Id={id}"))),
        "{lines:?}"
    );
    // The query can hold a key.
    assert!(!lines.iter().any(|line| line.contains("x=1")));
    host.stop().await;
}

#[tokio::test]
async fn an_unknown_route_is_a_404_with_an_empty_body() {
    let app = app();
    let (host, _) = start(&app, &settings(), None).await;
    for (method, path) in
        [(Method::GET, "/none"), (Method::GET, "/api/none"), (Method::POST, "/api/change")]
    {
        let answer = send(method, &format!("{}{path}", host.url()), &[], "").await;
        assert_eq!((answer.status, answer.text.as_str()), (StatusCode::NOT_FOUND, ""));
    }
    host.stop().await;
}

#[tokio::test]
async fn the_root_is_a_page_unless_a_setting_disables_it() {
    let app = app();
    for (value, status) in [("false", StatusCode::OK), ("true", StatusCode::NO_CONTENT)] {
        let mut settings = settings();
        settings.set("AzureWebJobsDisableHomepage", value);
        let (host, _) = start(&app, &settings, None).await;
        let answer = get(host.url()).await;
        assert_eq!((answer.status, answer.text.is_empty()), (status, value == "true"));
        host.stop().await;
    }
}

#[tokio::test]
async fn a_disabled_http_function_answers_404_and_keeps_its_route() {
    let app = app();
    app.write("Change/function.json", &http_function("api/rest/change", &["get"], "function"));
    for name in ["AzureWebJobs.Change.Disabled", "AzureWebJobs_Change_Disabled"] {
        let mut settings = settings();
        settings.set(name, "true");
        let (host, _) = start(&app, &settings, Some(Keys::generate())).await;
        let url = format!("{}/api/rest/change", host.url());
        let answer = get(&url).await;
        assert_eq!((answer.status, answer.text.as_str()), (StatusCode::NOT_FOUND, ""));
        // Another method belongs to another function.
        let answer = send(Method::DELETE, &url, &[], "").await;
        assert_eq!(answer.status, StatusCode::IM_A_TEAPOT);
        host.stop().await;
    }
}

#[tokio::test]
async fn the_status_of_the_host_needs_a_key_only_with_enable_auth() {
    let app = app();
    let keys = Keys::generate();
    for (given, sent, status) in [
        (None, None, StatusCode::OK),
        (Some(&keys), None, StatusCode::UNAUTHORIZED),
        (Some(&keys), Some(&keys.function), StatusCode::FORBIDDEN),
        (Some(&keys), Some(&keys.master), StatusCode::OK),
    ] {
        let (host, _) = start(&app, &settings(), given.cloned()).await;
        let headers: Vec<_> = sent.iter().map(|key| ("x-functions-key", key.as_str())).collect();
        let url = format!("{}/admin/host/status", host.url());
        let answer = send(Method::GET, &url, &headers, "").await;
        assert_eq!(answer.status, status);
        let challenge = answer.headers.get("www-authenticate").map(|value| value.to_str().unwrap());
        assert_eq!(challenge, (status == StatusCode::UNAUTHORIZED).then_some("Bearer"));
        host.stop().await;
    }
}

#[tokio::test]
async fn keys_are_asked_for_only_with_enable_auth() {
    let app = app();
    let (host, _) = start(&app, &settings(), None).await;
    assert_eq!(get(&format!("{}/api/change", host.url())).await.status, StatusCode::IM_A_TEAPOT);
    host.stop().await;

    let keys = Keys::generate();
    let (host, _) = start(&app, &settings(), Some(keys.clone())).await;
    let open = StatusCode::IM_A_TEAPOT;
    let locked = StatusCode::UNAUTHORIZED;
    let function = keys.function.as_str();
    let master = keys.master.as_str();
    let cases = [
        ("api/rest/x", None, None, open),
        ("api/change", None, None, locked),
        ("api/change", Some("wrong"), None, locked),
        ("api/change", Some(function), None, open),
        ("api/change", Some(master), None, open),
        ("api/change", None, Some(function), open),
        ("api/change", Some("wrong"), Some(function), locked),
        ("api/change", Some(function), Some("wrong"), open),
        ("api/secret", Some(function), None, locked),
        ("api/secret", Some(master), None, open),
        ("admin/functions/Nightly", None, None, locked),
        ("admin/functions/Nightly", Some(function), None, StatusCode::FORBIDDEN),
    ];
    for (path, header, code, expected) in cases {
        let query = code.map(|code| format!("?a=b&code={code}")).unwrap_or_default();
        let headers: Vec<_> = header.into_iter().map(|key| ("x-functions-key", key)).collect();
        let url = format!("{}/{path}{query}", host.url());
        let status = send(Method::GET, &url, &headers, "").await.status;
        assert_eq!(status, expected, "{path} {}", header.is_some());
    }
    host.stop().await;
}

#[tokio::test]
async fn admin_runs_a_function_on_request() {
    let app = app();
    let (host, console) = start(&app, &settings(), None).await;
    let admin = |name: &str| format!("{}/admin/functions/{name}", host.url());
    assert_eq!(post(&admin("nightly"), &json!({ "input": "" })).await.status, StatusCode::ACCEPTED);
    assert_eq!(post(&admin("Rest"), &json!({})).await.status, StatusCode::BAD_REQUEST);
    assert_eq!(post(&admin("None"), &json!({})).await.status, StatusCode::NOT_FOUND);
    assert_eq!(get(&admin("Nightly")).await.status, StatusCode::METHOD_NOT_ALLOWED);

    let recorded = eventually("the timer ran", async || {
        let recorded = get(&format!("{}/api/recorded", host.url())).await.json();
        (!recorded.as_array().unwrap().is_empty()).then_some(recorded)
    })
    .await;
    assert_eq!(recorded[0]["function"], "Nightly");
    assert_eq!(recorded[0]["body"]["Data"]["timer"]["IsPastDue"], false);
    eventually("the answer's log line is printed", async || {
        console.lines().iter().any(|line| line.contains("a line of the answer")).then_some(())
    })
    .await;
    host.stop().await;
}

#[tokio::test]
async fn a_timer_with_run_on_startup_runs_at_the_start() {
    let timer = json!({ "bindings": [{ "type": "timerTrigger", "direction": "in",
        "name": "timer", "schedule": "0 0 0 1 1 *", "runOnStartup": true }] });
    let app = staged(&[
        ("Nightly", timer),
        ("Recorded", http_function("api/recorded", &[], "anonymous")),
    ]);
    let (host, _) = start(&app, &settings(), None).await;
    eventually("the timer ran", async || {
        let recorded = get(&format!("{}/api/recorded", host.url())).await.json();
        (recorded[0]["function"] == "Nightly").then_some(())
    })
    .await;
    host.stop().await;
}

#[tokio::test]
async fn a_timer_runs_when_it_is_due() {
    let timer = json!({ "bindings": [{ "type": "timerTrigger", "direction": "in",
        "name": "timer", "schedule": "* * * * * *" }] });
    let app =
        staged(&[("Often", timer), ("Recorded", http_function("api/recorded", &[], "anonymous"))]);
    let (host, _) = start(&app, &settings(), None).await;
    let recorded = eventually("the timer ran twice", async || {
        let recorded = get(&format!("{}/api/recorded", host.url())).await.json();
        (recorded.as_array().unwrap().len() >= 2).then_some(recorded)
    })
    .await;
    // The host keeps no status of a schedule that is shorter than a minute.
    let timer = &recorded[1]["body"]["Data"]["timer"];
    let expected = json!({
        "Schedule": { "AdjustForDST": true }, "ScheduleStatus": null, "IsPastDue": false,
    });
    assert_eq!(timer, &expected);
    host.stop().await;
}

#[tokio::test]
async fn changes_reach_the_process_of_the_handler() {
    let store = crate::support::Store::new(2).await;
    let server = store.endpoint.serve(0).await.unwrap();
    let mut settings = settings();
    settings.set("CosmosConnection", server.connection_string());
    let app = staged(&[
        ("Copies", cosmos_function()),
        ("Control", http_function("api/control", &["post"], "anonymous")),
        ("Recorded", http_function("api/recorded", &["get"], "anonymous")),
    ]);
    let function = cosmos_function();
    let mut quick = function.clone();
    quick["retry"]["minimumInterval"] = "00:00:00.01".into();
    app.write("Copies/function.json", &quick);
    let (host, _) = start(&app, &settings, None).await;
    for reply in ["fail", "empty", "text"] {
        let control = json!({ "reply": reply, "times": 1 });
        post(&format!("{}/api/control", host.url()), &control).await;
        store.put(reply, json!({})).await;
        eventually("the change is delivered and retried", async || {
            let recorded = get(&format!("{}/api/recorded", host.url())).await.json();
            let quoted = format!("\\\\\\\"id\\\\\\\":\\\\\\\"{reply}\\\\\\\"");
            let seen = recorded.as_array().unwrap().iter();
            let seen: Vec<_> =
                seen.filter(|one| one["body"].to_string().contains(&quoted)).collect();
            (seen.len() == 2 && seen[0]["id"] == seen[1]["id"]).then_some(())
        })
        .await;
    }
    // A manual run with the text of an array has the same effect.
    let url = format!("{}/admin/functions/Copies", host.url());
    let input = json!({ "input": "[{\"id\":\"by-hand\"}]" });
    assert_eq!(post(&url, &input).await.status, StatusCode::ACCEPTED);
    assert_eq!(post(&url, &json!({ "input": "[" })).await.status, StatusCode::BAD_REQUEST);
    eventually("it ran by hand", async || {
        let recorded = get(&format!("{}/api/recorded", host.url())).await.json();
        recorded.to_string().contains("by-hand").then_some(())
    })
    .await;
    host.stop().await;
    server.stop().await;
}
