//! Requests on a handler, one at a time, with the cost of each.

use std::path::Path;

use anyhow::Context as _;
use http::StatusCode;
use serde_json::Value;
use tokio::{
    sync::mpsc::{UnboundedReceiver, unbounded_channel},
    time::{Duration, timeout},
};
use tributary_local::client::Call;
use tributary_local::host::BuiltApp;

use crate::{handler::MeasuredHandler, http::Connection};

/// The longest wait for the log line of a request after its answer.
const LINE_DEADLINE: Duration = Duration::from_secs(20);

/// A handler whose requests are measured.
pub(super) struct Measure {
    handler: MeasuredHandler,
    connection: Connection,
    lines: UnboundedReceiver<Value>,
    /// The resident memory before the first request.
    idle_kib: u64,
    n_sent: usize,
}

/// The cost of a request.
#[derive(Debug)]
pub(super) struct RequestCost {
    pub(super) status: StatusCode,
    pub(super) store_requests: u64,
    pub(super) request_units: f64,
    pub(super) milliseconds: f64,
    pub(super) answer_bytes: usize,
    pub(super) next_cursor: Option<String>,
}

impl Measure {
    /// Starts a handler.
    pub(super) async fn start(app: &BuiltApp, executable: &Path) -> anyhow::Result<Self> {
        let (sender, lines) = unbounded_channel();
        let mut handler = MeasuredHandler::start(app, executable, move |line| {
            if let Ok(line) = serde_json::from_slice::<Value>(line) {
                // The receiver is dropped at the end.
                let _ = sender.send(line);
            }
        })?;
        let connection = handler.ready().await?;
        let idle_kib = handler.process.memory()?.resident;
        Ok(Self { handler, connection, lines, idle_kib, n_sent: 0 })
    }

    /// Sends a request and waits for its answer and its line.
    pub(super) async fn request(&mut self, call: &Call) -> anyhow::Result<RequestCost> {
        self.n_sent += 1;
        let id = format!("worst-{}", self.n_sent);
        let reply = self.connection.send(call, &id).await?;
        let line = self.line(&id).await?;
        Ok(RequestCost {
            status: reply.status,
            store_requests: line["store.requests"].as_u64().unwrap_or_default(),
            request_units: line["request_charge_ru"].as_f64().unwrap_or_default(),
            milliseconds: line["duration_ms"].as_f64().unwrap_or_default(),
            answer_bytes: reply.body.len(),
            next_cursor: reply.json()["nextCursor"].as_str().map(str::to_owned),
        })
    }

    async fn line(&mut self, id: &str) -> anyhow::Result<Value> {
        let line = async {
            loop {
                let line = self.lines.recv().await.context("the handler ended")?;
                if line["invocation.id"] == id && line["message"] == "Answered a request" {
                    return anyhow::Ok(line);
                }
            }
        };
        timeout(LINE_DEADLINE, line).await.context("the handler wrote no line of a request")?
    }

    /// Ends the handler, and returns the growth of its memory since before the first request, at most.
    pub(super) async fn stop(self) -> anyhow::Result<u64> {
        let most_kib = self.handler.process.peak()?.saturating_sub(self.idle_kib);
        self.handler.stop().await?;
        Ok(most_kib)
    }
}
