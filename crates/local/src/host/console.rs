//! The lines that Core Tools prints.

use std::io::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use clap::builder::styling::{AnsiColor, Style};
use time::OffsetDateTime;
use time::macros::format_description;

/// Where the host's lines go: to stderr, in colours only on a terminal and without `NO_COLOR`, or
/// into memory.
#[derive(Debug, Clone, Default)]
pub struct Console {
    kept: Option<Arc<Mutex<Vec<String>>>>,
    quiet: bool,
    hushed: Arc<AtomicBool>,
}

impl Console {
    /// Lines go to stderr.
    pub fn stderr() -> Self {
        Self::default()
    }

    /// Lines go nowhere.
    pub fn silent() -> Self {
        Self { quiet: true, ..Self::default() }
    }

    /// Lines are kept for [`Console::lines`].
    pub fn kept() -> Self {
        Self { kept: Some(Arc::default()), quiet: true, hushed: Arc::default() }
    }

    /// The lines that were kept.
    pub fn lines(&self) -> Vec<String> {
        self.kept
            .as_ref()
            .and_then(|kept| kept.lock().ok().map(|lines| lines.clone()))
            .unwrap_or_default()
    }

    /// Leaves out what is routine, successful invocations and the handler's own lines, for as
    /// long as something else is to be read.
    pub fn hush(&self, hushed: bool) {
        self.hushed.store(hushed, Ordering::Relaxed);
    }

    /// A line of the handler's stdout.
    pub(super) fn handler(&self, line: &str) {
        if !self.hushed.load(Ordering::Relaxed) {
            self.plain(&format!("handler | {line}"));
        }
    }

    /// A line that came with the answer to an invocation.
    pub(super) fn log(&self, line: &str) {
        if !self.hushed.load(Ordering::Relaxed) {
            self.info(line);
        }
    }

    /// A line without a time.
    pub fn plain(&self, text: &str) {
        self.write(Style::new(), text);
    }

    /// A heading or a name.
    pub fn heading(&self, text: &str) {
        self.write(AnsiColor::Yellow.on_default(), text);
    }

    /// Something that went on.
    pub fn info(&self, text: &str) {
        self.write(Style::new(), &stamped(text));
    }

    /// Something that was done.
    pub fn success(&self, text: &str) {
        self.write(AnsiColor::Green.on_default(), &stamped(text));
    }

    /// Something to look at.
    pub fn warn(&self, text: &str) {
        self.write(AnsiColor::Yellow.on_default(), &stamped(text));
    }

    /// Something that failed.
    pub fn error(&self, text: &str) {
        self.write(AnsiColor::Red.on_default(), &stamped(text));
    }

    /// One line for an invocation that ended; `note` is what else there is to say.
    pub fn executed(&self, function: &str, ok: bool, id: &str, duration: Duration, note: &str) {
        let outcome = if ok { "Succeeded" } else { "Failed" };
        let space = if note.is_empty() { "" } else { " " };
        let text = format!(
            "Executed 'Functions.{function}' ({outcome}, Id={id}, Duration={}ms){space}{note}",
            duration.as_millis()
        );
        if !ok {
            self.error(&text);
        } else if !self.hushed.load(Ordering::Relaxed) {
            self.success(&text);
        }
    }

    fn write(&self, style: Style, text: &str) {
        if let Some(kept) = &self.kept
            && let Ok(mut lines) = kept.lock()
        {
            lines.push(text.to_owned());
        }
        if !self.quiet {
            // Nothing can be done when stderr is closed.
            let _ = writeln!(anstream::stderr().lock(), "{style}{text}{style:#}");
        }
    }
}

fn stamped(text: &str) -> String {
    let format =
        format_description!("[year]-[month]-[day]T[hour]:[minute]:[second].[subsecond digits:3]Z");
    let now = OffsetDateTime::now_utc().format(format).unwrap_or_default();
    format!("[{now}] {text}")
}
