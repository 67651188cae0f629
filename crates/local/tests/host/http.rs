//! HTTP functions and the admin endpoint of a running host.

use axum::http::{HeaderName, Method, StatusCode, header};
use serde_json::{Value, json};
use tributary_local::client::{Call, Client, Reply};
use tributary_local::host::{Console, FunctionApp, Host, HostOptions, Keys, Settings};

use crate::support::{
    Folder, eventually, http_function, settings, settings_with, staged, until_printed,
};

/// Sends a request to an absolute address.
pub(crate) async fn send(method: Method, url: &str, headers: &[(&str, &str)], body: &str) -> Reply {
    let mut call = Call::new(method, "");
    for (name, value) in headers {
        call = call.header(name.parse::<HeaderName>().unwrap(), *value);
    }
    let body = (!body.is_empty()).then(|| body.as_bytes().to_vec().into());
    Client::new(url).unwrap().send(&Call { body, ..call }).await.unwrap()
}

pub(crate) async fn get(url: &str) -> Reply {
    send(Method::GET, url, &[], "").await
}

pub(crate) async fn post(url: &str, body: &Value) -> Reply {
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

fn timer(schedule: &str) -> Value {
    let kind = "timerTrigger";
    json!({ "bindings": [{ "type": kind, "direction": "in", "name": "timer", "schedule": schedule }] })
}

/// Waits until the echo handler has had this number of invocations, and returns them.
pub(crate) async fn invoked(host: &Host, count: usize) -> Vec<Value> {
    eventually("the invocations are there", async || {
        let recorded = get(&format!("{}/api/recorded", host.url())).await.json();
        let recorded = recorded.as_array().unwrap();
        (recorded.len() >= count).then(|| recorded.clone())
    })
    .await
}

/// Returns an app with one route for all, a timer that is never due, and no change feed.
fn app() -> Folder {
    staged(&[
        ("Change", http_function("api/change", &["get"], "function")),
        ("Recorded", http_function("api/recorded", &["get"], "anonymous")),
        ("Rest", http_function("api/rest/{*path}", &[], "anonymous")),
        ("Nightly", timer("0 0 0 1 1 *")),
    ])
}

// `recorded_http.rs` has what else of a request reaches the handler.
#[tokio::test]
async fn headers_that_connection_names_end_at_the_host_whose_line_has_the_id_and_no_query() {
    let app = app();
    let (host, console) = start(&app, &settings(), None).await;
    let url = format!("{}/api/rest/a?x=1", host.url());
    let headers = [("connection", "x-hop"), ("x-hop", "2")];
    let answer = send(Method::PATCH, &url, &headers, "").await;

    assert!(answer.headers.contains_key("x-echo"));
    assert!(!answer.headers.contains_key("x-private"), "it was named in Connection");
    let echo = answer.json();
    assert_eq!(echo["headers"]["x-hop"], Value::Null);
    let id = echo["headers"]["x-azure-functions-invocationid"].as_str().unwrap();
    until_printed(&console, &format!("'Functions.Rest' (Succeeded, Id={id}")).await;
    // The query can hold a key.
    assert!(!console.lines().iter().any(|line| line.contains("x=1")));
    host.stop().await;
}

#[tokio::test]
async fn a_page_of_another_site_and_a_name_of_another_machine_reach_nothing() {
    let folder = app();
    let cors = "https://mine.example/, https://Other.example";
    folder.write("local.settings.json", json!({ "Host": { "CORS": cors } }));
    let mut settings = Settings::read(&folder.path().join("local.settings.json")).unwrap();
    crate::support::settings().iter().for_each(|(name, value)| settings.set(name, value));
    let (host, console) = start(&folder, &settings, None).await;
    let rebound = format!("evil.example:{}", host.port());
    for (header, value, status) in [
        ("origin", "https://evil.example", 403),
        ("origin", "null", 403),
        ("origin", "http://localhost:3000", 403),
        ("host", &*rebound, 403),
        ("origin", host.url(), 200),
        ("origin", "https://mine.example", 200),
        ("origin", "https://other.example", 200),
        ("host", "localhost", 200),
    ] {
        for path in ["/api/recorded", "/admin/host/status", "/"] {
            let url = format!("{}{path}", host.url());
            let answer = send(Method::GET, &url, &[(header, value)], "").await;
            assert_eq!(answer.status, status, "{header}: {value} at {path}");
        }
    }
    // A browser sends a form to any site.
    let url = format!("{}/admin/functions/Nightly", host.url());
    let plain = [("content-type", "text/plain"), ("origin", "https://evil.example")];
    let answer = send(Method::POST, &url, &plain, "{}").await;
    assert_eq!(answer.status, StatusCode::FORBIDDEN);
    assert!(String::from_utf8_lossy(&answer.body).contains("Host.CORS"));
    until_printed(&console, "/admin/functions/Nightly → 403").await;

    // For the sites in the list the host answers OPTIONS, whatever the function takes.
    let url = format!("{}/api/change", host.url());
    let asks = ("access-control-request-method", "PUT");
    let names = ("access-control-request-headers", "content-type,if-match");
    let mine = ("origin", "https://mine.example");
    let may = send(Method::OPTIONS, &url, &[mine, asks, names], "").await;
    assert_eq!((may.status, may.body.len()), (StatusCode::NO_CONTENT, 0));
    assert_eq!(may.headers["access-control-allow-methods"], asks.1);
    assert_eq!(may.headers["access-control-allow-headers"], names.1);
    for answer in [may, send(Method::GET, &url, &[mine], "").await] {
        assert_eq!(answer.headers["access-control-allow-origin"], mine.1);
        assert_eq!(answer.headers["vary"], "Origin");
    }
    for (headers, status) in
        [(&[mine][..], 404), (&[asks], 404), (&[("origin", "null"), asks], 403)]
    {
        assert_eq!(send(Method::OPTIONS, &url, headers, "").await.status, status, "{headers:?}");
    }
    host.stop().await;
}

#[tokio::test]
async fn a_setting_disables_the_page_of_the_root() {
    let app = app();
    let settings = settings_with("AzureWebJobsDisableHomepage", "true");
    let (host, _) = start(&app, &settings, None).await;
    let answer = get(host.url()).await;
    assert_eq!((answer.status, answer.body.len()), (StatusCode::NO_CONTENT, 0));
    host.stop().await;
}

#[tokio::test]
async fn a_disabled_http_function_answers_404_and_keeps_its_route() {
    let app = app();
    app.write("Change/function.json", http_function("api/rest/change", &["get"], "function"));
    for name in ["AzureWebJobs.Change.Disabled", "AzureWebJobs_Change_Disabled"] {
        let settings = settings_with(name, "true");
        let (host, _) = start(&app, &settings, Some(Keys::generate())).await;
        let url = format!("{}/api/rest/change", host.url());
        let answer = get(&url).await;
        assert_eq!((answer.status, answer.text().as_str()), (StatusCode::NOT_FOUND, ""));
        // Another method belongs to another function.
        let answer = send(Method::DELETE, &url, &[], "").await;
        assert_eq!(answer.status, StatusCode::IM_A_TEAPOT);
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
    // `recorded_http.rs` has the cases of HTTP functions.
    for (path, key, expected) in [
        ("functions/Nightly", None, StatusCode::UNAUTHORIZED),
        ("functions/Nightly", Some(&keys.function), StatusCode::FORBIDDEN),
        ("host/status", Some(&keys.master), StatusCode::OK),
    ] {
        let headers: Vec<_> = key.map(|key| ("x-functions-key", &**key)).into_iter().collect();
        let url = format!("{}/admin/{path}", host.url());
        let answer = send(Method::GET, &url, &headers, "").await;
        assert_eq!(answer.status, expected, "{path}");
        let challenge = answer.header(&header::WWW_AUTHENTICATE);
        assert_eq!(challenge, key.is_none().then_some("Bearer"));
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

    let invoked = invoked(&host, 1).await;
    assert_eq!(invoked[0]["function"], "Nightly");
    until_printed(&console, "a line of the answer").await;
    host.stop().await;
}

#[tokio::test]
async fn a_timer_runs_when_it_is_due() {
    let app = staged(&[
        ("Often", timer("* * * * * *")),
        ("Recorded", http_function("api/recorded", &[], "anonymous")),
    ]);
    let (host, _) = start(&app, &settings(), None).await;
    let invoked = invoked(&host, 2).await;
    // The host keeps no status of a schedule that is shorter than a minute.
    let timer = &invoked[1]["body"]["Data"]["timer"];
    let expected = json!({
        "Schedule": { "AdjustForDST": true }, "ScheduleStatus": null, "IsPastDue": false,
    });
    assert_eq!(timer, &expected);
    host.stop().await;
}
