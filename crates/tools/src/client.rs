//! An HTTP client for a JSON API on this machine.

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, Method, StatusCode, header};
use reqwest::redirect;
use serde_json::Value;

/// The header that makes a `POST` safe to repeat.
pub const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
const FUNCTION_KEY: HeaderName = HeaderName::from_static("x-functions-key");
const REQUEST_CHARGE: HeaderName = HeaderName::from_static("x-ms-request-charge");

/// The handler may take minutes for a request, as it may behind the Functions host.
const DEADLINE: Duration = Duration::from_mins(5);

/// A request.
#[derive(Clone, Debug)]
pub struct Call {
    /// The method.
    pub method: Method,
    /// Path and query, such as `/api/feed?limit=5`.
    pub path: String,
    /// Headers, besides those that the body needs.
    pub headers: Vec<(HeaderName, String)>,
    /// The JSON body.
    pub body: Option<Value>,
}

/// An answer, read to its end.
#[derive(Clone, Debug)]
pub struct Reply {
    /// The status.
    pub status: StatusCode,
    /// The headers.
    pub headers: HeaderMap,
    /// The body as it came.
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
    /// A request without a body.
    pub fn new(method: Method, path: impl Into<String>) -> Self {
        Self { method, path: path.into(), headers: Vec::new(), body: None }
    }

    /// A `GET`.
    pub fn get(path: impl Into<String>) -> Self {
        Self::new(Method::GET, path)
    }

    /// The same request with a header.
    #[must_use]
    pub fn header(mut self, name: HeaderName, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    /// The same request with an `Idempotency-Key`.
    #[must_use]
    pub fn key(self, key: impl Into<String>) -> Self {
        self.header(IDEMPOTENCY_KEY, key)
    }

    /// The same request, which only creates: 412 when the item exists.
    #[must_use]
    pub fn only_creates(self) -> Self {
        self.header(header::IF_NONE_MATCH, "*")
    }

    /// The same request with a JSON body.
    #[must_use]
    pub fn json(self, body: Value) -> Self {
        Self { body: Some(body), ..self }
    }
}

impl Reply {
    /// The body as JSON; null when it is not JSON.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    /// The body as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// A header's value, if it is there and is text.
    pub fn header(&self, name: &HeaderName) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// The place of what was created.
    pub fn location(&self) -> Option<&str> {
        self.header(&header::LOCATION)
    }

    /// Request units, as the handler tells them; 0 when it did not use the store.
    pub fn charge(&self) -> f64 {
        self.header(&REQUEST_CHARGE).and_then(|charge| charge.parse().ok()).unwrap_or_default()
    }
}

impl Client {
    /// A client of the server at `url`, such as `http://127.0.0.1:7071`.
    ///
    /// # Errors
    /// When the TLS library cannot be set up, which the HTTP client does for any URL.
    pub fn new(url: &str) -> anyhow::Result<Self> {
        let inner = reqwest::Client::builder()
            // The environment's proxy is not for this machine.
            .no_proxy()
            // A tool shows what the server answers, in the bytes that it answers.
            .redirect(redirect::Policy::none())
            .no_gzip()
            .no_deflate()
            .tcp_nodelay(true)
            .timeout(DEADLINE)
            .build()?;
        Ok(Self { base: url.trim_end_matches('/').to_owned(), key: None, inner })
    }

    /// The same client, which sends this function key with each request.
    #[must_use]
    pub fn with_key(self, key: Option<String>) -> Self {
        Self { key, ..self }
    }

    /// Sends a request and reads the whole answer, whatever its status is.
    ///
    /// # Errors
    /// When no answer came, or only a part of it.
    pub async fn send(&self, call: &Call) -> anyhow::Result<Reply> {
        let Call { method, path, headers, body } = call;
        let mut request = self.inner.request(method.clone(), format!("{}{path}", self.base));
        for (name, value) in headers {
            request = request.header(name, value);
        }
        if let Some(key) = &self.key {
            request = request.header(FUNCTION_KEY, key);
        }
        if let Some(body) = body {
            let json = (header::CONTENT_TYPE, "application/json");
            request = request.header(json.0, json.1).body(body.to_string());
        }
        let response = request.send().await?;
        let status = response.status();
        let headers = response.headers().clone();
        Ok(Reply { status, headers, body: response.bytes().await? })
    }
}

#[cfg(test)]
mod tests {
    use axum::{Router, http::Request, routing::any};
    use serde_json::json;
    use tokio::net::TcpListener;

    use super::*;

    /// A server that tells what it was sent, and where its answers say that it moved to.
    async fn echo() -> String {
        let tell = async |request: Request<axum::body::Body>| {
            let (head, body) = request.into_parts();
            let body = axum::body::to_bytes(body, usize::MAX).await.unwrap();
            let header =
                |name: &str| head.headers.get(name).map(|value| value.to_str().unwrap().to_owned());
            let text = json!({
                "line": format!("{} {}", head.method, head.uri),
                "key": header("idempotency-key"), "only": header("if-none-match"),
                "code": header("x-functions-key"), "accepts": header("accept-encoding"),
                "type": header("content-type"), "body": String::from_utf8_lossy(&body),
            });
            let headers = [("location", "/elsewhere"), ("x-ms-request-charge", "2.5")];
            (StatusCode::SEE_OTHER, headers, text.to_string())
        };
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        let router = Router::new().fallback(any(tell));
        tokio::spawn(async { axum::serve(listener, router).await });
        url
    }

    #[tokio::test]
    async fn a_call_is_sent_as_it_is_and_its_answer_comes_as_it_is() {
        let client = Client::new(&echo().await).unwrap().with_key(Some("secret".into()));
        let call = Call::new(Method::PUT, "/api/things/1?a=b").json(json!({"n": 1}));
        let reply = client.send(&call.key("k").only_creates()).await.unwrap();
        assert_eq!(reply.status, StatusCode::SEE_OTHER);
        assert_eq!((reply.location(), reply.charge()), (Some("/elsewhere"), 2.5));
        let told = json!({
            "line": "PUT /api/things/1?a=b", "key": "k", "only": "*", "code": "secret",
            "accepts": null, "type": "application/json", "body": "{\"n\":1}",
        });
        assert_eq!(reply.json(), told);
        let reply = client.send(&Call::get("/")).await.unwrap();
        assert_eq!((reply.json()["type"].is_null(), &reply.json()["body"]), (true, &json!("")));
    }

    #[tokio::test]
    async fn nobody_at_the_address_is_an_error() {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        drop(listener);
        Client::new(&url).unwrap().send(&Call::get("/")).await.unwrap_err();
    }
}
