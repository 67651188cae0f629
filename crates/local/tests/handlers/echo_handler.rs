//! A custom handler for tests of the host, which answers every invocation and fails on request.
//!
//! `POST /api/control` with `{"reply": "ok" | "fail" | "hang", "times": n}` sets the
//! answers to the next invocations, `POST /api/exit/{code}` ends the process, and `GET /api/recorded`
//! lists the requests. `ECHO_EXIT` ends it at the start, `ECHO_SILENT` keeps it from listening,
//! `ECHO_CHILD` names a file for a child's process id, `ECHO_FUNCTIONS` are the functions that it
//! claims to serve, and `ECHO_OPENAPI` is its OpenAPI document.

use std::collections::BTreeMap;
use std::process::{Command, exit};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::body::{Body, to_bytes};
use axum::extract::{Path, Request, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::{any, get, post};
use axum::{Json, Router};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::net::TcpListener;
#[cfg(unix)]
use tokio::signal::unix::{SignalKind, signal};

#[derive(Clone, Default)]
struct App {
    recorded: Arc<Mutex<Vec<Value>>>,
    control: Arc<Mutex<Control>>,
}

#[derive(Clone, Default, Deserialize)]
struct Control {
    reply: String,
    times: u32,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("echo handler starts");
    eprintln!("a warning from the echo handler");
    if let Ok(file) = std::env::var("ECHO_CHILD") {
        let child = Command::new("sleep").arg("600").spawn()?;
        std::fs::write(file, child.id().to_string())?;
    }
    if let Ok(code) = std::env::var("ECHO_EXIT") {
        exit(code.parse()?);
    }
    if std::env::var_os("ECHO_SILENT").is_some() {
        std::future::pending::<()>().await;
    }
    let port: u16 = std::env::var("FUNCTIONS_CUSTOMHANDLER_PORT")?.parse()?;
    let router = Router::new()
        .route("/", get(ready))
        .route("/api/control", post(set_control))
        .route("/api/exit/{code}", post(end))
        .route("/api/recorded", get(recorded))
        .route("/api/openapi.json", get(openapi))
        .route("/api/{*path}", any(echo))
        .route("/{function}", post(invoke))
        .with_state(App::default());
    let listener = TcpListener::bind(("127.0.0.1", port)).await?;
    axum::serve(listener, router).with_graceful_shutdown(asked_to_end()).await?;
    // As a handler of the `custom-handler` crate ends.
    exit(200)
}

/// Waits for SIGTERM; without end where there are no signals.
async fn asked_to_end() {
    #[cfg(unix)]
    if let Ok(mut terminate) = signal(SignalKind::terminate()) {
        terminate.recv().await;
        return;
    }
    std::future::pending::<()>().await;
}

async fn ready() -> impl IntoResponse {
    let mut headers = HeaderMap::new();
    let functions = std::env::var("ECHO_FUNCTIONS").ok();
    if let Some(functions) = functions.and_then(|functions| functions.try_into().ok()) {
        headers.insert("x-custom-handler-functions", functions);
    }
    (headers, "ready")
}

async fn set_control(State(app): State<App>, Json(control): Json<Control>) -> StatusCode {
    if let Ok(mut current) = app.control.lock() {
        *current = control;
    }
    StatusCode::NO_CONTENT
}

async fn end(Path(code): Path<i32>) {
    exit(code);
}

async fn openapi() -> Response {
    let text = std::env::var("ECHO_OPENAPI").map_err(|_| StatusCode::NOT_FOUND);
    text.into_response()
}

async fn recorded(State(app): State<App>) -> Json<Value> {
    let recorded = app.recorded.lock().map(|recorded| recorded.clone());
    Json(Value::Array(recorded.unwrap_or_default()))
}

async fn echo(request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let headers: Vec<_> = parts
        .headers
        .iter()
        .map(|(name, value)| json!([name.as_str(), String::from_utf8_lossy(value.as_bytes())]))
        .collect();
    let body = to_bytes(body, usize::MAX).await.unwrap_or_default();
    let echo = json!({
        "method": parts.method.as_str(),
        "path": parts.uri.path(),
        "query": parts.uri.query(),
        "headers": headers,
        "body": String::from_utf8_lossy(&body),
        "process": std::process::id(),
    });
    let status = StatusCode::IM_A_TEAPOT;
    (status, [("x-echo", "yes"), ("connection", "x-private"), ("x-private", "1")], Json(echo))
        .into_response()
}

async fn invoke(
    State(app): State<App>,
    Path(function): Path<String>,
    headers: HeaderMap,
    body: Body,
) -> Response {
    let body = to_bytes(body, usize::MAX).await.unwrap_or_default();
    let id = headers.get("x-azure-functions-invocationid").and_then(|id| id.to_str().ok());
    let body: Value = serde_json::from_slice(&body).unwrap_or_default();
    let sent: BTreeMap<_, _> =
        headers.iter().map(|(name, value)| (name.as_str(), value.to_str().ok())).collect();
    if let Ok(mut recorded) = app.recorded.lock() {
        recorded.push(json!({ "function": function, "id": id, "body": body, "headers": sent }));
    }
    let reply = app.control.lock().ok().and_then(|mut control| {
        control.times = control.times.checked_sub(1)?;
        Some(control.reply.clone())
    });
    match reply.as_deref() {
        Some("fail") => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
        Some("hang") => {
            tokio::time::sleep(Duration::from_hours(1)).await;
            StatusCode::OK.into_response()
        }
        _ => Json(json!({ "Outputs": {}, "Logs": ["a line of the answer"], "ReturnValue": null }))
            .into_response(),
    }
}
