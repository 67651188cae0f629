//! Log lines on stdout, with the id of their invocation.
//!
//! Each invocation runs in a span `invocation` with the fields `function` and `invocation.id`, each HTTP request in a span
//! `request` with `method`, `route` and `invocation.id`. Where the host sends a trace, the span has its `trace_id` and, as
//! `parent_id`, the id of the host's span; an application may record its own as `span_id`. The list `Logs` of an answer
//! stays empty: the host logs stdout as well, and takes no levels and fields from it.

use std::env;
use std::io::{self, IsTerminal};

use axum::http::Method;
use tracing::field::Empty;
use tracing::level_filters::LevelFilter;
use tracing::{Level, Metadata, Span, Subscriber};
use tracing_subscriber::filter::{FilterFn, Targets, filter_fn};
use tracing_subscriber::layer::{Layer, SubscriberExt};
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::{SubscriberInitExt, TryInitError};

use crate::TraceContext;

mod json;

/// The error of a process that has a subscriber already.
pub use tracing_subscriber::util::TryInitError as InitError;

const SPAN_TARGET: &str = "custom_handler::span";

/// The options of the log lines: levels, crates and format.
#[derive(Debug, Clone)]
pub struct LogOptions<'a> {
    /// The levels where there is no `RUST_LOG`, in its syntax.
    pub levels: &'a str,
    /// The crates that may write debug and trace lines, by the beginning of their targets; empty for all. With any
    /// `RUST_LOG` the others write none: a library may print headers and bodies below level info.
    pub verbose: &'a [&'a str],
    /// The format of a line.
    pub format: Format,
}

/// The format of a log line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Text, with colours on a terminal (unless `NO_COLOR` is set).
    Text,
    /// One JSON object a line: `timestamp`, `level`, `message`, `target`, then the fields of the spans and of the
    /// event. Warnings and errors go to stderr, so that the host gives them these severities.
    Json,
}

impl Default for LogOptions<'_> {
    fn default() -> Self {
        Self { levels: "info", verbose: &[], format: Format::Text }
    }
}

/// Prints events on stdout as text, at the levels in `RUST_LOG` (`info` without it).
pub fn init() -> Result<(), TryInitError> {
    init_with(&LogOptions::default())
}

/// Prints events with these options.
pub fn init_with(options: &LogOptions<'_>) -> Result<(), TryInitError> {
    let (levels, filter_error) = levels(options.levels);
    let lines = match options.format {
        Format::Text => text_lines().boxed(),
        Format::Json => json::JsonLines.boxed(),
    };
    let verbose = verbose(options.verbose);
    tracing_subscriber::registry().with(levels).with(verbose).with(lines).try_init()?;
    if let Some(error) = filter_error {
        tracing::warn!(%error, "RUST_LOG is not understood; logging at level info");
    }
    Ok(())
}

fn text_lines<S>() -> impl Layer<S> + Send + Sync + 'static
where
    S: Subscriber + for<'lookup> LookupSpan<'lookup>,
{
    let no_color = env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    tracing_subscriber::fmt::layer()
        .with_writer(io::stdout)
        .with_ansi(io::stdout().is_terminal() && !no_color)
        // Otherwise a full or closed stdout would be reported on stderr.
        .log_internal_errors(false)
}

/// Has the level error, so that a filter for warnings keeps the ids of the warnings.
pub(crate) fn invocation_span(
    function: &str,
    id: Option<&str>,
    trace: Option<&TraceContext>,
) -> Span {
    tracing::error_span!(
        target: SPAN_TARGET,
        "invocation",
        function,
        invocation.id = id,
        trace_id = trace.map(TraceContext::trace_id),
        parent_id = trace.map(TraceContext::parent_id),
        span_id = Empty,
    )
}

/// Has no path, which has ids, and no query, which may have a key (`?code=`).
pub(crate) fn request_span(
    id: Option<&str>,
    method: &Method,
    trace: Option<&TraceContext>,
) -> Span {
    tracing::error_span!(
        target: SPAN_TARGET,
        "request",
        %method,
        route = Empty,
        invocation.id = id,
        trace_id = trace.map(TraceContext::trace_id),
        parent_id = trace.map(TraceContext::parent_id),
        span_id = Empty,
    )
}

/// Passes debug and trace lines of these crates alone; of all without any.
fn verbose(crates: &[&str]) -> FilterFn<impl Fn(&Metadata<'_>) -> bool + Send + Sync + use<>> {
    let crates: Vec<String> = crates.iter().map(|&name| name.to_owned()).collect();
    filter_fn(move |metadata| {
        *metadata.level() <= Level::INFO
            || crates.is_empty()
            || crates.iter().any(|name| is_of(name, metadata.target()))
    })
}

fn is_of(name: &str, target: &str) -> bool {
    target.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
}

/// Knows targets and levels alone: selecting spans and fields takes an engine of regular expressions.
fn levels(default: &str) -> (Targets, Option<String>) {
    let variable = env::var_os("RUST_LOG").filter(|value| !value.is_empty());
    let variable = variable.unwrap_or_else(|| default.into());
    let variable = variable.to_string_lossy();
    let (filter, variable, error) = match variable.parse::<Targets>() {
        Ok(filter) => (filter, variable, None),
        Err(error) => {
            let info = Targets::new().with_default(LevelFilter::INFO);
            (default.parse().unwrap_or(info), "".into(), Some(error.to_string()))
        }
    };
    // `RUST_LOG=my_app=debug` is about the lines of `my_app`. They keep their ids, and the log keeps the
    // reasons of failed invocations.
    let filter = filter.with_target(SPAN_TARGET, LevelFilter::ERROR);
    if names_only_others(&variable) {
        return (filter.with_target("custom_handler", LevelFilter::WARN), error);
    }
    (filter, error)
}

fn names_only_others(variable: &str) -> bool {
    let parts = || variable.split(',').map(str::trim).filter(|part| !part.is_empty());
    let names_us = |part: &str| {
        let target = part.split('=').next();
        target == Some("custom_handler") || part.parse::<LevelFilter>().is_ok()
    };
    parts().next().is_some() && !parts().any(names_us)
}
