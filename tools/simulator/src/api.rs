//! The API of the app, over a socket or as a router in the process.

use futures::future::BoxFuture;
use http::{HeaderMap, StatusCode, header::RETRY_AFTER};
use serde_json::Value;
use tributary_local::client::Call;

/// An answer in the form that a model judges.
#[derive(Clone, Debug)]
pub struct Reply {
    /// The status.
    pub status: u16,
    /// The JSON body; null if it is no JSON.
    pub body: Value,
    /// `Retry-After` in its raw form.
    pub retry_after: Option<String>,
}

/// A service that answers requests.
pub trait Api: Send + Sync {
    /// Sends a request; returns `None` without an answer.
    fn send(&self, call: Call) -> BoxFuture<'_, Option<Reply>>;
}

impl Reply {
    /// Creates an answer.
    pub fn new(status: StatusCode, headers: &HeaderMap, body: &[u8]) -> Self {
        let retry_after = headers.get(RETRY_AFTER);
        Self {
            status: status.as_u16(),
            body: serde_json::from_slice(body).unwrap_or_default(),
            retry_after: retry_after
                .map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned()),
        }
    }

    /// Returns the fault of `Retry-After`, which every 429 and 503 of the API has in seconds. RFC 9110
    /// also allows a date, which the API never sends.
    pub fn wrong_retry_after(&self) -> Option<String> {
        if !matches!(self.status, 429 | 503) {
            return None;
        }
        let status = self.status;
        match self.retry_after.as_deref() {
            None => Some(format!("{status} without Retry-After")),
            Some(text)
                if text.bytes().all(|c| c.is_ascii_digit()) && text.parse::<u32>().is_ok() =>
            {
                None
            }
            Some(text) => {
                Some(format!("{status} with Retry-After {text:?}, which is no number of seconds"))
            }
        }
    }

    /// Returns true if the outcome of the command is unknown, so that it is retried.
    pub fn is_unknown(&self) -> bool {
        matches!(self.status, 429 | 503) || self.is_of_host()
    }

    /// Returns true if the host answered for the handler, whose 500 always has a problem document.
    pub fn is_of_host(&self) -> bool {
        self.status == 500 && self.body.is_null()
    }
}
