//! One invocation of a trigger's function, from the request to the answer.

use std::any::Any;
use std::error::Error;
use std::panic::AssertUnwindSafe;
use std::time::Instant;

use axum::Json;
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::Request;
use axum::http::{HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use futures::FutureExt as _;
use http_body_util::LengthLimitError;
use serde_json::json;
use tracing::Instrument;

use crate::invocation::{self, Invocation, InvocationError};
use crate::logs;
use crate::outcome::InvocationOutcome;
use crate::trace::TraceContext;
use crate::trigger::Trigger;

/// The header with a summary of the invocation, for the console of a host on a developer's machine.
const DONE_HEADER: HeaderName = HeaderName::from_static("x-custom-handler-done");
const CHARGE_HEADER: HeaderName = HeaderName::from_static("x-ms-request-charge");

struct InvocationFailure(StatusCode, String);

pub(crate) async fn invoke(name: &str, trigger: &Trigger, request: Request) -> Response {
    let (head, body) = request.into_parts();
    let id = invocation::id_header(&head.headers);
    let trace = TraceContext::from_headers(&head.headers);
    let span = logs::invocation_span(name, id, trace.as_ref());
    async {
        let started = Instant::now();
        let result = catch(run(trigger, id, trace.as_ref(), body)).await;
        let result = result.unwrap_or_else(|panic| {
            Err(InvocationFailure::internal(format!("the handler panicked: {panic}")))
        });
        let duration_ms = started.elapsed().as_millis();
        match result {
            Ok(outcome) => {
                tracing::debug!(duration_ms, "the invocation was answered");
                answer(outcome)
            }
            Err(InvocationFailure(status, reason)) => {
                let code = status.as_u16();
                tracing::error!(status = code, duration_ms, "the invocation failed: {reason}");
                (status, format!("{reason}\n")).into_response()
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
        trigger(&Invocation::parse(id, trace, &body)?)?
    };
    running.await.map_err(InvocationFailure::internal)
}

/// A success is always a whole JSON object: the host waits without end on a 2xx that is empty or `null`.
fn answer(outcome: InvocationOutcome) -> Response {
    if let Some(reason) = outcome.refused {
        return (StatusCode::SERVICE_UNAVAILABLE, format!("{reason}\n")).into_response();
    }
    let body = json!({ "Outputs": outcome.outputs, "Logs": [], "ReturnValue": null });
    let mut response = Json(body).into_response();
    if let Some(done) = outcome.done.and_then(|done| HeaderValue::try_from(done).ok()) {
        response.headers_mut().insert(DONE_HEADER, done);
    }
    let charge = outcome.request_units.map(|request_units| format!("{request_units:.2}"));
    if let Some(charge) = charge.and_then(|charge| HeaderValue::try_from(charge).ok()) {
        response.headers_mut().insert(CHARGE_HEADER, charge);
    }
    response
}

impl InvocationFailure {
    fn internal(reason: String) -> Self {
        Self(StatusCode::INTERNAL_SERVER_ERROR, reason)
    }
}

impl From<InvocationError> for InvocationFailure {
    fn from(error: InvocationError) -> Self {
        Self(StatusCode::BAD_REQUEST, error.to_string())
    }
}

/// Runs the future in place, so that it keeps its span. After a panic it is not polled again.
pub(crate) async fn catch<F: Future>(future: F) -> Result<F::Output, String> {
    let caught = AssertUnwindSafe(future).catch_unwind().await;
    caught.map_err(|payload| message(payload.as_ref()))
}

fn message(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().copied();
    let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("a panic without a message").to_owned()
}

/// The largest body of a trigger's invocation. A page of the change feed is about 4 MB; encoding it twice can grow a
/// text of quotes, backslashes or control characters fourfold and more.
pub const MAX_BODY_BYTES: usize = 128 * 1024 * 1024;

async fn read_body(body: Body) -> Result<Bytes, InvocationFailure> {
    to_bytes(body, MAX_BODY_BYTES).await.map_err(|error| {
        if error.source().is_some_and(<dyn Error>::is::<LengthLimitError>) {
            let limit = MAX_BODY_BYTES / (1024 * 1024);
            let reason = format!(
                "the body is larger than {limit} MiB: lower maxItemsPerInvocation in the function.json"
            );
            return InvocationFailure(StatusCode::PAYLOAD_TOO_LARGE, reason);
        }
        InvocationFailure(StatusCode::BAD_REQUEST, format!("the body could not be read: {error}"))
    })
}
