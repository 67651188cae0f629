//! What a running host tells other programs of its machine: `GET /admin/local/events` gives each event as a
//! line of JSON, as it happens.

use axum::body::Body;
use axum::http::header;
use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;
use futures::StreamExt as _;
use futures::stream;
use serde::{Deserialize, Serialize};
use tokio::sync::broadcast::{self, error::RecvError};
use tokio_util::sync::CancellationToken;

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
