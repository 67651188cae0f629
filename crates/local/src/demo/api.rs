//! A client of the blog's API.

use anyhow::{Context as _, bail};
use axum::body::Body;
use axum::http::{Method, Request, StatusCode, header, request};
use http_body_util::BodyExt as _;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use serde_json::Value;

pub(super) struct Api {
    url: String,
    key: Option<String>,
    client: Client<HttpConnector, Body>,
}

impl Api {
    pub(super) fn new(url: &str, key: Option<String>) -> Self {
        let client = Client::builder(TokioExecutor::new()).build_http();
        Self { url: url.to_owned(), key, client }
    }

    pub(super) async fn get(&self, path: &str) -> anyhow::Result<Value> {
        self.send(path, self.request(Method::GET, path), &Value::Null, &[]).await
    }

    /// Creates an item with a fixed id; one that is there already stays as it is.
    pub(super) async fn create(&self, path: &str, body: &Value) -> anyhow::Result<Value> {
        let request = self.request(Method::PUT, path).header(header::IF_NONE_MATCH, "*");
        self.send(path, request, body, &[StatusCode::PRECONDITION_FAILED]).await
    }

    pub(super) async fn put(&self, path: &str, body: &Value) -> anyhow::Result<Value> {
        self.send(path, self.request(Method::PUT, path), body, &[]).await
    }

    /// Creates an item once for each key.
    pub(super) async fn post(&self, path: &str, key: &str, body: &Value) -> anyhow::Result<Value> {
        let request = self.request(Method::POST, path).header("idempotency-key", key);
        self.send(path, request, body, &[]).await
    }

    fn request(&self, method: Method, path: &str) -> request::Builder {
        let request = Request::builder().method(method).uri(format!("{}/api/{path}", self.url));
        match &self.key {
            Some(key) => request.header("x-functions-key", key),
            None => request,
        }
    }

    async fn send(
        &self,
        path: &str,
        request: request::Builder,
        body: &Value,
        also_fine: &[StatusCode],
    ) -> anyhow::Result<Value> {
        let request = if body.is_null() {
            request.body(Body::empty())?
        } else {
            let request = request.header(header::CONTENT_TYPE, "application/json");
            request.body(Body::from(body.to_string()))?
        };
        let method = request.method().clone();
        let response = self
            .client
            .request(request)
            .await
            .with_context(|| format!("the demo's {method} /api/{path} got no answer"))?;
        let status = response.status();
        let body = response.into_body().collect().await?.to_bytes();
        if !status.is_success() && !also_fine.contains(&status) {
            bail!(
                "the demo's {method} /api/{path} was answered with {status}: {}",
                String::from_utf8_lossy(&body)
            );
        }
        Ok(serde_json::from_slice(&body).unwrap_or_default())
    }
}
