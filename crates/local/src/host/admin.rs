//! `/admin`: the status of the host, and manual runs of functions.
//!
//! `/admin/local` is what `cargo local invoke` and `cargo local tail` ask a running host. The Functions host
//! has nothing like it.

use std::time::Instant;

use axum::body::Body;
use axum::http::header;
use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;
use futures::{StreamExt as _, stream};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use time::OffsetDateTime;
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;
use tokio_util::sync::CancellationToken;

use super::console::Console;
use super::function::{Function, FunctionTrigger, HttpTrigger};
use super::invoke::{self, Invoker};
use super::wire::{self, Attempt, InvocationAnswer, TimerStatus};
use crate::lock;

/// A function of the app; a timer has neither of its sources.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct HostedFunction {
    pub(crate) name: String,
    /// The methods, none for all, and the whole route, such as `/api/posts/{postId}`.
    pub(crate) http: Option<(Vec<String>, String)>,
    /// The container of a change feed.
    pub(crate) container: Option<String>,
    /// Its last batch; `None` before the first one, and after one that is large.
    pub(crate) last_batch: Option<Vec<Value>>,
}

/// A run by hand; without a failure it succeeded.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ManualResult {
    pub(crate) duration_ms: u64,
    #[serde(flatten)]
    pub(crate) answer: InvocationAnswer,
    pub(crate) failure: Option<String>,
}

impl HostedFunction {
    pub(super) fn new(function: &Function) -> Self {
        let methods = |http: &HttpTrigger| http.methods.iter().map(ToString::to_string).collect();
        let feed = function.cosmos();
        Self {
            name: function.name.clone(),
            http: function.http().map(|http| (methods(http), format!("/{}", http.route))),
            container: feed.map(|trigger| trigger.container.clone()),
            last_batch: feed
                .and_then(|trigger| Some(lock(&trigger.last_batch).as_deref()?.to_vec())),
        }
    }
}

/// Runs a function once, with the body of its only attempt, and waits for its end.
pub(super) async fn run(
    function: &Function,
    body: String,
    invoker: &dyn Invoker,
    console: &Console,
) -> ManualResult {
    let id = uuid::Uuid::new_v4().to_string();
    let started = Instant::now();
    let result = invoke::attempt(invoker, function, &id, body, console, "by hand").await;
    let duration_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
    let failure = result.as_ref().err().map(ToString::to_string);
    ManualResult { duration_ms, answer: result.unwrap_or_default(), failure }
}

/// The events that a slow reader may lag behind. It misses earlier ones.
const MAX_WAITING_EVENTS: usize = 1024;

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "camelCase")]
pub(crate) enum HostEvent {
    Ended(EndedInvocation),
    /// The reader was too slow for some events.
    Skipped {
        count: u64,
    },
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct EndedInvocation {
    /// The time of its end, in UTC.
    pub(crate) at: String,
    pub(crate) function: String,
    pub(crate) id: String,
    /// False for a failed invocation, and for an answer with a status of 500 or more.
    pub(crate) succeeded: bool,
    /// Its subject and its result: `GET /api/feed → 200`, `2 documents, 1 applied`.
    pub(crate) what: String,
    pub(crate) duration_ms: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) charge: Option<String>,
}

#[derive(Debug, Clone)]
pub(super) struct HostEvents(broadcast::Sender<HostEvent>);

impl Default for HostEvents {
    fn default() -> Self {
        Self(broadcast::Sender::new(MAX_WAITING_EVENTS))
    }
}

impl HostEvents {
    /// Sends an event to all readers.
    pub(super) fn send(&self, event: HostEvent) {
        // Without a reader it fails.
        let _ = self.0.send(event);
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

/// Reads the request of a run by hand, `{"input": "<text>"}`, and returns the body of the invocation. For a
/// Cosmos DB trigger the text is the JSON array of documents.
pub(super) fn manual_body(function: &Function, request: &[u8]) -> Result<String, String> {
    let request: Value = if request.trim_ascii().is_empty() {
        Value::Null
    } else {
        serde_json::from_slice(request).map_err(|_| "the body is not JSON")?
    };
    let input = request["input"].as_str();
    let attempt =
        Attempt { input: Some(input.unwrap_or_default().to_owned()), ..Attempt::default() };
    match &function.trigger {
        FunctionTrigger::Http(_) => Err("this is an HTTP function: call its URL".to_owned()),
        FunctionTrigger::Cosmos(_) => {
            let documents = input.and_then(|text| serde_json::from_str::<Vec<Value>>(text).ok());
            let documents =
                documents.ok_or("input must be the text of a JSON array of documents")?;
            let page = wire::page(function, &documents).map_err(|error| error.to_string())?;
            Ok(wire::documents(function, &page, &attempt))
        }
        FunctionTrigger::Timer(timer) => {
            let next = timer.schedule.next(OffsetDateTime::now_utc());
            let status = TimerStatus { last: *lock(&timer.last_run), next, is_past_due: false };
            Ok(wire::timer(function, timer.has_status().then_some(&status), &attempt))
        }
    }
}

pub(super) fn status(instance_id: &str, started: Instant) -> Value {
    let computer = ["COMPUTERNAME", "HOSTNAME"].iter().find_map(|name| std::env::var(name).ok());
    json!({
        "id": "cargo-local",
        "state": "Running",
        "version": wire::HOST_VERSION_VALUE,
        "versionDetails": wire::HOST_VERSION_VALUE,
        "platformVersion": "",
        "instanceId": instance_id,
        "computerName": computer.unwrap_or_else(|| "localhost".to_owned()),
        "processUptime": u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX),
    })
}
