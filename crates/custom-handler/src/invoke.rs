//! One invocation of a trigger's function, from the request to the answer.

use std::any::Any;
use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::task::Poll;
use std::time::Instant;

use axum::body::{Body, HttpBody};
use axum::extract::Request;
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use http_body_util::BodyExt;
use serde::Serialize;
use serde_json::{Map, Value};
use tracing::Instrument;

use crate::invocation::{self, Invocation, InvocationError};
use crate::logs;
use crate::outcome::InvocationOutcome;
use crate::trace::TraceContext;
use crate::trigger::Trigger;

/// The header with a summary of the invocation, for the console of a host on a developer's machine.
const DONE_HEADER: HeaderName = HeaderName::from_static("x-custom-handler-done");
const CHARGE_HEADER: HeaderName = HeaderName::from_static("x-ms-request-charge");

#[derive(Debug, thiserror::Error)]
enum InvocationFailure {
    #[error(transparent)]
    Body(#[from] BodyError),
    #[error(transparent)]
    Invocation(#[from] InvocationError),
    #[error("{0}")]
    Handler(String),
    #[error("the handler panicked: {0}")]
    Panic(String),
    #[error("the outcome cannot be written as JSON: {0}")]
    Outcome(serde_json::Error),
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct InvocationAnswer {
    outputs: Map<String, Value>,
    logs: [(); 0],
    return_value: Value,
}

pub(crate) async fn invoke(trigger: &Trigger, request: Request) -> Response {
    let (head, body) = request.into_parts();
    let id = invocation::id_header(&head.headers);
    let trace = TraceContext::from_headers(&head.headers);
    let span = logs::invocation_span(trigger.name(), id, trace.as_ref());
    async {
        let started = Instant::now();
        let result = catch(run(trigger, id, trace.as_ref(), body)).await;
        let result = result.unwrap_or_else(|panic| Err(InvocationFailure::Panic(panic)));
        let duration_ms = started.elapsed().as_millis();
        match result.and_then(answer) {
            Ok(answer) => {
                tracing::debug!(duration_ms, "the invocation was answered");
                answer
            }
            Err(failure) => {
                let status = failure.status();
                tracing::error!(
                    status = status.as_u16(),
                    duration_ms,
                    "the invocation failed: {failure}"
                );
                (status, format!("{failure}\n")).into_response()
            }
        }
    }
    .instrument(span)
    .await
}

async fn run(
    trigger: &Trigger,
    id: Option<&str>,
    trace: Option<&TraceContext>,
    body: Body,
) -> Result<InvocationOutcome, InvocationFailure> {
    let running = {
        let body = read_body(body).await?;
        // The handler runs with its own arguments, so the body's memory is freed before.
        trigger.call(&Invocation::parse(trigger.name(), id, trace, &body)?)?
    };
    running.await.map_err(InvocationFailure::Handler)
}

/// Returns the answer of an outcome. That of a success is always a whole JSON object: the host waits without end
/// on a 2xx that is empty or `null`.
fn answer(outcome: InvocationOutcome) -> Result<Response, InvocationFailure> {
    if let Some(reason) = outcome.refused {
        return Ok((StatusCode::SERVICE_UNAVAILABLE, format!("{reason}\n")).into_response());
    }
    let (outputs, return_value) = (outcome.outputs, outcome.return_value);
    let answer = InvocationAnswer { outputs, logs: [], return_value };
    let body = serde_json::to_vec(&answer).map_err(InvocationFailure::Outcome)?;
    let mut response = ([(header::CONTENT_TYPE, "application/json")], body).into_response();
    if let Some(done) = outcome.done.and_then(|done| HeaderValue::try_from(done).ok()) {
        response.headers_mut().insert(DONE_HEADER, done);
    }
    let charge = outcome.request_units.map(|request_units| format!("{request_units:.2}"));
    if let Some(charge) = charge.and_then(|charge| HeaderValue::try_from(charge).ok()) {
        response.headers_mut().insert(CHARGE_HEADER, charge);
    }
    Ok(response)
}

impl InvocationFailure {
    fn status(&self) -> StatusCode {
        match self {
            Self::Body(BodyError::TooLarge) => StatusCode::PAYLOAD_TOO_LARGE,
            Self::Body(BodyError::Broken(_)) | Self::Invocation(_) => StatusCode::BAD_REQUEST,
            Self::Handler(_) | Self::Panic(_) | Self::Outcome(_) => {
                StatusCode::INTERNAL_SERVER_ERROR
            }
        }
    }
}

/// Runs the future in place, so that it keeps its span and ends when the caller closes the connection. A
/// panic becomes an error with the panic's message, after the panic hook has run.
pub(crate) async fn catch<F: Future>(future: F) -> Result<F::Output, String> {
    let mut future = pin!(future);
    // A future that has panicked is dropped without another poll, so no broken state is seen.
    poll_fn(move |context| match catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(context))) {
        Ok(poll) => poll.map(Ok),
        Err(payload) => Poll::Ready(Err(message(payload.as_ref()))),
    })
    .await
}

fn message(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().copied();
    let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("a panic without a message").to_owned()
}

/// The largest body of a trigger's invocation: 128 MiB. HTTP functions have no limit here.
///
/// A page of the change feed is about 4 MB; encoding it twice can grow a text made of quotes and
/// backslashes fourfold, and one made of control characters more.
pub const MAX_BODY_BYTES: usize = 128 * 1024 * 1024;

#[derive(Debug, thiserror::Error)]
enum BodyError {
    #[error(
        "the body is larger than {} MiB: lower maxItemsPerInvocation in the function.json",
        MAX_BODY_BYTES / (1024 * 1024)
    )]
    TooLarge,
    #[error("the body could not be read: {0}")]
    Broken(axum::Error),
}

/// The most memory that is reserved for an announced body. The buffer grows with the bytes that arrive.
const MAX_RESERVED_BYTES: u64 = 4 * 1024 * 1024;

async fn read_body(mut body: Body) -> Result<Vec<u8>, BodyError> {
    let announced = body.size_hint().lower().min(MAX_RESERVED_BYTES);
    let mut bytes = Vec::with_capacity(usize::try_from(announced).unwrap_or(0));
    while let Some(frame) = body.frame().await {
        let Ok(chunk) = frame.map_err(BodyError::Broken)?.into_data() else {
            continue;
        };
        if bytes.len() + chunk.len() > MAX_BODY_BYTES {
            return Err(BodyError::TooLarge);
        }
        bytes.extend_from_slice(&chunk);
    }
    Ok(bytes)
}
