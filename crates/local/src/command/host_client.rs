//! A client of a running host, for the commands of other terminals.

use anyhow::{Context as _, bail};
use axum::body::Body;
use bytes::{Bytes, BytesMut};
use http::{HeaderMap, Method, Request, StatusCode, header};
use http_body_util::BodyExt as _;
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::TokioExecutor,
};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::cli::RunningHost;
use crate::host::{HostEvent, HostedFunction, ManualResult};

/// A client of one host.
pub(super) struct HostClient {
    url: String,
    key: Option<String>,
    client: Client<HttpConnector, Body>,
}

/// An answer with its whole body.
pub(super) struct HostAnswer {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
}

/// The events of a host, as they happen.
pub(super) struct EventReader {
    body: Body,
    /// The begin of the next line.
    rest: BytesMut,
}

impl HostClient {
    /// Creates a client. It connects when it is used.
    pub(super) fn new(host: RunningHost) -> Self {
        let url = format!("http://127.0.0.1:{}", host.port);
        let client = Client::builder(TokioExecutor::new()).build_http();
        Self { url, key: host.key, client }
    }

    /// Sends a request and reads the whole answer, with any status.
    pub(super) async fn send(
        &self,
        method: Method,
        path: &str,
        headers: &[(header::HeaderName, String)],
        body: Bytes,
    ) -> anyhow::Result<HostAnswer> {
        let (head, body) = self.exchange(method, path, headers, body).await?.into_parts();
        let body = body.collect().await.context("the app has ended in the middle of its answer")?;
        let http::response::Parts { status, headers, .. } = head;
        Ok(HostAnswer { status, headers, body: body.to_bytes() })
    }

    /// Returns the functions of the app.
    pub(super) async fn functions(&self) -> anyhow::Result<Vec<HostedFunction>> {
        self.read("/admin/local/functions").await
    }

    /// Returns the function of a name, in either case.
    pub(super) async fn function(&self, name: &str) -> anyhow::Result<HostedFunction> {
        let functions = self.functions().await?;
        let names: Vec<_> = functions.iter().map(|function| function.name.clone()).collect();
        let found = functions.into_iter().find(|one| one.name.eq_ignore_ascii_case(name));
        found.with_context(|| {
            format!("there is no function {name}. The app has {}", names.join(", "))
        })
    }

    /// Returns the OpenAPI document of the app, if it has one.
    pub(super) async fn openapi(&self) -> anyhow::Result<Option<Value>> {
        self.read("/admin/local/openapi").await
    }

    /// Runs a function that no request starts, and waits for its end. A Cosmos DB trigger needs documents.
    pub(super) async fn run(
        &self,
        function: &str,
        documents: Option<&[Value]>,
    ) -> anyhow::Result<ManualResult> {
        let input = documents.map(serde_json::to_string).transpose()?;
        let body = serde_json::to_vec(&serde_json::json!({ "input": input }))?;
        let path = format!("/admin/local/functions/{function}");
        let answer = self.send(Method::POST, &path, &[], body.into()).await?;
        if answer.status == StatusCode::BAD_REQUEST {
            bail!("{function}: {}", String::from_utf8_lossy(&answer.body));
        }
        self.parsed(&answer)
    }

    /// Begins to read the events of the host.
    pub(super) async fn events(&self) -> anyhow::Result<EventReader> {
        let response = self.exchange(Method::GET, "/admin/local/events", &[], Bytes::new()).await?;
        self.check(response.status())?;
        Ok(EventReader { body: response.into_body(), rest: BytesMut::new() })
    }

    async fn read<T: DeserializeOwned>(&self, path: &str) -> anyhow::Result<T> {
        self.parsed(&self.send(Method::GET, path, &[], Bytes::new()).await?)
    }

    fn parsed<T: DeserializeOwned>(&self, answer: &HostAnswer) -> anyhow::Result<T> {
        self.check(answer.status)?;
        serde_json::from_slice(&answer.body).with_context(|| self.is_another())
    }

    fn check(&self, status: StatusCode) -> anyhow::Result<()> {
        match status {
            StatusCode::OK => Ok(()),
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
                bail!("the app asks for keys: give --key with the master key that it has printed")
            }
            _ => bail!(self.is_another()),
        }
    }

    fn is_another(&self) -> String {
        format!(
            "{} is no app under this version of `cargo local`: give the --port of one",
            self.url
        )
    }

    async fn exchange(
        &self,
        method: Method,
        path: &str,
        headers: &[(header::HeaderName, String)],
        body: Bytes,
    ) -> anyhow::Result<http::Response<Body>> {
        let mut request = Request::builder().method(method).uri(format!("{}{path}", self.url));
        if let Some(key) = &self.key {
            request = request.header("x-functions-key", key);
        }
        for (name, value) in headers {
            request = request.header(name, value);
        }
        let body = if body.is_empty() { Body::empty() } else { Body::from(body) };
        let request = request.body(body).with_context(|| format!("{path} is no path"))?;
        let response = match self.client.request(request).await {
            Err(error) if error.is_connect() => bail!(
                "no app answers at {}: start one with `cargo local`, or give its --port",
                self.url
            ),
            response => response.with_context(|| format!("{} has not answered", self.url))?,
        };
        Ok(response.map(Body::new))
    }
}

impl EventReader {
    /// Waits for the next event; `None` after the end of the host.
    pub(super) async fn next(&mut self) -> Option<HostEvent> {
        loop {
            if let Some(end) = self.rest.iter().position(|byte| *byte == b'\n') {
                let line = self.rest.split_to(end + 1);
                // An event of a later version is not known here.
                if let Ok(event) = serde_json::from_slice(&line) {
                    return Some(event);
                }
                continue;
            }
            let frame = self.body.frame().await?.ok()?;
            if let Ok(data) = frame.into_data() {
                self.rest.extend_from_slice(&data);
            }
        }
    }
}
