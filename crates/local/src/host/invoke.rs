//! Invocations over HTTP or in the process, with the function's retry policy.

use std::time::Instant;

use async_trait::async_trait;
use axum::body::Body;
use axum::http::{Request, header};
use axum::response::Response;
use bytes::Bytes;
use http_body_util::BodyExt as _;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use tower::ServiceExt as _;

use super::admin::EndedInvocation;
use super::console::Console;
use super::function::Function;
use super::wire::{self, Attempt, InvocationAnswer};

/// The result of one attempt.
pub type InvocationResult = Result<InvocationAnswer, InvocationFailure>;

/// An invoker: the handler's process over HTTP, or a router in this process.
#[async_trait]
pub trait Invoker: Send + Sync {
    /// Runs one attempt of an invocation.
    async fn invoke(&self, function: &str, invocation_id: &str, body: Bytes) -> InvocationResult;

    /// Kills the handler with all that it has under way. In this process there is no handler to kill: a
    /// drop ends an invocation where it waits.
    fn crash(&self) {}
}

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

#[async_trait]
impl Invoker for HttpInvoker {
    async fn invoke(&self, function: &str, invocation_id: &str, body: Bytes) -> InvocationResult {
        let request = request(&self.url, function, invocation_id, body)?;
        let answer = self.client.request(request).await.map_err(|error| unreachable(&error))?;
        read(answer.map(Body::new)).await
    }
}

/// An invoker of a router in this process.
#[derive(Debug, Clone)]
pub struct RouterInvoker(pub axum::Router);

#[async_trait]
impl Invoker for RouterInvoker {
    async fn invoke(&self, function: &str, invocation_id: &str, body: Bytes) -> InvocationResult {
        let Ok(answer) = self.0.clone().oneshot(request("", function, invocation_id, body)?).await;
        read(answer).await
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

async fn read(answer: Response) -> InvocationResult {
    let (parts, body) = answer.into_parts();
    let body = body.collect().await.map_err(|error| unreachable(&error))?.to_bytes();
    let header = |name: &str| Some(parts.headers.get(name)?.to_str().ok()?.to_owned());
    let content_type = header(header::CONTENT_TYPE.as_str()).unwrap_or_default();
    let answer = wire::read_answer(parts.status.as_u16(), &content_type, &body)?;
    let (done, charge) = (header(wire::DONE), header(wire::REQUEST_CHARGE));
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
        let inner_text = inner.to_string();
        // Some errors only pass on the text of their cause.
        if !text.ends_with(&inner_text) {
            text = format!("{text}: {inner_text}");
        }
        source = inner.source();
    }
    text
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum InvocationOutcome {
    Succeeded,
    /// No retry is left, so its input is lost.
    Failed(InvocationFailure),
    /// It was abandoned before its last retry.
    GivenUp(InvocationFailure),
}

/// Runs an invocation until it succeeds or its retry policy ends, under the same id each time. `scale` is the
/// factor of the policy's pauses. After so many attempts as `give_up_after`, the invocation is abandoned under any
/// policy.
pub(super) async fn run(
    invoker: &dyn Invoker,
    function: &Function,
    body: impl Fn(&Attempt) -> String + Send,
    scale: f64,
    give_up_after: Option<i64>,
    console: &Console,
    note: &str,
) -> InvocationOutcome {
    let id = uuid::Uuid::new_v4().to_string();
    let mut attempt = Attempt { invocation_id: id.clone(), ..Attempt::default() };
    loop {
        let Err(failure) =
            self::attempt(invoker, function, &id, body(&attempt), console, note).await
        else {
            return InvocationOutcome::Succeeded;
        };
        let Some(delay) = function.retry.and_then(|policy| policy.delay(attempt.retry_count))
        else {
            return InvocationOutcome::Failed(failure);
        };
        attempt.retry_count += 1;
        if give_up_after.is_some_and(|most| attempt.retry_count >= most) {
            return InvocationOutcome::GivenUp(failure);
        }
        attempt.failure = Some(failure);
        tokio::time::sleep(delay.mul_f64(scale)).await;
    }
}

/// Runs an invocation once, and prints its end.
pub(super) async fn attempt(
    invoker: &dyn Invoker,
    function: &Function,
    id: &str,
    body: String,
    console: &Console,
    note: &str,
) -> InvocationResult {
    let started = Instant::now();
    let result = invoker.invoke(&function.name, id, body.into()).await;
    let ended = EndedInvocation::new(&function.name, id, started.elapsed(), note);
    match &result {
        Ok(answer) => console.succeeded(ended, answer),
        Err(failure) => console.failed(ended, &format!(": {failure}")),
    }
    result
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
