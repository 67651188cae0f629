//! `/admin`: the status of the host, and manual runs of functions.

use std::sync::Arc;
use std::time::Instant;

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use serde_json::{Value, json};
use time::OffsetDateTime;

use super::console::Console;
use super::function::{Function, FunctionTrigger};
use super::invoke::{self, Invoker, Retrying};
use super::wire::{self, Attempt, TimerStatus};

/// A run of a function by hand.
pub(super) struct ManualRun {
    pub(super) function: Function,
    /// The text of the request.
    input: String,
    job: Job,
}

/// Reads the request of a run, `{"input": "<text>"}`. For a Cosmos DB trigger the text is the JSON array of
/// documents.
///
/// # Errors
///
/// The status and the reason if the input cannot be read.
pub(super) fn read(function: &Function, body: &[u8]) -> Result<ManualRun, (StatusCode, String)> {
    let bad = |reason: &str| (StatusCode::BAD_REQUEST, reason.to_owned());
    let input: Value = if body.trim_ascii().is_empty() {
        Value::Null
    } else {
        serde_json::from_slice(body).map_err(|_| bad("the body is not JSON"))?
    };
    let text = input.get("input").and_then(Value::as_str);
    let job = match &function.trigger {
        FunctionTrigger::Http(_) => return Err(bad("this is an HTTP function: call its URL")),
        FunctionTrigger::Cosmos(_) => {
            let documents = text
                .and_then(|text| serde_json::from_str::<Vec<Value>>(text).ok())
                .ok_or_else(|| bad("input must be the text of a JSON array of documents"))?;
            Job::Documents(
                wire::page(function, &documents).map_err(|error| bad(&error.to_string()))?,
            )
        }
        FunctionTrigger::Timer(timer) => {
            let next = timer.schedule.next(OffsetDateTime::now_utc());
            let last = timer.last_run.get();
            let status = TimerStatus { last, next, is_past_due: false };
            Job::Timer(timer.has_status().then_some(status))
        }
    };
    let input = text.unwrap_or_default().to_owned();
    Ok(ManualRun { function: function.clone(), input, job })
}

impl ManualRun {
    /// Returns the body of an attempt.
    pub(super) fn body(&self, attempt: &Attempt) -> String {
        let attempt = Attempt { input: Some(self.input.clone()), ..attempt.clone() };
        match &self.job {
            Job::Documents(page) => wire::documents(&self.function, page, &attempt),
            Job::Timer(status) => wire::timer(&self.function, status.as_ref(), &attempt),
        }
    }

    /// Starts the run, with one attempt, and does not wait for its end.
    pub(super) fn start(self, invoker: Arc<dyn Invoker>, console: Console) -> StatusCode {
        tokio::spawn(async move {
            let once = Retrying { scale: 1.0, give_up_after: Some(1) };
            let body = |attempt: &Attempt| self.body(attempt);
            invoke::run(invoker.as_ref(), &self.function, body, once, &console, "by hand").await;
        });
        StatusCode::ACCEPTED
    }
}

/// The answer to `GET /admin/host/status`.
pub(super) struct HostStatus {
    instance_id: String,
    started: Instant,
}

impl HostStatus {
    /// Creates the status of a host that starts now.
    pub(super) fn new() -> Self {
        Self { instance_id: uuid::Uuid::new_v4().simple().to_string(), started: Instant::now() }
    }

    /// Answers with the fields of the Functions host.
    pub(super) fn answer(&self) -> Response {
        let computer =
            ["COMPUTERNAME", "HOSTNAME"].iter().find_map(|name| std::env::var(name).ok());
        let uptime_ms = u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX);
        Json(json!({
            "id": "cargo-local",
            "state": "Running",
            "version": wire::HOST_VERSION_VALUE,
            "versionDetails": wire::HOST_VERSION_VALUE,
            "platformVersion": "",
            "instanceId": self.instance_id,
            "computerName": computer.unwrap_or_else(|| "localhost".to_owned()),
            "processUptime": uptime_ms,
        }))
        .into_response()
    }
}

enum Job {
    Documents(String),
    Timer(Option<TimerStatus>),
}
