//! A function app with one function of each kind. Start it without a Functions host:
//!
//! ```text
//! FUNCTIONS_CUSTOMHANDLER_PORT=8090 cargo run -p azure-functions-custom-handler --example hello
//! curl localhost:8090/api/hello/Ada
//! curl localhost:8090/Changes -H 'X-Azure-Functions-InvocationId: 1' \
//!   -d '{"Data": {"documents": [{"id": "a"}, {"id": 2}]}}'
//! curl localhost:8090/EveryMinute -H 'X-Azure-Functions-InvocationId: 2' \
//!   -d '{"Data": {"timer": {"IsPastDue": false, "ScheduleStatus": null}}}'
//! ```

use std::process::ExitCode;

use axum::Router;
use axum::extract::Path;
use axum::routing::get;
use custom_handler::{CustomHandler, Documents, RetryContext, TimerInfo, logs};
use serde::Deserialize;

#[tokio::main]
async fn main() -> ExitCode {
    if let Err(error) = logs::init() {
        println!("{error}");
        return ExitCode::FAILURE;
    }
    let app = CustomHandler::new()
        .http(Router::new().route("/api/hello/{name}", get(hello)))
        .http_functions([("Hello", "/api/hello/{name}")])
        .trigger("Changes", changes)
        .trigger("EveryMinute", every_minute);
    match app.serve().await {
        Ok(shutdown) => shutdown.exit_code().into(),
        Err(error) => {
            tracing::error!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// Answers an HTTP request: plain axum.
async fn hello(Path(name): Path<String>) -> String {
    tracing::info!("a greeting was requested");
    format!("Hello, {name}!\n")
}

#[derive(Deserialize)]
struct Item {
    id: String,
}

/// Handles a batch of a Cosmos DB trigger. A document that is never an item is set aside, so that it does not block its
/// partition for ever. Any other error fails the batch, and the host retries it.
async fn changes(documents: Documents, retry: Option<RetryContext>) -> Result<(), String> {
    if let Some(retry) = retry {
        tracing::info!(retry.count = retry.retry_count, "the batch is retried");
    }
    for document in documents.0 {
        if let Ok(item) = document.parse::<Item>() {
            tracing::info!(item.id, "an item has changed");
        } else {
            tracing::warn!(n_bytes = document.raw().len(), "not an item; set aside");
        }
    }
    Ok(())
}

/// Handles a timer.
async fn every_minute(timer: TimerInfo) {
    let next = timer.schedule_status.map(|status| status.next);
    tracing::info!(timer.is_past_due, timer.next = next, "a minute has passed");
}
