//! The console: one line for a request, one for a batch, and every error.
//!
//! | line | without `-v` | with `-v` |
//! | --- | --- | --- |
//! | an HTTP request | method, path, status, time, request units | as Core Tools print it, with the invocation id |
//! | a batch or timer that succeeded | what the handler says that it did; nothing when it did nothing | as Core Tools print it |
//! | a failed request or invocation | with its invocation id and the reason | the same |
//! | the handler's lines of level info and below | left out | shown |
//! | the handler's other lines: warnings, errors, `println!` | shown | shown |

use std::io::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use clap::builder::styling::{AnsiColor, Style};
use time::OffsetDateTime;
use time::macros::format_description;

use super::admin::{EndedInvocation, HostEvent, HostEvents};
use super::wire::InvocationAnswer;
use crate::lock;

/// The output of the host's lines: stderr, in colours only on a terminal and without `NO_COLOR`, or
/// memory.
#[derive(Debug, Clone, Default)]
pub struct Console {
    kept: Option<Arc<Mutex<Vec<String>>>>,
    quiet: bool,
    pub(crate) verbose: bool,
    hushed: Arc<AtomicBool>,
    pub(super) events: HostEvents,
}

impl Console {
    /// Creates a console on stderr with a line for each request and batch.
    pub fn stderr() -> Self {
        Self::default()
    }

    /// Creates a console on stderr with every line.
    pub fn verbose() -> Self {
        Self { verbose: true, ..Self::default() }
    }

    /// Creates a console without an output.
    pub fn silent() -> Self {
        Self { quiet: true, ..Self::default() }
    }

    /// Creates a console that keeps every line for [`Console::lines`].
    pub fn kept() -> Self {
        Self { kept: Some(Arc::default()), quiet: true, verbose: true, ..Self::default() }
    }

    /// Returns the lines that were kept.
    pub fn lines(&self) -> Vec<String> {
        self.kept.as_ref().map(|kept| lock(kept).clone()).unwrap_or_default()
    }

    /// Leaves out routine lines (successful invocations and the handler's own lines) while the user
    /// should read something else.
    pub(crate) fn hush(&self, hushed: bool) {
        self.hushed.store(hushed, Ordering::Relaxed);
    }

    fn is_hushed(&self) -> bool {
        self.hushed.load(Ordering::Relaxed)
    }

    pub(super) fn handler(&self, line: &str) {
        if !is_routine(line) || (self.verbose && !self.is_hushed()) {
            self.plain(&format!("handler | {line}"));
        }
    }

    /// Prints a line without a time.
    pub(crate) fn plain(&self, text: &str) {
        self.write(Style::new(), text);
    }

    pub(crate) fn heading(&self, text: &str) {
        self.write(AnsiColor::Yellow.on_default(), text);
    }

    pub(crate) fn info(&self, text: &str) {
        self.write(Style::new(), &stamped(text));
    }

    /// Prints a line that should be read, without a time.
    pub(crate) fn highlight(&self, text: &str) {
        self.write(AnsiColor::Green.on_default(), text);
    }

    pub(crate) fn success(&self, text: &str) {
        self.write(AnsiColor::Green.on_default(), &stamped(text));
    }

    pub(crate) fn warn(&self, text: &str) {
        self.write(AnsiColor::Yellow.on_default(), &stamped(text));
    }

    pub(crate) fn error(&self, text: &str) {
        self.write(AnsiColor::Red.on_default(), &stamped(text));
    }

    /// Prints the line of a request. `what` is its subject: `GET /api/feed`.
    pub(super) fn answered(&self, mut ended: EndedInvocation, status: u16) {
        ended.what = format!("{} → {status}", ended.what);
        ended.succeeded = status < 500;
        let line = format!("{} in {}", ended.what, ended.cost());
        match status {
            _ if self.is_hushed() => {}
            _ if self.verbose => self.success(&ended.as_core_tools("Succeeded")),
            ..400 => self.success(&line),
            400..500 => self.warn(&line),
            _ => self.error(&format!("{line} (Id={})", ended.id)),
        }
        self.events.send(HostEvent::Ended(ended));
    }

    /// Prints the lines of an invocation that succeeded. `what` is its subject: `2 documents`.
    pub(super) fn succeeded(&self, mut ended: EndedInvocation, answer: &InvocationAnswer) {
        ended.succeeded = true;
        ended.charge.clone_from(&answer.charge);
        let core_tools = ended.as_core_tools("Succeeded");
        let done = answer.done.as_deref();
        if let Some(done) = done.filter(|done| !done.is_empty()) {
            ended.what = format!("{}, {done}", ended.what);
        }
        match done {
            _ if self.is_hushed() => {}
            _ if self.verbose => {
                self.success(&core_tools);
                answer.logs.iter().for_each(|line| self.info(line));
            }
            Some("") => {}
            _ => self.info(&format!("{}: {} in {}", ended.function, ended.what, ended.cost())),
        }
        self.events.send(HostEvent::Ended(ended));
    }

    /// Prints the reason of a failure behind its subject.
    pub(super) fn failed(&self, mut ended: EndedInvocation, reason: &str) {
        ended.what = format!("{}{reason}", ended.what);
        self.error(&ended.as_core_tools("Failed"));
        self.events.send(HostEvent::Ended(ended));
    }

    fn write(&self, style: Style, text: &str) {
        if let Some(kept) = &self.kept {
            lock(kept).push(text.to_owned());
        }
        if !self.quiet {
            // A closed stderr is not an error.
            let _ = writeln!(anstream::stderr().lock(), "{style}{text}{style:#}");
        }
    }
}

impl EndedInvocation {
    /// Creates an invocation that ends now and has failed.
    pub(super) fn new(function: &str, id: &str, duration: Duration, what: &str) -> Self {
        Self {
            at: now(),
            function: function.to_owned(),
            id: id.to_owned(),
            succeeded: false,
            what: what.to_owned(),
            duration_ms: u64::try_from(duration.as_millis()).unwrap_or(u64::MAX),
            charge: None,
        }
    }

    fn cost(&self) -> String {
        let charge = self.charge.as_ref().map(|charge| format!(", {charge} RU"));
        format!("{} ms{}", self.duration_ms, charge.unwrap_or_default())
    }

    fn as_core_tools(&self, outcome: &str) -> String {
        let Self { function, id, duration_ms, what, .. } = self;
        format!(
            "Executed 'Functions.{function}' ({outcome}, Id={id}, Duration={duration_ms}ms) {what}"
        )
    }
}

/// Returns true for a log line of level info or below, in either format of the `custom-handler` crate.
/// A line without a level is never routine.
fn is_routine(line: &str) -> bool {
    let level = if line.starts_with('{') {
        let line: serde_json::Value = serde_json::from_str(line).unwrap_or_default();
        line["level"].as_str().map(str::to_owned)
    } else {
        let mut words = line.split_whitespace();
        let time = words.next().filter(|word| word.contains('T') && word.ends_with('Z'));
        time.and(words.next()).map(str::to_owned)
    };
    level.is_some_and(|level| ["INFO", "DEBUG", "TRACE"].contains(&level.as_str()))
}

fn stamped(text: &str) -> String {
    format!("[{}] {text}", now())
}

fn now() -> String {
    let format =
        format_description!("[year]-[month]-[day]T[hour]:[minute]:[second].[subsecond digits:3]Z");
    OffsetDateTime::now_utc().format(format).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_lines_of_a_known_level_are_routine() {
        for (line, expected) in [
            (
                "2026-11-22T13:00:00.123456Z  INFO request{method=\"GET\"}: tributary: Answered",
                true,
            ),
            ("2026-11-22T13:00:00.123456Z DEBUG tributary: more", true),
            ("{\"timestamp\":\"2026-11-22T13:00:00Z\",\"level\":\"INFO\"}", true),
            ("2026-11-22T13:00:00.123456Z  WARN tributary: a change waits", false),
            ("{\"level\":\"WARN\"}", false),
            ("{not JSON", false),
            ("INFO without a time", false),
            ("[src/blog/mod.rs:12] user = 3", false),
            ("", false),
        ] {
            assert_eq!(is_routine(line), expected, "{line}");
        }
    }

    #[test]
    fn a_console_that_is_not_verbose_has_a_line_for_each_batch_with_work() {
        let console = Console { verbose: false, ..Console::kept() };
        let duration = Duration::from_millis(7);
        let ended = |what| EndedInvocation::new("HomeFeed", "one", duration, what);
        let charge = Some("12.5".to_owned());
        console.answered(EndedInvocation { charge, ..ended("PUT /api/posts/p1") }, 201);
        console.answered(ended("GET /api/posts/p3"), 500);
        let answer = |done: Option<&str>| InvocationAnswer {
            done: done.map(str::to_owned),
            logs: vec!["a line of the answer".to_owned()],
            charge: done.map(|_| "3.0".to_owned()),
        };
        console.succeeded(ended("2 documents"), &answer(Some("1 applied")));
        console.succeeded(ended("2 documents"), &answer(Some("")));
        console.succeeded(ended("timer"), &answer(None));
        console.failed(ended("1 document"), ": the handler answered 500");
        let lines = console.lines();
        let without_times = lines.iter().map(|line| line.split_once("] ").unwrap().1);
        assert_eq!(
            without_times.collect::<Vec<_>>(),
            [
                "PUT /api/posts/p1 → 201 in 7 ms, 12.5 RU",
                "GET /api/posts/p3 → 500 in 7 ms (Id=one)",
                "HomeFeed: 2 documents, 1 applied in 7 ms, 3.0 RU",
                "HomeFeed: timer in 7 ms",
                "Executed 'Functions.HomeFeed' (Failed, Id=one, Duration=7ms) \
                 1 document: the handler answered 500",
            ]
        );
    }
}
