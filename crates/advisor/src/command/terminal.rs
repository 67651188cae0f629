//! What is printed: results on stdout, progress on stderr.

use std::io::{self, IsTerminal, Write, stderr};

use crate::output::{self, Section};
use anyhow::Context;
use serde::Serialize;

/// Prints an answer, as JSON or as text.
pub(super) fn print(
    answer: &impl Serialize,
    sections: &[Section],
    as_json: bool,
) -> anyhow::Result<()> {
    let text =
        if as_json { serde_json::to_string_pretty(answer)? + "\n" } else { output::text(sections) };
    match anstream::stdout().lock().write_all(text.as_bytes()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(error).context("the result cannot be printed")
        }
        _ => Ok(()),
    }
}

/// A line of progress on a terminal, which is cleared at the end. A closed stderr is not an error.
pub(super) struct Progress {
    is_shown: bool,
}

impl Default for Progress {
    fn default() -> Self {
        Self { is_shown: stderr().is_terminal() }
    }
}

impl Progress {
    pub(super) fn show(&self, text: &str) {
        if self.is_shown {
            let _ = write!(stderr(), "\r{text} ");
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.show("\x1b[K");
    }
}
