//! An HTTP client for a JSON API on this machine.

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, Method, StatusCode, header};
use reqwest::redirect;
use serde_json::Value;

const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
const FUNCTION_KEY: HeaderName = HeaderName::from_static("x-functions-key");
const REQUEST_CHARGE: HeaderName = HeaderName::from_static("x-ms-request-charge");

/// The time for an answer: the handler may take minutes, as it may behind the Functions host.
const REQUEST_TIMEOUT: Duration = Duration::from_mins(5);

/// A request.
#[derive(Clone, Debug)]
pub struct Call {
    /// The method.
    pub method: Method,
    /// Path and query, such as `/api/feed?limit=5`.
    pub path: String,
    /// The headers.
    pub headers: Vec<(HeaderName, String)>,
    /// The body.
    pub body: Option<Bytes>,
}

/// An answer with its whole body.
#[derive(Clone, Debug)]
pub struct Reply {
    /// The status.
    pub status: StatusCode,
    /// The headers.
    pub headers: HeaderMap,
    /// The body.
    pub body: Bytes,
}

/// A client of one server. It keeps its connections open; a clone shares them.
#[derive(Clone, Debug)]
pub struct Client {
    base: String,
    key: Option<String>,
    inner: reqwest::Client,
}

impl Call {
    /// Creates a request without a body.
    pub fn new(method: Method, path: impl Into<String>) -> Self {
        Self { method, path: path.into(), headers: Vec::new(), body: None }
    }

    /// Creates a `GET`.
    pub fn get(path: impl Into<String>) -> Self {
        Self::new(Method::GET, path)
    }

    /// Creates a `PUT` of a JSON body.
    pub fn put(path: impl Into<String>, body: impl Into<Value>) -> Self {
        Self::new(Method::PUT, path).json(body)
    }

    /// Creates a `POST` of a JSON body.
    pub fn post(path: impl Into<String>, body: impl Into<Value>) -> Self {
        Self::new(Method::POST, path).json(body)
    }

    /// Creates a `DELETE`.
    pub fn delete(path: impl Into<String>) -> Self {
        Self::new(Method::DELETE, path)
    }

    /// Adds a header.
    #[must_use]
    pub fn header(mut self, name: HeaderName, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    /// Adds an `Idempotency-Key`.
    #[must_use]
    pub fn key(self, key: impl Into<String>) -> Self {
        self.header(IDEMPOTENCY_KEY, key)
    }

    /// Sets a JSON body.
    #[must_use]
    pub fn json(self, body: impl Into<Value>) -> Self {
        let body = Some(Bytes::from(body.into().to_string()));
        Self { body, ..self }.header(header::CONTENT_TYPE, "application/json")
    }
}

impl Reply {
    /// Returns the body as JSON; null when it is not JSON.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    /// Returns the body as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// Returns the value of a header, if it is present and text.
    pub fn header(&self, name: &HeaderName) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// Returns the location of the created item.
    pub fn location(&self) -> Option<&str> {
        self.header(&header::LOCATION)
    }

    /// Returns the request units in the answer; 0 when the handler did not use the store.
    pub fn charge(&self) -> f64 {
        self.header(&REQUEST_CHARGE).and_then(|charge| charge.parse().ok()).unwrap_or_default()
    }
}

impl Client {
    /// Creates a client of the server at `url`, such as `http://127.0.0.1:7071`.
    ///
    /// # Errors
    /// When the TLS library cannot be set up, which the HTTP client does for any URL.
    pub fn new(url: &str) -> anyhow::Result<Self> {
        let inner = reqwest::Client::builder()
            // A proxy of the environment cannot reach this machine.
            .no_proxy()
            // A tool shows the answer itself, byte for byte.
            .redirect(redirect::Policy::none())
            .no_gzip()
            .no_deflate()
            .tcp_nodelay(true)
            .timeout(REQUEST_TIMEOUT)
            .build()?;
        Ok(Self { base: url.trim_end_matches('/').to_owned(), key: None, inner })
    }

    /// Sets the function key that the client sends with each request.
    #[must_use]
    pub fn with_key(self, key: Option<String>) -> Self {
        Self { key, ..self }
    }

    /// Sends a request and reads the whole answer, with any status.
    ///
    /// # Errors
    /// When there is no answer, or only a part of it.
    pub async fn send(&self, call: &Call) -> anyhow::Result<Reply> {
        let response = self.begin(call).await?;
        let status = response.status();
        let headers = response.headers().clone();
        Ok(Reply { status, headers, body: response.bytes().await? })
    }

    /// Sends a request and returns the answer as soon as its body begins.
    pub(crate) async fn begin(&self, call: &Call) -> reqwest::Result<reqwest::Response> {
        let Call { method, path, headers, body } = call;
        let mut request = self.inner.request(method.clone(), format!("{}{path}", self.base));
        for (name, value) in headers {
            request = request.header(name, value);
        }
        if let Some(key) = &self.key {
            request = request.header(FUNCTION_KEY, key);
        }
        if let Some(body) = body {
            request = request.body(body.clone());
        }
        request.send().await
    }
}
