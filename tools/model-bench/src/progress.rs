//! The progress of a run: a line that rewrites itself on a terminal, else a line now and then.

use std::{
    io::{IsTerminal, Write, stderr},
    time::{Duration, Instant},
};

const TERMINAL_INTERVAL: Duration = Duration::from_millis(100);
const LOG_INTERVAL: Duration = Duration::from_secs(5);

/// The progress of one piece of work, on standard error.
#[derive(Debug)]
pub(crate) struct ProgressLine {
    what: String,
    done: u64,
    total: u64,
    told: Instant,
    /// True if the line is rewritten.
    is_terminal: bool,
}

impl ProgressLine {
    /// Begins a piece of work of `total` steps.
    pub(crate) fn new(what: String, total: u64) -> Self {
        let is_terminal = stderr().is_terminal();
        Self { what, done: 0, total, told: Instant::now(), is_terminal }
    }

    /// Adds steps that are done.
    pub(crate) fn add(&mut self, done: u64) {
        self.done += done;
        let pause = if self.is_terminal { TERMINAL_INTERVAL } else { LOG_INTERVAL };
        if self.told.elapsed() < pause {
            return;
        }
        self.told = Instant::now();
        let line = format!("{}: {} of {}", self.what, self.done, self.total);
        // A closed stderr is not an error.
        let _ = if self.is_terminal {
            write!(stderr(), "\r\u{1b}[K{line}").and_then(|()| stderr().flush())
        } else {
            writeln!(stderr(), "{line}")
        };
    }
}

impl Drop for ProgressLine {
    fn drop(&mut self) {
        if self.is_terminal {
            let _ = write!(stderr(), "\r\u{1b}[K");
        }
    }
}
