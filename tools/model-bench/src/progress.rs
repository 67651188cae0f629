//! How far it is: a line that rewrites itself on a terminal, else a line now and then.

use std::{
    io::{IsTerminal, Write, stderr},
    time::{Duration, Instant},
};

const ON_A_TERMINAL: Duration = Duration::from_millis(100);
const ELSEWHERE: Duration = Duration::from_secs(5);

/// The progress of one piece of work, on standard error.
#[derive(Debug)]
pub(crate) struct Progress {
    what: String,
    done: u64,
    total: u64,
    told: Instant,
    /// Whether it is to be rewritten.
    is_terminal: bool,
}

impl Progress {
    /// Begins; `total` is how much there is to do.
    pub(crate) fn new(what: String, total: u64) -> Self {
        let is_terminal = stderr().is_terminal();
        Self { what, done: 0, total, told: Instant::now(), is_terminal }
    }

    /// So much more is done.
    pub(crate) fn add(&mut self, done: u64) {
        self.done += done;
        let pause = if self.is_terminal { ON_A_TERMINAL } else { ELSEWHERE };
        if self.told.elapsed() < pause {
            return;
        }
        self.told = Instant::now();
        let line = format!("{}: {} of {}", self.what, self.done, self.total);
        // Who cannot hear it does not miss it.
        let _ = if self.is_terminal {
            write!(stderr(), "\r\u{1b}[K{line}").and_then(|()| stderr().flush())
        } else {
            writeln!(stderr(), "{line}")
        };
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.is_terminal {
            let _ = write!(stderr(), "\r\u{1b}[K");
        }
    }
}
