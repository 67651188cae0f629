//! Running one invocation, by HTTP or in the process, with the function's retry policy.

use std::time::{Duration, Instant};

use axum::body::Body;
use axum::http::{Request, header};
use bytes::Bytes;
use futures::FutureExt as _;
use futures::future::BoxFuture;
use http_body_util::BodyExt as _;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use tower::ServiceExt as _;

use super::console::{Console, Ended};
use super::failure::Failure;
use super::function::Function;
use super::wire::{self, Answer, Attempt};

/// What came of one attempt.
pub type InvocationResult = Result<Answer, Failure>;

/// Something that runs an invocation: the handler's process over HTTP, or a router in process.
pub trait Invoker: Send + Sync {
    /// Runs one attempt of an invocation.
    fn invoke<'a>(
        &'a self,
        function: &'a str,
        invocation_id: &'a str,
        body: Bytes,
    ) -> BoxFuture<'a, InvocationResult>;

    /// Kills the handler and all that it has under way. In process there is nothing to kill:
    /// dropping an invocation ends it where it waits.
    fn crash(&self) {}
}

/// The client that requests to the handler go through.
pub(super) type HandlerClient = Client<HttpConnector, Body>;

pub(super) fn handler_client() -> HandlerClient {
    let mut connector = HttpConnector::new();
    connector.set_nodelay(true);
    Client::builder(TokioExecutor::new()).build(connector)
}

/// Invokes a handler that listens at a URL.
#[derive(Debug, Clone)]
pub struct HttpInvoker {
    url: String,
    client: HandlerClient,
}

impl HttpInvoker {
    /// A handler at `url`, such as `http://127.0.0.1:41235`.
    pub fn new(url: impl Into<String>) -> Self {
        Self::with_client(url, handler_client())
    }

    pub(super) fn with_client(url: impl Into<String>, client: HandlerClient) -> Self {
        let url = url.into().trim_end_matches('/').to_owned();
        Self { url, client }
    }
}

impl Invoker for HttpInvoker {
    fn invoke<'a>(
        &'a self,
        function: &'a str,
        invocation_id: &'a str,
        body: Bytes,
    ) -> BoxFuture<'a, InvocationResult> {
        async move {
            let request = request(&self.url, function, invocation_id, body)?;
            let response =
                self.client.request(request).await.map_err(|error| unreachable(&error))?;
            let (parts, body) = response.into_parts();
            let body = body.collect().await.map_err(|error| unreachable(&error))?;
            read(&parts, &body.to_bytes())
        }
        .boxed()
    }
}

/// Invokes a router in this process.
#[derive(Debug, Clone)]
pub struct RouterInvoker(pub axum::Router);

impl Invoker for RouterInvoker {
    fn invoke<'a>(
        &'a self,
        function: &'a str,
        invocation_id: &'a str,
        body: Bytes,
    ) -> BoxFuture<'a, InvocationResult> {
        async move {
            let request = request("", function, invocation_id, body)?;
            let Ok(response) = self.0.clone().oneshot(request).await;
            let (parts, body) = response.into_parts();
            let body = body.collect().await.map_err(|error| unreachable(&error))?;
            read(&parts, &body.to_bytes())
        }
        .boxed()
    }
}

fn request(
    url: &str,
    function: &str,
    invocation_id: &str,
    body: Bytes,
) -> Result<Request<Body>, Failure> {
    Request::post(format!("{url}/{function}"))
        .header(header::CONTENT_TYPE, wire::CONTENT_TYPE)
        .header(header::USER_AGENT, wire::USER_AGENT)
        .header(wire::INVOCATION_ID, invocation_id)
        .header(wire::HOST_VERSION, wire::HOST_VERSION_VALUE)
        .body(Body::from(body))
        .map_err(|error| unreachable(&error))
}

fn read(parts: &http::response::Parts, body: &[u8]) -> InvocationResult {
    let content_type = parts.headers.get(header::CONTENT_TYPE);
    let content_type = content_type.and_then(|value| value.to_str().ok()).unwrap_or_default();
    let answer = wire::read_answer(parts.status.as_u16(), content_type, body)?;
    let done = parts.headers.get(wire::DONE).and_then(|value| value.to_str().ok());
    Ok(Answer { done: done.map(str::to_owned), ..answer })
}

fn unreachable(error: &(dyn std::error::Error + 'static)) -> Failure {
    Failure::Unreachable(chain(error))
}

/// An error with its causes.
pub(super) fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(inner) = source {
        text = format!("{text}: {inner}");
        source = inner.source();
    }
    text
}

/// How an invocation with its retries ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Outcome {
    Succeeded,
    /// There is no retry left, so what it was about is lost.
    Failed(Failure),
    /// It was given up before its retries were used up.
    GivenUp(Failure),
}

/// How to try again.
#[derive(Debug, Clone, Copy)]
pub(super) struct Retrying {
    /// The policy's pauses are multiplied by it; 1 but for tests.
    pub scale: f64,
    /// Give up after so many attempts, whatever the policy says.
    pub give_up_after: Option<i64>,
}

/// Runs an invocation until it succeeds or its retry policy ends: the same id each time.
pub(super) async fn run(
    invoker: &dyn Invoker,
    function: &Function,
    body: impl Fn(&Attempt) -> String + Send,
    retrying: Retrying,
    console: &Console,
    note: &str,
) -> Outcome {
    let id = uuid::Uuid::new_v4().to_string();
    let mut attempt = Attempt { invocation_id: id.clone(), ..Attempt::default() };
    loop {
        let started = Instant::now();
        let result = invoker.invoke(&function.name, &id, body(&attempt).into()).await;
        let ended = Ended { function: &function.name, id: &id, duration: started.elapsed() };
        let failure = match result {
            Ok(answer) => {
                console.succeeded(ended, note, answer.done.as_deref());
                for line in &answer.logs {
                    console.log(line);
                }
                return Outcome::Succeeded;
            }
            Err(failure) => failure,
        };
        console.failed(ended, format!("{note}: {failure}").trim_start_matches(": "));
        let Some(delay) =
            function.retry.as_ref().and_then(|policy| policy.delay(attempt.retry_count))
        else {
            return Outcome::Failed(failure);
        };
        attempt.retry_count += 1;
        if retrying.give_up_after.is_some_and(|most| attempt.retry_count >= most) {
            return Outcome::GivenUp(failure);
        }
        attempt.failure = Some(failure);
        tokio::time::sleep(scaled(delay, retrying.scale)).await;
    }
}

fn scaled(delay: Duration, scale: f64) -> Duration {
    Duration::try_from_secs_f64(delay.as_secs_f64() * scale).unwrap_or(delay)
}
