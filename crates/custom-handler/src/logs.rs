//! Log lines: to stdout with the id of their invocation, and into the answer's `Logs`.
//!
//! Each invocation runs in a span `invocation` with the fields `function` and `invocation.id`,
//! each HTTP request in a span `request`. [`init`] prints events with their spans on stdout, never
//! on stderr, whose lines the host reports as errors. [`layer`] keeps an invocation's lines for
//! its answer; an application with a subscriber of its own adds this layer to it and lets the
//! target [`SPAN_TARGET`] through its filters.

use std::env;
use std::fmt::Write as _;
use std::io::{self, IsTerminal};

use axum::http::Method;
use tracing::level_filters::LevelFilter;
use tracing::span::{Attributes, Id};
use tracing::{Event, Span, Subscriber};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::FormatFields;
use tracing_subscriber::fmt::format::{DefaultFields, Writer};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};
use tracing_subscriber::registry::{LookupSpan, Registry};
use tracing_subscriber::util::{SubscriberInitExt, TryInitError};

/// The target of this crate's spans. A filter that hides it hides the ids of the invocations and
/// leaves `Logs` empty.
pub const SPAN_TARGET: &str = "custom_handler::span";

/// The most lines of one invocation that go into `Logs`. One more line counts the others.
pub const MAX_LINES: usize = 1_000;

/// Prints events on stdout, with colours on a terminal (unless `NO_COLOR` is set), at the levels
/// in `RUST_LOG` (`info` without it), and fills `Logs`.
///
/// # Errors
/// When the process has a subscriber already.
pub fn init() -> Result<(), TryInitError> {
    init_with("info")
}

/// As [`init`], with these levels where there is no `RUST_LOG`, in its syntax.
///
/// # Errors
/// When the process has a subscriber already.
pub fn init_with(levels: &str) -> Result<(), TryInitError> {
    let (filter, filter_error) = filter(levels);
    let no_color = env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let lines = tracing_subscriber::fmt::layer()
        .with_writer(io::stdout)
        .with_ansi(io::stdout().is_terminal() && !no_color)
        // Or a full or closed stdout is reported on stderr.
        .log_internal_errors(false);
    tracing_subscriber::registry().with(filter).with(lines).with(layer()).try_init()?;
    if let Some(error) = filter_error {
        tracing::warn!(%error, "RUST_LOG is not understood; logging at level info");
    }
    Ok(())
}

/// The layer that keeps each invocation's lines for the `Logs` of its answer.
///
/// It has to stand on tracing-subscriber's `Registry`.
pub fn layer() -> InvocationLogs {
    InvocationLogs { _private: () }
}

/// See [`layer`].
#[derive(Debug, Clone)]
pub struct InvocationLogs {
    _private: (),
}

/// The lines of one invocation, kept in the extensions of its span.
#[derive(Default)]
struct Lines {
    lines: Vec<String>,
    n_left_out: usize,
}

const INVOCATION_SPAN: &str = "invocation";

/// At level error, so that a filter for warnings keeps the ids on the warnings.
pub(crate) fn invocation_span(function: &str, id: Option<&str>) -> Span {
    tracing::error_span!(target: SPAN_TARGET, INVOCATION_SPAN, function, invocation.id = id)
}

/// The query stays out: it can hold a key (`?code=`).
pub(crate) fn request_span(id: Option<&str>, method: &Method, path: &str) -> Span {
    tracing::error_span!(target: SPAN_TARGET, "request", %method, path, invocation.id = id)
}

/// The lines so far of the invocation with this span: none without a [`layer`].
pub(crate) fn take_lines(span: &Span) -> Vec<String> {
    let lines = span.with_subscriber(|(id, dispatch)| {
        let registry = dispatch.downcast_ref::<Registry>()?;
        let span = registry.span(id)?;
        let mut extensions = span.extensions_mut();
        extensions.get_mut::<Lines>().map(std::mem::take)
    });
    lines.flatten().map(Lines::finish).unwrap_or_default()
}

impl<S> Layer<S> for InvocationLogs
where
    S: Subscriber + for<'lookup> LookupSpan<'lookup>,
{
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let metadata = attributes.metadata();
        if metadata.target() != SPAN_TARGET || metadata.name() != INVOCATION_SPAN {
            return;
        }
        if let Some(span) = context.span(id) {
            span.extensions_mut().insert(Lines::default());
        }
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        // Not `event_scope().find()` with the extensions held: formatting runs foreign code.
        let Some(scope) = context.event_scope(event) else {
            return;
        };
        for span in scope {
            if span.extensions().get::<Lines>().is_none() {
                continue;
            }
            let line = line(event);
            if let Some(lines) = span.extensions_mut().get_mut::<Lines>() {
                lines.push(line);
            }
            return;
        }
    }
}

impl Lines {
    fn push(&mut self, line: String) {
        if self.lines.len() < MAX_LINES {
            self.lines.push(line);
        } else {
            self.n_left_out += 1;
        }
    }

    fn finish(mut self) -> Vec<String> {
        if self.n_left_out > 0 {
            self.lines.push(format!("({} more lines)", self.n_left_out));
        }
        self.lines
    }
}

/// `INFO the message key=value`: the host adds the time and the function.
fn line(event: &Event<'_>) -> String {
    let mut line = String::new();
    let written = write!(line, "{} ", event.metadata().level())
        .and_then(|()| DefaultFields::new().format_fields(Writer::new(&mut line), event));
    if written.is_err() {
        line.push_str("(a field could not be formatted)");
    }
    line
}

/// The filter in `RUST_LOG`, or the default one and what is wrong with the variable.
fn filter(default: &str) -> (EnvFilter, Option<String>) {
    let variable = env::var_os(EnvFilter::DEFAULT_ENV).filter(|value| !value.is_empty());
    let variable = variable.unwrap_or_else(|| default.into());
    let variable = variable.to_string_lossy();
    let builder = || EnvFilter::builder().with_default_directive(LevelFilter::INFO.into());
    let (filter, variable, error) = match builder().parse(&variable) {
        Ok(filter) => (filter, variable, None),
        Err(error) => (builder().parse_lossy(default), "".into(), Some(error.to_string())),
    };
    // `RUST_LOG=my_app=debug` is about the lines of `my_app`. It must take neither the ids from
    // them nor the reasons of failed invocations from the log.
    let filter = with_directive(filter, "custom_handler::span=error");
    if names_only_others(&variable) {
        return (with_directive(filter, "custom_handler=warn"), error);
    }
    (filter, error)
}

fn with_directive(filter: EnvFilter, directive: &str) -> EnvFilter {
    match directive.parse() {
        Ok(directive) => filter.add_directive(directive),
        Err(_) => filter,
    }
}

fn names_only_others(variable: &str) -> bool {
    let parts = || variable.split(',').map(str::trim).filter(|part| !part.is_empty());
    let names_us = |part: &str| {
        let target = part.split(['=', '[']).next();
        target == Some("custom_handler") || part.parse::<LevelFilter>().is_ok()
    };
    parts().next().is_some() && !parts().any(names_us)
}
