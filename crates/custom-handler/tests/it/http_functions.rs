//! HTTP functions and the readiness probe.

use axum::Router;
use axum::body::Body;
use axum::extract::{DefaultBodyLimit, Request};
use axum::http::{Method, StatusCode, Uri, header};
use axum::response::IntoResponse;
use axum::routing::{any, get, post};
use custom_handler::CustomHandler;

use crate::world::{AppReply, TestApp, invocation};

fn app(http: Router) -> TestApp {
    TestApp::new(CustomHandler::new().http(http).trigger("Changes", async || ()))
}

async fn send(app: &TestApp, method: Method, uri: &str, body: impl Into<Body>) -> AppReply {
    let request = Request::builder().method(method).uri(uri).body(body.into()).unwrap();
    app.send(request).await
}

#[tokio::test]
async fn a_request_reaches_the_router_unchanged() {
    async fn echo(method: Method, uri: Uri, body: String) -> impl IntoResponse {
        (StatusCode::IM_A_TEAPOT, format!("{method} {uri} {body}"))
    }
    let app = app(Router::new().route("/api/{*rest}", any(echo)));
    let reply = send(&app, Method::PATCH, "/api/a%20b/?q=1&q=%2F", "the body").await;
    let echoed = "PATCH /api/a%20b/?q=1&q=%2F the body";
    assert_eq!((reply.status.as_u16(), reply.text.as_str()), (418, echoed));
    let reply = app.send(invocation("api/x", "again")).await;
    assert_eq!((reply.status.as_u16(), reply.text.as_str()), (418, "POST /api/x again"));
}

#[tokio::test]
async fn a_body_of_an_http_function_has_no_limit_of_ours() {
    let count = post(async |body: axum::body::Bytes| body.len().to_string());
    let app = app(Router::new().route("/api/count", count.layer(DefaultBodyLimit::disable())));
    let n_bytes = custom_handler::MAX_BODY_BYTES + 1;
    let reply = send(&app, Method::POST, "/api/count", vec![0; n_bytes]).await;
    assert_eq!(reply.text, n_bytes.to_string());
}

#[tokio::test]
async fn the_probe_is_answered_unless_the_router_has_a_page() {
    let ready = "The function app is ready.\n";
    let fallback = Router::new().fallback(async || (StatusCode::NOT_FOUND, "no page"));
    for app in [TestApp::new(CustomHandler::new()), app(Router::new()), app(fallback)] {
        let reply = send(&app, Method::GET, "/", "").await;
        assert_eq!((reply.status.as_u16(), reply.text.as_str()), (200, ready));
    }
    let page = get(async || (StatusCode::ACCEPTED, [(header::ETAG, "1")], "a page"));
    let page = app(Router::new().route("/", page));
    let reply = send(&page, Method::GET, "/", "").await;
    assert_eq!((reply.status.as_u16(), reply.text.as_str()), (202, "a page"));
    let page = Router::new().route("/", get(async || "a page"));
    let page = TestApp::new(CustomHandler::new().page_functions(["GetPage"]).http(page));
    assert_eq!(send(&page, Method::GET, "/", "").await.text, ready);
    let visitor = Request::get("/").header("x-forwarded-for", "127.0.0.1:5000");
    assert_eq!(page.send(visitor.body(Body::empty()).unwrap()).await.text, "a page");
}

#[tokio::test]
async fn other_paths_than_triggers_get_the_routers_own_answers() {
    let router = Router::new()
        .route("/api/thing", get(async || ()))
        .fallback(async || (StatusCode::GONE, "nothing here"));
    let app = app(router);
    assert_eq!(send(&app, Method::PUT, "/api/thing", "").await.status, 405);
    for (method, uri) in [
        (Method::GET, "/api/other"),
        (Method::GET, "/Changes"),
        (Method::POST, "/Changes/more"),
        (Method::POST, "/api/Changes"),
        (Method::POST, "/Unknown"),
        // The host uses the registered name.
        (Method::POST, "/changes"),
        (Method::POST, "/"),
    ] {
        assert_eq!(send(&app, method, uri, "").await.text, "nothing here", "{uri}");
    }
}

#[tokio::test]
async fn a_fallback_for_every_path_does_not_make_an_unknown_trigger_succeed() {
    let app = app(Router::new().fallback(async || StatusCode::OK));
    let reply = app.invoke("Unknown", "{}").await;
    assert!(reply.failure(404).contains("No trigger named `Unknown`"));
    assert_eq!(send(&app, Method::GET, "/Unknown", "").await.status, 200);
    assert_eq!(send(&app, Method::POST, "/a/b", "").await.status, 200);
    // From outside, no path is the name of a trigger.
    for path in ["/api", "/Unknown"] {
        let request = Request::post(path).header("x-forwarded-for", "203.0.113.9");
        let reply = app.send(request.body(Body::empty()).unwrap()).await;
        assert_eq!((reply.status.as_u16(), reply.text.as_str()), (200, ""), "{path}");
    }
}

#[tokio::test]
async fn a_request_from_outside_starts_no_trigger() {
    let app = TestApp::new(
        CustomHandler::new()
            .trigger("Changes", async || -> () { panic!("a caller has started it") }),
    );
    for value in ["203.0.113.9", ""] {
        let mut request = invocation("Changes", r#"{"Data":{}}"#);
        request.headers_mut().insert("x-forwarded-for", value.parse().unwrap());
        let reply = app.send(request).await;
        assert_eq!((reply.status.as_u16(), reply.text.as_str()), (403, ""));
    }
}

#[tokio::test]
async fn a_call_that_comes_as_an_invocation_says_which_host_to_use() {
    let http = Router::new().route("/api/hello", get(async || "Hello"));
    let app =
        TestApp::new(CustomHandler::new().http(http).http_functions([("Hello", "/api/hello")]));
    let body = r#"{"Data":{"req":{"Url":"http://localhost/api/hello","Method":"GET"}}}"#;
    let reply = app.invoke("Hello", body).await;
    let reason = reply.failure(501);
    assert!(reason.contains("host 4.1041") && reason.contains("Tools 4.2.2"), "{reason}");
    // From outside, it is a path like any other.
    let mut request = invocation("Hello", body);
    request.headers_mut().insert("x-forwarded-for", "203.0.113.9".parse().unwrap());
    assert_eq!(app.send(request).await.status, StatusCode::NOT_FOUND);
}
