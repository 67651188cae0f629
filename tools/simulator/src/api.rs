//! The API of the app behind a URL, and its comparison with a model.

use std::{
    fmt::Debug,
    time::{Duration, Instant},
};

use anyhow::bail;
use http::header::RETRY_AFTER;
use serde_json::Value;
use tributary_local::client::{Call, Client};

use crate::poison;

/// The longest time until a request has an answer that is none of chaos.
const MAX_ANSWER_TIME: Duration = Duration::from_mins(10);

/// The pause before a retry; `Retry-After` says a second.
pub(crate) const RETRY_PAUSE: Duration = Duration::from_millis(100);

/// A client of the API. It removes the poisoned items from lists.
pub(crate) struct Api {
    client: Client,
    /// True if nothing disturbs the app, so that every answer is final.
    is_quiet: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) body: Value,
    /// The oldest moment whose state it may show, if it answers a query.
    pub(crate) oldest: Instant,
    /// `Retry-After` in seconds. RFC 9110 also allows a date, which the API never sends.
    pub(crate) retry_after: Option<u32>,
    /// True if earlier attempts had no known outcome.
    pub(crate) repeated: bool,
}

impl Api {
    pub(crate) fn new(url: &str, is_quiet: bool) -> anyhow::Result<Self> {
        Ok(Self { client: Client::new(url)?, is_quiet })
    }

    pub(crate) async fn send(&self, call: &Call) -> Option<Reply> {
        let answer = self.client.send(call).await.ok()?;
        let mut body = answer.json();
        poison::remove_from(&mut body);
        let retry_after = answer.header(&RETRY_AFTER).and_then(|seconds| seconds.parse().ok());
        Some(Reply { retry_after, ..Reply::new(answer.status.as_u16(), body) })
    }

    pub(crate) async fn accepted(&self, call: &Call) -> anyhow::Result<Value> {
        let started = Instant::now();
        loop {
            let reply = self.send(call).await;
            match reply {
                Some(Reply { status: 200..=299, body, .. }) => return Ok(body),
                reply
                    if self.is_quiet
                        || started.elapsed() > MAX_ANSWER_TIME
                        || reply.as_ref().is_some_and(|reply| !reply.is_unknown()) =>
                {
                    bail!("{} {} was answered {reply:?}", call.method, call.path)
                }
                _ => tokio::time::sleep(RETRY_PAUSE).await,
            }
        }
    }

    pub(crate) async fn list(&self, path: &str) -> anyhow::Result<Vec<Value>> {
        let query = if path.contains('?') { "" } else { "?limit=100" };
        let mut items = Vec::new();
        let mut cursor = String::new();
        loop {
            let page = self.accepted(&Call::get(format!("{path}{query}{cursor}"))).await?;
            items.extend_from_slice(listed(&page));
            match page["nextCursor"].as_str() {
                Some(next) => cursor = format!("&cursor={next}"),
                None => return Ok(items),
            }
        }
    }
}

impl Reply {
    pub(crate) fn new(status: u16, body: Value) -> Self {
        let oldest = Instant::now();
        Self { status, body, oldest, retry_after: None, repeated: false }
    }

    /// Returns true if the outcome of the command is unknown, so that it is retried.
    pub(crate) fn is_unknown(&self) -> bool {
        self.is_refused() || self.is_of_host()
    }

    pub(crate) fn is_refused(&self) -> bool {
        matches!(self.status, 429 | 503)
    }

    /// Returns true if the host answered for the handler, whose 500 always has a problem document.
    pub(crate) fn is_of_host(&self) -> bool {
        self.status == 500 && self.body.is_null()
    }
}

pub(crate) struct Comparison<'a> {
    pub(crate) api: &'a Api,
    pub(crate) divergences: Vec<String>,
}

impl Comparison<'_> {
    pub(crate) fn differs(&mut self, what: String) {
        self.divergences.push(what);
    }

    #[expect(clippy::needless_pass_by_value, reason = "most values are made for the comparison")]
    pub(crate) fn same<T: PartialEq + Debug>(&mut self, what: &str, shown: T, expected: T) {
        if shown != expected {
            self.differs(format!("{what}: {shown:?} instead of {expected:?}"));
        }
    }

    pub(crate) fn is(&mut self, what: &str, holds: bool) {
        if !holds {
            self.differs(format!("it is not true that {what}"));
        }
    }

    pub(crate) async fn list(&mut self, path: &str) -> Vec<Value> {
        let list = self.api.list(path).await;
        list.unwrap_or_else(|error| {
            self.differs(format!("{error:#}"));
            Vec::new()
        })
    }

    pub(crate) async fn get(&mut self, path: &str) -> Option<Value> {
        match self.api.send(&Call::get(path)).await {
            Some(Reply { status: 200, body, .. }) => Some(body),
            Some(Reply { status: 404, .. }) => None,
            other => {
                self.differs(format!("GET {path} was answered {other:?}"));
                None
            }
        }
    }
}

pub(crate) fn listed(page: &Value) -> &[Value] {
    page["items"].as_array().map_or(&[], Vec::as_slice)
}

pub(crate) fn text<'a>(item: &'a Value, field: &str) -> &'a str {
    item[field].as_str().unwrap_or_default()
}
