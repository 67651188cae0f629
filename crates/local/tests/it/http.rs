//! HTTP functions and the admin endpoint of a running host.

use axum::http::{Method, StatusCode, header};
use serde_json::json;
use tributary_local::host::{HostOptions, Keys, Settings};

use crate::hosted::{Hosted, get, post, send};
use crate::support::{
    Folder, http_function, settings, settings_with, staged, timer_function, until_printed,
};

/// Returns an app with a timer that is never due, and no change feed.
fn app() -> Folder {
    staged(&[
        ("Change", http_function("api/change", &["get"], "function")),
        ("Rest", http_function("api/rest/{*path}", &[], "anonymous")),
        ("Nightly", timer_function("0 0 0 1 1 *")),
    ])
}

async fn start(settings: &Settings, keys: Option<Keys>) -> Hosted {
    Hosted::of(app(), settings, |options| HostOptions { keys, ..options }).await
}

// `answers.rs` has what else of a request reaches the handler.
#[tokio::test]
async fn headers_that_connection_names_end_at_the_host_whose_line_has_the_id_and_no_query() {
    let hosted = start(&settings(), None).await;
    let answer = json!({ "connection": "x-private", "x-private": "1", "x-echo": "yes" });
    hosted.folder.answers(&json!({ "headers": answer }));
    let headers = [("connection", "x-hop"), ("x-hop", "2")];
    let answer = send(Method::PATCH, &hosted.url("/api/rest/a?x=1"), &headers, "").await;

    assert!(answer.headers.contains_key("x-echo") && !answer.headers.contains_key("x-private"));
    let delivery = &hosted.folder.deliveries()[0];
    assert_eq!(delivery.header("x-hop"), "");
    let id = delivery.header("x-azure-functions-invocationid");
    until_printed(&hosted.console, &format!("'Functions.Rest' (Succeeded, Id={id}")).await;
    // The query can hold a key.
    assert!(!hosted.console.lines().iter().any(|line| line.contains("x=1")));
    hosted.host.stop().await;
}

#[tokio::test]
async fn a_page_of_another_site_and_a_name_of_another_machine_reach_nothing() {
    let folder = app();
    let cors = "https://mine.example/, https://Other.example";
    folder.write("local.settings.json", json!({ "Host": { "CORS": cors } }));
    let mut settings = Settings::read(&folder.path().join("local.settings.json")).unwrap();
    crate::support::settings().iter().for_each(|(name, value)| settings.set(name, value));
    let hosted = Hosted::of(folder, &settings, |options| options).await;
    let rebound = format!("evil.example:{}", hosted.host.port());
    for (header, value, is_refused) in [
        ("origin", "https://evil.example", true),
        ("origin", "null", true),
        ("origin", "http://localhost:3000", true),
        ("host", &*rebound, true),
        ("origin", hosted.host.url(), false),
        ("origin", "https://mine.example", false),
        ("origin", "https://other.example", false),
        ("host", "localhost", false),
    ] {
        for path in ["/api/change", "/admin/host/status", "/"] {
            let answer = send(Method::GET, &hosted.url(path), &[(header, value)], "").await;
            assert_eq!(answer.status == 403, is_refused, "{header}: {value} at {path}");
        }
    }
    // A browser sends a form to any site.
    let url = hosted.url("/admin/functions/Nightly");
    let plain = [("content-type", "text/plain"), ("origin", "https://evil.example")];
    let answer = send(Method::POST, &url, &plain, "{}").await;
    assert_eq!(answer.status, StatusCode::FORBIDDEN);
    assert!(answer.text().contains("Host.CORS"));
    until_printed(&hosted.console, "/admin/functions/Nightly → 403").await;

    // For the sites in the list the host answers OPTIONS, whatever the function takes.
    let url = hosted.url("/api/change");
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
    hosted.host.stop().await;
}

#[tokio::test]
async fn settings_disable_the_page_of_the_root_and_functions_whose_routes_stay() {
    for name in ["AzureWebJobs.Change.Disabled", "AzureWebJobs_Change_Disabled"] {
        let folder = app();
        let change = http_function("api/rest/change", &["get"], "function");
        folder.write("Change/function.json", change);
        let mut settings = settings_with("AzureWebJobsDisableHomepage", "true");
        settings.set(name, "true");
        let keys = Some(Keys::generate());
        let hosted = Hosted::of(folder, &settings, |options| HostOptions { keys, ..options }).await;
        let page = get(hosted.host.url()).await;
        assert_eq!((page.status, page.body.len()), (StatusCode::NO_CONTENT, 0));
        let url = hosted.url("/api/rest/change");
        let answer = get(&url).await;
        assert_eq!((answer.status, answer.text().as_str()), (StatusCode::NOT_FOUND, ""));
        // Another method belongs to another function.
        let answer = send(Method::DELETE, &url, &[], "").await;
        assert_eq!(answer.status, StatusCode::IM_A_TEAPOT);
        hosted.host.stop().await;
    }
}

#[tokio::test]
async fn keys_are_asked_for_only_with_enable_auth() {
    let hosted = start(&settings(), None).await;
    assert_eq!(get(&hosted.url("/api/change")).await.status, StatusCode::IM_A_TEAPOT);
    hosted.host.stop().await;

    let keys = Keys::generate();
    let hosted = start(&settings(), Some(keys.clone())).await;
    // `answers.rs` has the cases of HTTP functions.
    for (path, key, expected) in [
        ("functions/Nightly", None, StatusCode::UNAUTHORIZED),
        ("functions/Nightly", Some(&keys.function), StatusCode::FORBIDDEN),
        ("host/status", Some(&keys.master), StatusCode::OK),
    ] {
        let headers: Vec<_> = key.map(|key| ("x-functions-key", &**key)).into_iter().collect();
        let answer = send(Method::GET, &hosted.url(&format!("/admin/{path}")), &headers, "").await;
        assert_eq!(answer.status, expected, "{path}");
        let challenge = answer.header(&header::WWW_AUTHENTICATE);
        assert_eq!(challenge, key.is_none().then_some("Bearer"));
    }
    hosted.host.stop().await;
}

#[tokio::test]
async fn admin_runs_a_function_on_request() {
    let hosted = start(&settings(), None).await;
    let admin = |name: &str| hosted.url(&format!("/admin/functions/{name}"));
    assert_eq!(post(&admin("nightly"), &json!({ "input": "" })).await.status, StatusCode::ACCEPTED);
    assert_eq!(post(&admin("Rest"), &json!({})).await.status, StatusCode::BAD_REQUEST);
    assert_eq!(post(&admin("None"), &json!({})).await.status, StatusCode::NOT_FOUND);
    assert_eq!(get(&admin("Nightly")).await.status, StatusCode::METHOD_NOT_ALLOWED);

    assert_eq!(hosted.invoked(1).await[0].line, "POST /Nightly");
    until_printed(&hosted.console, "recorded").await;
    hosted.host.stop().await;
}

#[tokio::test]
async fn a_timer_runs_when_it_is_due() {
    let folder = staged(&[("Often", timer_function("* * * * * *"))]);
    let hosted = Hosted::of(folder, &settings(), |options| options).await;
    let invoked = hosted.invoked(2).await;
    // The host keeps no status of a schedule that is shorter than a minute.
    let schedule = r#""ScheduleStatus":null"#;
    assert!(invoked[1].body.contains(schedule), "{}", invoked[1].body);
    hosted.host.stop().await;
}
