//! One invocation of a trigger's function, from the request to the answer.

use std::time::Instant;

use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use tracing::{Instrument, Span};

use crate::body::{self, BodyError};
use crate::invocation::{self, Invocation, InvocationError};
use crate::outcome::{InvocationAnswer, InvocationOutcome};
use crate::trace::TraceContext;
use crate::trigger::Trigger;
use crate::{logs, panics};

/// The header with a summary of the invocation, for the console of a host on a developer's machine.
const DONE_HEADER: HeaderName = HeaderName::from_static("x-custom-handler-done");
const CHARGE_HEADER: HeaderName = HeaderName::from_static("x-ms-request-charge");

/// The error of a failed invocation: it gives the status for the host and the words for the log.
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

pub(crate) async fn invoke(trigger: &Trigger, request: Request) -> Response {
    let (head, body) = request.into_parts();
    let id = invocation::id_header(&head.headers);
    let trace = TraceContext::from_headers(&head.headers);
    let span = logs::invocation_span(trigger.name(), id, trace.as_ref());
    async {
        let started = Instant::now();
        let result = match panics::catch(run(trigger, id, trace.as_ref(), body)).await {
            Ok(result) => result,
            Err(panic) => Err(InvocationFailure::Panic(panic)),
        };
        let duration_ms = started.elapsed().as_millis();
        match result.and_then(|outcome| answer(outcome, &Span::current())) {
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
        let body = body::read(body).await?;
        // The handler runs with its own arguments, so the body's memory is freed before.
        trigger.call(&Invocation::parse(trigger.name(), id, trace, &body)?)?
    };
    running.await.map_err(InvocationFailure::Handler)
}

/// Returns the answer of an outcome. That of a success is always a whole JSON object: the host waits without end
/// on a 2xx that is empty or `null`.
fn answer(outcome: InvocationOutcome, span: &Span) -> Result<Response, InvocationFailure> {
    if let Some(reason) = outcome.refused {
        return Ok((StatusCode::SERVICE_UNAVAILABLE, format!("{reason}\n")).into_response());
    }
    let answer = InvocationAnswer {
        outputs: outcome.outputs,
        logs: logs::take_lines(span),
        return_value: outcome.return_value,
    };
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
