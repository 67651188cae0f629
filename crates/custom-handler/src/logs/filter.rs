//! Filters of the log lines.

use std::env;

use tracing::level_filters::LevelFilter;
use tracing::{Level, Metadata};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::{FilterFn, filter_fn};

/// Returns a filter that passes debug and trace lines only from targets that begin with one of `crates`; all
/// lines without any crate.
pub(super) fn verbose(
    crates: &[&str],
) -> FilterFn<impl Fn(&Metadata<'_>) -> bool + Send + Sync + use<>> {
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

/// Returns the filter in `RUST_LOG`, or the default one with the error of the variable.
pub(super) fn levels(default: &str) -> (EnvFilter, Option<String>) {
    let variable = env::var_os(EnvFilter::DEFAULT_ENV).filter(|value| !value.is_empty());
    let variable = variable.unwrap_or_else(|| default.into());
    let variable = variable.to_string_lossy();
    let builder = || EnvFilter::builder().with_default_directive(LevelFilter::INFO.into());
    let (filter, variable, error) = match builder().parse(&variable) {
        Ok(filter) => (filter, variable, None),
        Err(error) => (builder().parse_lossy(default), "".into(), Some(error.to_string())),
    };
    // `RUST_LOG=my_app=debug` is about the lines of `my_app`. They keep their ids, and the log keeps the
    // reasons of failed invocations.
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
