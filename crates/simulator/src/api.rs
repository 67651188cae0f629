//! The way to the blog: over a socket, or to a router in the process.

use futures::future::BoxFuture;
use http::Method;
use serde_json::Value;

/// A request.
#[derive(Clone, Debug)]
pub struct Call {
    /// The method.
    pub method: Method,
    /// Path and query.
    pub path: String,
    /// `Idempotency-Key`.
    pub key: Option<String>,
    /// The JSON body.
    pub body: Option<Value>,
}

/// An answer.
#[derive(Clone, Debug)]
pub struct Reply {
    /// The status.
    pub status: u16,
    /// The body as JSON; null when it is none.
    pub body: Value,
}

/// Something that answers requests.
pub trait Api: Send + Sync {
    /// Sends a request; `None` when no answer came.
    fn send(&self, call: Call) -> BoxFuture<'_, Option<Reply>>;
}

impl Call {
    /// A request without a body.
    pub fn new(method: Method, path: impl Into<String>) -> Self {
        Self { method, path: path.into(), key: None, body: None }
    }

    /// The same with a body.
    #[must_use]
    pub fn body(self, body: Value) -> Self {
        Self { body: Some(body), ..self }
    }
}

impl Reply {
    /// Whether the command may or may not have been carried out, so that it is sent again.
    pub fn is_unknown(&self) -> bool {
        matches!(self.status, 429 | 502 | 503)
    }
}
