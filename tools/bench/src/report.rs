//! Figures and tables of measurements.

use std::{
    fmt::{self, Write as _},
    time::Duration,
};

pub(crate) struct Sorted(Vec<Duration>);

impl Sorted {
    pub(crate) fn new(times: impl IntoIterator<Item = Duration>) -> Self {
        let mut times: Vec<_> = times.into_iter().collect();
        times.sort_unstable();
        Self(times)
    }

    pub(crate) fn percentile(&self, percent: usize) -> Duration {
        let rank = (percent * self.0.len()).div_ceil(100);
        self.0.get(rank.saturating_sub(1)).copied().unwrap_or_default()
    }
}

#[expect(clippy::cast_precision_loss, reason = "far fewer than 2^53")]
pub(crate) fn number(count: usize) -> f64 {
    count as f64
}

pub(crate) fn each(total: f64, count: usize) -> String {
    if count == 0 { "-".to_owned() } else { format!("{:.2}", total / number(count)) }
}

pub(crate) fn rate(count: usize, took: Duration) -> String {
    format!("{:.0}", number(count) / took.as_secs_f64())
}

pub(crate) fn milliseconds(duration: Duration) -> String {
    format!("{:.2}", duration.as_secs_f64() * 1_000.0)
}

pub(crate) fn mebibytes(kibibytes: usize) -> String {
    let tenths = (kibibytes * 10).div_ceil(1_024);
    format!("{}.{}", tenths / 10, tenths % 10)
}

/// A table in Markdown, for the documents. Columns of numbers are aligned to the right, which the tables of
/// `comfy-table` and `tabled` in Markdown are not.
#[derive(Debug)]
pub(crate) struct Table {
    heads: Vec<&'static str>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// Creates a table with heads such as `request | RU`.
    pub(crate) fn new(heads: &'static str) -> Self {
        Self { heads: heads.split(" | ").collect(), rows: Vec::new() }
    }

    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_number =
            |cell: &String| cell == "-" || cell.starts_with(|c: char| c.is_ascii_digit());
        let mut rules = String::new();
        for column in 0..self.heads.len() {
            let are_numbers = self.rows.iter().all(|row| row.get(column).is_some_and(is_number));
            rules.write_str(if are_numbers { " ---: |" } else { " --- |" })?;
        }
        writeln!(f, "| {} |\n|{rules}", self.heads.join(" | "))?;
        self.rows.iter().try_for_each(|row| writeln!(f, "| {} |", row.join(" | ")))
    }
}
