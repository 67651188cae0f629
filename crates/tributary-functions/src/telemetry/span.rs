//! Spans: one for each call of the host, as a child of the host's own.

use std::time::{Instant, SystemTime};

use custom_handler::TraceContext;
use opentelemetry::{
    Context, KeyValue, SpanId, TraceFlags, TraceId,
    context::FutureExt,
    global,
    trace::{SpanContext, SpanKind, Status, TraceContextExt, TraceState, Tracer},
};

use tracing::Instrument;

use super::metrics;
use crate::brand::brand;

/// A span that has begun. It ends with [`Span::end`], or when a request is dropped with it.
pub(crate) struct Span(Context);

impl Span {
    pub(crate) fn begin(name: String, kind: SpanKind, host: Option<&TraceContext>) -> Self {
        let parent = host
            .and_then(remote)
            .map_or_else(Context::new, |parent| Context::new().with_remote_span_context(parent));
        let tracer = global::tracer(brand().name);
        let span = tracer.span_builder(name).with_kind(kind).start_with_context(&tracer, &parent);
        let context = parent.with_span(span);
        if context.span().is_recording() {
            let id = context.span().span_context().span_id().to_string();
            tracing::Span::current().record("span_id", id);
        }
        Self(context)
    }

    pub(crate) async fn around<F: Future>(&self, work: F) -> F::Output {
        work.with_context(self.0.clone()).await
    }

    pub(crate) fn end(self, at: SystemTime, attributes: Vec<KeyValue>, failed: bool) {
        let span = self.0.span();
        span.set_attributes(attributes);
        if failed {
            span.set_status(Status::error(""));
        }
        span.end_with_timestamp(at);
    }
}

/// The trace context of a caller: work that another task does for the caller goes into the same trace.
pub(crate) struct TraceScope {
    context: Context,
    span: tracing::Span,
}

impl TraceScope {
    pub(crate) fn current() -> Self {
        Self { context: Context::current(), span: tracing::Span::current() }
    }

    pub(crate) async fn around<F: Future>(&self, work: F) -> F::Output {
        work.with_context(self.context.clone()).instrument(self.span.clone()).await
    }
}

fn remote(host: &TraceContext) -> Option<SpanContext> {
    Some(SpanContext::new(
        TraceId::from_hex(host.trace_id()).ok()?,
        SpanId::from_hex(host.parent_id()).ok()?,
        TraceFlags::new(host.flags()),
        true,
        // A bad state is left out, as the specification asks for.
        host.state().and_then(|state| state.parse::<TraceState>().ok()).unwrap_or_default(),
    ))
}

pub(crate) async fn invocation<T, E>(
    function: &'static str,
    trigger: &'static str,
    host: Option<TraceContext>,
    work: impl Future<Output = Result<T, E>>,
) -> Result<T, E> {
    let started = Instant::now();
    let span = Span::begin(function.to_owned(), SpanKind::Consumer, host.as_ref());
    let result = span.around(work).await;
    let failed = result.is_err();
    metrics::invocation(function, trigger, failed, started.elapsed());
    let attributes =
        vec![KeyValue::new("faas.name", function), KeyValue::new("faas.trigger", trigger)];
    span.end(SystemTime::now(), attributes, failed);
    result
}
