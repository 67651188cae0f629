//! The record of every request: a log line, a span, metrics, and `x-ms-request-charge`; and what every answer says
//! of caches.

use std::{
    panic::AssertUnwindSafe,
    sync::Arc,
    time::{Instant, SystemTime},
};

use axum::{
    extract::{MatchedPath, Request, State},
    http::{HeaderName, HeaderValue, Method, header},
    middleware::Next,
    response::{IntoResponse, Response},
};
use custom_handler::TraceContext;
use futures::FutureExt;
use opentelemetry::{KeyValue, trace::SpanKind};

use super::{
    ApiError, Conditions, INVOCATION_ID, conditions::tagged, consistency::COPIES_BEHIND,
    error::ErrorForm,
};
use crate::{
    app::UNMATCHED_FUNCTION,
    cosmos::metered,
    telemetry::{self, Cost, RequestRecord, Span, followed, milliseconds, record},
};

const REQUEST_CHARGE: HeaderName = HeaderName::from_static("x-ms-request-charge");

/// The route of the records of recent requests. They have no request for themselves.
pub(crate) const COSTS_ROUTE: &str = "/api/costs";

const RECORDED_ROUTES: &str = "/api/";

/// The functions by their methods and routes; true if all callers get the same answer.
pub(crate) type CalledFunctions = Arc<[(Method, &'static str, &'static str, bool)]>;

/// Logs, traces and measures each request, and writes the bodies of refusals. Every answer that used the store gets
/// a header with the request units of all its store calls.
///
/// None of these records has a path or a query, since they contain ids and may contain keys.
pub(crate) async fn answered(
    State((functions, errors)): State<(CalledFunctions, ErrorForm)>,
    route: Option<MatchedPath>,
    conditions: Conditions,
    request: Request,
    next: Next,
) -> Response {
    let started = Instant::now();
    let route = route.as_ref().map_or("", MatchedPath::as_str).to_owned();
    let method = name_of(request.method());
    // A HEAD is answered by the function of its GET.
    let called = if request.method() == Method::HEAD { &Method::GET } else { request.method() };
    let mut known = functions.iter();
    let known = known.find(|(method, path, ..)| method == called && *path == route);
    let function = known.map_or(UNMATCHED_FUNCTION, |(.., name, _)| name);
    let is_public = known.is_some_and(|(.., is_public)| *is_public);
    let is_read = request.method().is_safe();
    let host = TraceContext::from_headers(request.headers());
    let invocation = request.headers().get(INVOCATION_ID).and_then(|id| id.to_str().ok());
    let invocation = invocation.map(str::to_owned);
    let name = format!("{method} {route}").trim_end().to_owned();
    let span = Span::begin(name, SpanKind::Server, host.as_ref());

    let work = metered(followed(async {
        let response = next.run(request).await;
        if is_read { tagged(response, &conditions).await } else { response }
    }));
    let ((mut response, detail), meter) = span.around(work).await;
    errors.write(&mut response, invocation);

    let duration = started.elapsed();
    let ended = SystemTime::now();
    let cost = Cost::from(&*meter);
    let status = response.status();
    if route.starts_with(RECORDED_ROUTES) && route != COSTS_ROUTE {
        let request = RequestRecord { method, route: route.clone(), status: status.as_u16() };
        record(function, duration, cost, detail, (Some(request), None));
    }
    let used_the_store = meter.used_the_store();
    telemetry::report_later(move || {
        tracing::info!(
            function,
            method,
            route,
            status = status.as_u16(),
            duration_ms = milliseconds(duration),
            request_charge_ru = cost.request_units,
            store.duration_ms = milliseconds(meter.duration()),
            store.requests = cost.requests,
            store.throttled = cost.throttled,
            "Answered a request"
        );
        let mut attributes = vec![
            KeyValue::new("faas.name", function),
            KeyValue::new("http.request.method", method),
            KeyValue::new("http.response.status_code", i64::from(status.as_u16())),
        ];
        if !route.is_empty() {
            attributes.push(KeyValue::new("http.route", route));
        }
        telemetry::request(function, &attributes, duration, cost);
        span.end(ended, attributes, status.is_server_error());
    });
    if used_the_store && let Ok(value) = HeaderValue::try_from(cost.request_units.to_string()) {
        response.headers_mut().insert(REQUEST_CHARGE, value);
    }
    let headers = response.headers_mut();
    // Caches know an answer by its URL and not by a key, and what lacks writes of its caller is for this once.
    let is_kept = is_public && !headers.contains_key(COPIES_BEHIND);
    if !headers.contains_key(header::CACHE_CONTROL) {
        let rule = if is_kept { "no-cache" } else { "no-store" };
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static(rule));
        headers.insert(header::VARY, HeaderValue::from_static("Consistency-Token, Cookie"));
    }
    response
}

/// Returns the name of a standard method, or `_OTHER`: a metric must not have a series for each method
/// that a caller invents.
fn name_of(method: &Method) -> &'static str {
    const STANDARD_METHODS: [&str; 9] =
        ["GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH"];
    STANDARD_METHODS.into_iter().find(|known| *known == method.as_str()).unwrap_or("_OTHER")
}

/// Answers a request whose handler panics with a 500. Rust writes the reason to standard
/// error, which the host logs as an error.
pub(crate) async fn catch_panics(request: Request, next: Next) -> Response {
    let answer = AssertUnwindSafe(next.run(request)).catch_unwind().await;
    answer.unwrap_or_else(|_| {
        tracing::error!("The request panicked");
        ApiError::Internal.into_response()
    })
}
