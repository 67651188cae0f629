//! Tables as they stand in `docs/performance.md`.

use std::time::Duration;

/// A table with a sentence before it.
pub(super) struct Table {
    about: &'static str,
    head: Vec<&'static str>,
    rows: Vec<Vec<String>>,
}

/// What changes have cost.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Cost {
    pub(super) requests: f64,
    pub(super) request_units: f64,
}

impl Table {
    pub(super) fn new(about: &'static str, head: &[&'static str]) -> Self {
        Self { about, head: head.to_vec(), rows: Vec::new() }
    }

    pub(super) fn row(&mut self, row: Vec<String>) {
        eprintln!("{}", row.join(" | "));
        self.rows.push(row);
    }

    pub(super) fn measured(
        &mut self,
        what: &str,
        projection: &str,
        changes: usize,
        took: Duration,
        cost: Cost,
    ) {
        let each = |total: f64| format!("{:.2}", total / number(changes.max(1)));
        self.row(vec![
            what.to_owned(),
            projection.to_owned(),
            changes.to_string(),
            rate(changes, took),
            each(cost.requests),
            each(cost.request_units),
        ]);
    }

    pub(super) fn print(&self) {
        println!("{}\n", self.about);
        println!("| {} |", self.head.join(" | "));
        // Numbers stand to the right.
        let is_number = |column: usize| {
            self.rows.iter().all(|row| row[column].starts_with(|c: char| c.is_ascii_digit()))
        };
        let rule = |column| if is_number(column) { "---:" } else { "---" };
        let rules: Vec<_> = (0..self.head.len()).map(rule).collect();
        println!("| {} |", rules.join(" | "));
        for row in &self.rows {
            println!("| {} |", row.join(" | "));
        }
        println!();
    }
}

/// How many a second.
pub(super) fn rate(changes: usize, took: Duration) -> String {
    format!("{:.0}", number(changes) / took.as_secs_f64())
}

pub(super) fn number(count: usize) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "far fewer than 2^53")]
    let number = count as f64;
    number
}
