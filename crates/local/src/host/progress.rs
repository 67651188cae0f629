//! The progress of a task of several seconds: a bar on a terminal, a line now and then elsewhere.

use std::{
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use indicatif::{ProgressBar, ProgressStyle};

use super::console::Console;

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
