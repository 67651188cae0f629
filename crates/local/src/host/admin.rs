//! `/admin`: the status of the host, and manual runs of functions.
//!
//! `/admin/local` is what `cargo local invoke` and `cargo local tail` ask a running host. The Functions host
//! has nothing like it.

use std::sync::Arc;
use std::time::Instant;

use axum::Json;
use axum::body::Body;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;
use futures::{StreamExt as _, stream};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use time::OffsetDateTime;
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;
use tokio_util::sync::CancellationToken;

use super::app::FunctionApp;
use super::console::{Console, Ended};
use super::function::{Function, FunctionTrigger};
use super::invoke::{self, Invoker, Retrying};
use super::wire::{self, Attempt, TimerStatus};

/// A function of a running host.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HostedFunction {
    /// Its name.
    pub name: String,
    /// Its trigger.
    pub trigger: HostedTrigger,
}

/// The trigger of a function.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum HostedTrigger {
    /// A request.
    #[serde(rename_all = "camelCase")]
    Http {
        /// Its methods; empty for all.
        methods: Vec<String>,
        /// The whole route, such as `/api/posts/{postId}`.
        route: String,
    },
    /// Changes of a container.
    #[serde(rename_all = "camelCase")]
    CosmosDb {
        /// The container.
        container: String,
        /// The last batch of the change feed; `None` before the first one, and after one that is large.
        last_batch: Option<Vec<Value>>,
    },
    /// A schedule.
    Timer {
        /// The schedule.
        schedule: String,
    },
}

/// The result of a run by hand.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ManualResult {
    /// The invocation id.
    pub id: String,
    /// The duration in milliseconds.
    pub duration_ms: u64,
    /// The handler's description of its work.
    pub done: Option<String>,
    /// The charge in request units.
    pub charge: Option<String>,
    /// The log lines that came with the answer.
    pub logs: Vec<String>,
    /// The reason of a failure; `None` if the invocation succeeded.
    pub failure: Option<String>,
}

impl HostedFunction {
    /// Describes the functions of an app.
    pub(super) fn all(app: &FunctionApp) -> Vec<Self> {
        app.functions().iter().map(|function| Self::new(function, app)).collect()
    }

    fn new(function: &Function, app: &FunctionApp) -> Self {
        let trigger = match &function.trigger {
            FunctionTrigger::Http(http) => HostedTrigger::Http {
                methods: http.methods.iter().map(ToString::to_string).collect(),
                route: format!("/{}", app.host().full_route(&http.route)),
            },
            FunctionTrigger::Cosmos(trigger) => HostedTrigger::CosmosDb {
                container: trigger.container.clone(),
                last_batch: trigger.last_batch.get().map(|batch| batch.to_vec()),
            },
            FunctionTrigger::Timer(timer) => {
                HostedTrigger::Timer { schedule: timer.schedule.as_str().to_owned() }
            }
        };
        Self { name: function.name.clone(), trigger }
    }
}

/// Runs a function once, and waits for its end.
pub(super) async fn run(run: ManualRun, invoker: &dyn Invoker, console: &Console) -> ManualResult {
    let id = uuid::Uuid::new_v4().to_string();
    let attempt = Attempt { invocation_id: id.clone(), ..Attempt::default() };
    let started = Instant::now();
    let function = &run.function.name;
    let result = invoker.invoke(function, &id, run.body(&attempt).into()).await;
    let duration = started.elapsed();
    let ended = Ended::new(function, &id, duration);
    let duration_ms = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
    match result {
        Ok(answer) => {
            let ended = ended.charged(answer.charge.as_deref());
            console.succeeded(ended, "by hand", answer.done.as_deref());
            let (done, charge, logs) = (answer.done, answer.charge, answer.logs);
            ManualResult { id, duration_ms, done, charge, logs, failure: None }
        }
        Err(failure) => {
            console.failed(ended, &format!("by hand: {failure}"));
            let failure = Some(failure.to_string());
            ManualResult { id, duration_ms, done: None, charge: None, logs: Vec::new(), failure }
        }
    }
}

/// The events that a slow reader may lag behind. It misses earlier ones.
const MAX_WAITING_EVENTS: usize = 1024;

/// An event of the host.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "camelCase")]
pub enum HostEvent {
    /// An invocation or a request has ended.
    Ended(EndedInvocation),
    /// The handler has written a line.
    Line {
        /// The line.
        text: String,
    },
    /// The reader was too slow for some events.
    Skipped {
        /// Their number.
        count: u64,
    },
}

/// An invocation or a request that has ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EndedInvocation {
    /// The time of its end, in UTC.
    pub at: String,
    /// The function.
    pub function: String,
    /// The invocation id.
    pub id: String,
    /// False for a failed invocation, and for an answer with a status of 500 or more.
    pub succeeded: bool,
    /// Its subject and its result: `GET /api/feed → 200`, `2 documents, 1 applied`.
    pub what: String,
    /// Its duration in milliseconds.
    pub duration_ms: u64,
    /// Its charge in request units, if the handler has told it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub charge: Option<String>,
    /// The `traceparent` of a request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace_parent: Option<String>,
}

/// The events of a host. All clones share them.
#[derive(Debug, Clone)]
pub(super) struct HostEvents(broadcast::Sender<HostEvent>);

impl Default for HostEvents {
    fn default() -> Self {
        Self(broadcast::Sender::new(MAX_WAITING_EVENTS))
    }
}

impl HostEvents {
    /// Sends an event to all readers. Without a reader it is not even made.
    pub(super) fn send(&self, event: impl FnOnce() -> HostEvent) {
        if self.0.receiver_count() > 0 {
            // The last reader may have gone meanwhile.
            let _ = self.0.send(event());
        }
    }

    /// Answers with all events from now on, until the reader goes or the host stops.
    pub(super) fn answer(&self, stop: CancellationToken) -> Response {
        let lines = stream::unfold(self.0.subscribe(), |mut events| async move {
            let event = match events.recv().await {
                Ok(event) => event,
                Err(RecvError::Lagged(count)) => HostEvent::Skipped { count },
                Err(RecvError::Closed) => return None,
            };
            let line = serde_json::to_string(&event).map(|line| Bytes::from(line + "\n"));
            Some((line, events))
        });
        // A reader that waits must not keep the host from its end.
        let lines = lines.take_until(stop.cancelled_owned());
        ([(header::CONTENT_TYPE, "application/x-ndjson")], Body::from_stream(lines)).into_response()
    }
}

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
