//! Invocations over HTTP or in the process, with the function's retry policy.

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
use super::function::Function;
use super::wire::{self, Attempt, InvocationAnswer};

/// The result of one attempt.
pub type InvocationResult = Result<InvocationAnswer, InvocationFailure>;

/// An invoker: the handler's process over HTTP, or a router in this process.
pub trait Invoker: Send + Sync {
    /// Runs one attempt of an invocation.
    fn invoke<'a>(
        &'a self,
        function: &'a str,
        invocation_id: &'a str,
        body: Bytes,
    ) -> BoxFuture<'a, InvocationResult>;

    /// Kills the handler with all that it has under way. In this process there is no handler to kill: a
    /// drop ends an invocation where it waits.
    fn crash(&self) {}
}

/// The client of requests to the handler.
pub(super) type HandlerClient = Client<HttpConnector, Body>;

pub(super) fn handler_client() -> HandlerClient {
    let mut connector = HttpConnector::new();
    connector.set_nodelay(true);
    Client::builder(TokioExecutor::new()).build(connector)
}

/// An invoker of a handler that listens at a URL.
#[derive(Debug, Clone)]
pub struct HttpInvoker {
    url: String,
    client: HandlerClient,
}

impl HttpInvoker {
    /// Creates an invoker of the handler at `url`, such as `http://127.0.0.1:41235`.
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

/// An invoker of a router in this process.
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
) -> Result<Request<Body>, InvocationFailure> {
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
    let header = |name| Some(parts.headers.get(name)?.to_str().ok()?.to_owned());
    let done = header(wire::DONE);
    let charge = header(wire::REQUEST_CHARGE);
    Ok(InvocationAnswer { done, charge, ..answer })
}

fn unreachable(error: &(dyn std::error::Error + 'static)) -> InvocationFailure {
    InvocationFailure::Unreachable(chain(error))
}

/// Joins the texts of an error and its causes.
pub(super) fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(inner) = source {
        text = format!("{text}: {inner}");
        source = inner.source();
    }
    text
}

/// The outcome of an invocation with its retries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum InvocationOutcome {
    Succeeded,
    /// No retry is left, so its input is lost.
    Failed(InvocationFailure),
    /// It was abandoned before its last retry.
    GivenUp(InvocationFailure),
}

/// The rules of retries.
#[derive(Debug, Clone, Copy)]
pub(super) struct Retrying {
    /// The factor of the policy's pauses; 1 except for tests.
    pub scale: f64,
    /// The number of attempts after which it is abandoned, under any policy.
    pub give_up_after: Option<i64>,
}

/// Runs an invocation until it succeeds or its retry policy ends, under the same id each time.
pub(super) async fn run(
    invoker: &dyn Invoker,
    function: &Function,
    body: impl Fn(&Attempt) -> String + Send,
    retrying: Retrying,
    console: &Console,
    note: &str,
) -> InvocationOutcome {
    let id = uuid::Uuid::new_v4().to_string();
    let mut attempt = Attempt { invocation_id: id.clone(), ..Attempt::default() };
    loop {
        let started = Instant::now();
        let result = invoker.invoke(&function.name, &id, body(&attempt).into()).await;
        let ended = Ended::new(&function.name, &id, started.elapsed());
        let failure = match result {
            Ok(answer) => {
                let ended = ended.charged(answer.charge.as_deref());
                console.succeeded(ended, note, answer.done.as_deref());
                for line in &answer.logs {
                    console.log(line);
                }
                return InvocationOutcome::Succeeded;
            }
            Err(failure) => failure,
        };
        console.failed(ended, format!("{note}: {failure}").trim_start_matches(": "));
        let Some(delay) =
            function.retry.as_ref().and_then(|policy| policy.delay(attempt.retry_count))
        else {
            return InvocationOutcome::Failed(failure);
        };
        attempt.retry_count += 1;
        if retrying.give_up_after.is_some_and(|most| attempt.retry_count >= most) {
            return InvocationOutcome::GivenUp(failure);
        }
        attempt.failure = Some(failure);
        tokio::time::sleep(scaled(delay, retrying.scale)).await;
    }
}

fn scaled(delay: Duration, scale: f64) -> Duration {
    Duration::try_from_secs_f64(delay.as_secs_f64() * scale).unwrap_or(delay)
}

/// The reason why an invocation failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvocationFailure {
    /// There was no answer.
    #[error("the handler did not answer: {0}")]
    Unreachable(String),
    /// The answer was not a 2xx; the host drops its logs.
    #[error("the handler answered {0}")]
    Status(u16),
    /// A 2xx with another content type.
    #[error("the handler answered {0} with the content type {1:?}; it must be application/json")]
    ContentType(u16, String),
    /// A 2xx with an empty body or `null`.
    #[error(
        "the handler answered {0} with an empty body or null: the real host would wait until \
         functionTimeout and then kill the handler; answer {{\"Outputs\":{{}},\"Logs\":[]}}"
    )]
    Hang(u16),
    /// A 2xx whose body is not that of an invocation.
    #[error("the handler answered {0} with a body that is not an invocation's answer: {1}")]
    Body(u16, String),
    /// `functionTimeout` passed, so the host killed the handler.
    #[error("the invocation took longer than functionTimeout, so the handler was killed")]
    TimedOut,
}
