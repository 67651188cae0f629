//! The console: one line for a request, one for a batch, and every error.
//!
//! | line | without `-v` | with `-v` |
//! | --- | --- | --- |
//! | an HTTP request | method, path, status, time, request units | as Core Tools print it, with the invocation id |
//! | a batch or timer that succeeded | what the handler says that it did; nothing when it did nothing | as Core Tools print it |
//! | a failed request or invocation | with its invocation id and the reason | the same |
//! | the handler's lines of level info and below | left out | shown |
//! | the handler's other lines: warnings, errors, `println!` | shown | shown |

use std::io::{IsTerminal as _, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use clap::builder::styling::{AnsiColor, Style};
use indicatif::{ProgressBar, ProgressStyle};
use time::OffsetDateTime;
use time::macros::format_description;

use super::admin::{EndedInvocation, HostEvent, HostEvents};

/// The output of the host's lines: stderr, in colours only on a terminal and without `NO_COLOR`, or
/// memory.
#[derive(Debug, Clone, Default)]
pub struct Console {
    kept: Option<Arc<Mutex<Vec<String>>>>,
    quiet: bool,
    verbose: bool,
    hushed: Arc<AtomicBool>,
    events: HostEvents,
    /// The bar at the end of a terminal, above which lines are printed.
    bar: Arc<Mutex<Option<ProgressBar>>>,
}

/// A request or an invocation that has ended.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ended<'a> {
    pub(super) function: &'a str,
    /// The invocation id.
    pub(super) id: &'a str,
    pub(super) duration: Duration,
    /// The request units.
    pub(super) charge: Option<&'a str>,
    /// The trace of the caller of a request.
    pub(super) trace_parent: Option<&'a str>,
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
        self.kept
            .as_ref()
            .and_then(|kept| kept.lock().ok().map(|lines| lines.clone()))
            .unwrap_or_default()
    }

    /// Leaves out routine lines (successful invocations and the handler's own lines) while the user
    /// should read something else.
    pub fn hush(&self, hushed: bool) {
        self.hushed.store(hushed, Ordering::Relaxed);
    }

    pub(super) fn show_bar(&self, bar: Option<ProgressBar>) {
        *self.bar.lock().unwrap_or_else(PoisonError::into_inner) = bar;
    }

    pub(super) fn has_terminal(&self) -> bool {
        !self.quiet && std::io::stderr().is_terminal()
    }

    /// Returns true if every line is printed.
    pub(crate) fn is_verbose(&self) -> bool {
        self.verbose
    }

    fn is_hushed(&self) -> bool {
        self.hushed.load(Ordering::Relaxed)
    }

    /// Returns what happens, for other programs.
    pub(super) fn events(&self) -> &HostEvents {
        &self.events
    }

    /// Prints a line of the handler's stdout.
    pub(super) fn handler(&self, line: &str) {
        self.events.send(|| HostEvent::Line { text: line.to_owned() });
        if !is_routine(line) || (self.verbose && !self.is_hushed()) {
            self.plain(&format!("handler | {line}"));
        }
    }

    /// Prints a line that came with the answer to an invocation.
    pub(super) fn log(&self, line: &str) {
        if self.verbose && !self.is_hushed() {
            self.info(line);
        }
    }

    /// Prints a line without a time.
    pub fn plain(&self, text: &str) {
        self.write(Style::new(), text);
    }

    /// Prints a heading or a name.
    pub fn heading(&self, text: &str) {
        self.write(AnsiColor::Yellow.on_default(), text);
    }

    /// Prints a piece of information.
    pub fn info(&self, text: &str) {
        self.write(Style::new(), &stamped(text));
    }

    /// Prints a line that should be read, without a time.
    pub fn highlight(&self, text: &str) {
        self.write(AnsiColor::Green.on_default(), text);
    }

    /// Prints a success.
    pub fn success(&self, text: &str) {
        self.write(AnsiColor::Green.on_default(), &stamped(text));
    }

    /// Prints a warning.
    pub fn warn(&self, text: &str) {
        self.write(AnsiColor::Yellow.on_default(), &stamped(text));
    }

    /// Prints an error.
    pub fn error(&self, text: &str) {
        self.write(AnsiColor::Red.on_default(), &stamped(text));
    }

    /// Prints the line of an answered request (`GET /api/feed`).
    pub(super) fn answered(&self, ended: Ended<'_>, request: &str, status: u16) {
        let answer = format!("{request} → {status}");
        self.events.send(|| ended.event(status < 500, answer.clone()));
        if self.is_hushed() {
            return;
        }
        if self.verbose {
            return self.success(&ended.as_core_tools("Succeeded", &answer));
        }
        let line = format!("{answer} in {}", ended.cost());
        match status {
            ..400 => self.success(&line),
            400..500 => self.warn(&line),
            _ => self.error(&format!("{line} (Id={})", ended.id)),
        }
    }

    /// Prints the line of an invocation that succeeded. `what` is its subject: `2 documents`; `done` is
    /// the handler's description of its work, empty if there was none.
    pub(super) fn succeeded(&self, ended: Ended<'_>, what: &str, done: Option<&str>) {
        self.events.send(|| {
            let done = done.filter(|done| !done.is_empty());
            ended
                .event(true, done.map_or_else(|| what.to_owned(), |done| format!("{what}, {done}")))
        });
        if self.is_hushed() {
            return;
        }
        if self.verbose {
            return self.success(&ended.as_core_tools("Succeeded", what));
        }
        let function = ended.function;
        let cost = ended.cost();
        match done {
            Some("") => {}
            Some(done) => self.info(&format!("{function}: {what}, {done} in {cost}")),
            None => self.info(&format!("{function}: {what} in {cost}")),
        }
    }

    /// Prints the line of a failed request or invocation, with the reason.
    pub(super) fn failed(&self, ended: Ended<'_>, reason: &str) {
        self.events.send(|| ended.event(false, reason.to_owned()));
        self.error(&ended.as_core_tools("Failed", reason));
    }

    fn write(&self, style: Style, text: &str) {
        if let Some(kept) = &self.kept
            && let Ok(mut lines) = kept.lock()
        {
            lines.push(text.to_owned());
        }
        if self.quiet {
            return;
        }
        let bar = self.bar.lock().unwrap_or_else(PoisonError::into_inner).clone();
        // A closed stderr is not an error.
        let print = || writeln!(anstream::stderr().lock(), "{style}{text}{style:#}");
        let _ = bar.map_or_else(print, |bar| bar.suspend(print));
    }
}

impl<'a> Ended<'a> {
    /// Creates one without a charge.
    pub(super) fn new(function: &'a str, id: &'a str, duration: Duration) -> Self {
        Self { function, id, duration, charge: None, trace_parent: None }
    }

    /// Sets the charge.
    pub(super) fn charged(self, charge: Option<&'a str>) -> Self {
        Self { charge, ..self }
    }

    /// Returns time and charge.
    fn cost(self) -> String {
        let charge = self.charge.map_or_else(String::new, |charge| format!(", {charge} RU"));
        format!("{} ms{charge}", self.duration.as_millis())
    }

    fn event(self, succeeded: bool, what: String) -> HostEvent {
        HostEvent::Ended(EndedInvocation {
            at: now(),
            function: self.function.to_owned(),
            id: self.id.to_owned(),
            succeeded,
            what,
            duration_ms: u64::try_from(self.duration.as_millis()).unwrap_or(u64::MAX),
            charge: self.charge.map(str::to_owned),
            trace_parent: self.trace_parent.map(str::to_owned),
        })
    }

    fn as_core_tools(self, outcome: &str, note: &str) -> String {
        let Self { function, id, duration, .. } = self;
        let ms = duration.as_millis();
        format!("Executed 'Functions.{function}' ({outcome}, Id={id}, Duration={ms}ms) {note}")
            .trim_end()
            .to_owned()
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

/// The interval between two lines where there is no terminal.
const LINE_INTERVAL: Duration = Duration::from_secs(2);

/// A task whose steps are counted. Its drop removes the bar.
#[derive(Debug)]
pub struct TaskProgress {
    console: Console,
    name: String,
    /// It is invisible where stderr is no terminal.
    bar: ProgressBar,
    last_line: Mutex<Instant>,
}

impl TaskProgress {
    /// Begins a task of `total` steps.
    pub fn begin(console: Console, name: &str, total: usize) -> Self {
        let total = u64::try_from(total).unwrap_or(u64::MAX);
        let bar =
            if console.has_terminal() { ProgressBar::new(total) } else { ProgressBar::hidden() };
        bar.set_length(total);
        // The template is known to be right.
        if let Ok(style) =
            ProgressStyle::with_template("{prefix} [{bar:30.green}] {pos} of {len} {msg}")
        {
            bar.set_style(style.progress_chars("=> "));
        }
        bar.set_prefix(name.to_owned());
        console.show_bar(Some(bar.clone()));
        Self { console, name: name.to_owned(), bar, last_line: Mutex::new(Instant::now()) }
    }

    /// Counts one step.
    pub fn advance(&self) {
        self.bar.inc(1);
        let mut last_line = self.last_line.lock().unwrap_or_else(PoisonError::into_inner);
        if self.bar.is_hidden() && last_line.elapsed() >= LINE_INTERVAL {
            *last_line = Instant::now();
            let total = self.bar.length().unwrap_or_default();
            self.console.info(&format!("{}: {} of {total}", self.name, self.bar.position()));
        }
    }

    /// Says what the task does now.
    pub fn say(&self, text: &str) {
        self.bar.set_message(text.to_owned());
        if self.bar.is_hidden() {
            self.console.info(&format!("{}: {text}", self.name));
        }
    }
}

impl Drop for TaskProgress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
        self.console.show_bar(None);
    }
}
#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_lines_of_a_known_level_are_routine() {
        for routine in [
            "2026-11-22T13:00:00.123456Z  INFO request{method=\"GET\"}: tributary: Answered",
            "2026-11-22T13:00:00.123456Z DEBUG tributary: more",
            "{\"timestamp\":\"2026-11-22T13:00:00Z\",\"level\":\"INFO\",\"message\":\"Answered\"}",
        ] {
            assert!(is_routine(routine), "{routine}");
        }
        for shown in [
            "2026-11-22T13:00:00.123456Z  WARN tributary: a change waits",
            "2026-11-22T13:00:00.123456Z ERROR tributary: it failed",
            "{\"level\":\"WARN\"}",
            "{not JSON",
            "INFO without a time",
            "[src/blog/mod.rs:12] user = 3",
            "",
        ] {
            assert!(!is_routine(shown), "{shown}");
        }
    }

    #[test]
    fn a_console_that_is_not_verbose_has_a_line_for_each_batch_with_work() {
        let console = Console { verbose: false, ..Console::kept() };
        let duration = Duration::from_millis(7);
        let ended = Ended::new("HomeFeed", "one", duration);
        console.answered(ended.charged(Some("12.5")), "PUT /api/posts/p1", 201);
        console.answered(ended, "GET /api/posts/p2", 404);
        console.answered(ended, "GET /api/posts/p3", 500);
        console.succeeded(ended.charged(Some("3.0")), "2 documents", Some("1 applied"));
        console.succeeded(ended, "2 documents", Some(""));
        console.succeeded(ended, "timer", None);
        console.failed(ended, "1 document: the handler answered 500");
        console.handler("2026-11-22T13:00:00.123456Z  INFO tributary: Answered a request");
        console.handler("2026-11-22T13:00:00.123456Z  WARN tributary: a change waits");
        console.log("a line of the answer");
        let lines = console.lines();
        let without_times: Vec<_> = lines
            .iter()
            .map(|line| line.split_once("] ").map_or(&**line, |(_, text)| text))
            .collect();
        assert_eq!(
            without_times,
            [
                "PUT /api/posts/p1 → 201 in 7 ms, 12.5 RU",
                "GET /api/posts/p2 → 404 in 7 ms",
                "GET /api/posts/p3 → 500 in 7 ms (Id=one)",
                "HomeFeed: 2 documents, 1 applied in 7 ms, 3.0 RU",
                "HomeFeed: timer in 7 ms",
                "Executed 'Functions.HomeFeed' (Failed, Id=one, Duration=7ms) \
                 1 document: the handler answered 500",
                "handler | 2026-11-22T13:00:00.123456Z  WARN tributary: a change waits",
            ]
        );
    }
}
