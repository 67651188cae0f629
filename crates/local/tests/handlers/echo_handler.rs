//! A custom handler for tests of the host, which answers every invocation and fails on request.
//!
//! `POST /api/control` with `{"reply": "ok" | "fail" | "hang", "times": n}` sets the
//! answers to the next invocations, `POST /api/exit/{code}` ends the process, and `GET /api/recorded`
//! lists the requests. `ECHO_EXIT` ends it at the start, `ECHO_SILENT` keeps it from listening,
//! `ECHO_CHILD` names a file for a child's process id, `ECHO_FUNCTIONS` are the functions that it
//! claims to serve, and `ECHO_OPENAPI` is its OpenAPI document.

#![expect(clippy::unwrap_used, reason = "a handler that fails fails the test")]

use std::process::{Command, exit};
use std::sync::{Arc, Mutex};

use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, Uri};
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

impl Control {
    /// Returns how to answer the next invocation, if not as usual.
    fn next(&mut self) -> Option<String> {
        self.times = self.times.checked_sub(1)?;
        Some(self.reply.clone())
    }
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
    *app.control.lock().unwrap() = control;
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
    Json(app.recorded.lock().unwrap().clone().into())
}

fn by_name(headers: &HeaderMap) -> Value {
    let header = |(name, value): (&HeaderName, &HeaderValue)| {
        (name.to_string(), value.to_str().unwrap().into())
    };
    Value::Object(headers.iter().map(header).collect())
}

/// Answers after it has read the body.
async fn echo(uri: Uri, headers: HeaderMap, _: Bytes) -> impl IntoResponse {
    let process = std::process::id();
    let echo = json!({ "path": uri.path(), "headers": by_name(&headers), "process": process });
    let headers = [("x-echo", "yes"), ("connection", "x-private"), ("x-private", "1")];
    (StatusCode::IM_A_TEAPOT, headers, Json(echo))
}

async fn invoke(
    State(app): State<App>,
    Path(function): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let body: Value = serde_json::from_slice(&body).unwrap();
    let headers = by_name(&headers);
    let id = &headers["x-azure-functions-invocationid"];
    let recorded = json!({ "function": function, "id": id, "body": body, "headers": headers });
    app.recorded.lock().unwrap().push(recorded);
    let reply = app.control.lock().unwrap().next();
    match reply.as_deref() {
        Some("fail") => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
        Some("hang") => std::future::pending().await,
        _ => Json(json!({ "Outputs": {}, "Logs": ["a line of the answer"], "ReturnValue": null }))
            .into_response(),
    }
}
