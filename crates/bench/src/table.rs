//! Tables in Markdown, as they stand in `docs/performance.md`.

use std::{fmt, time::Duration};

/// A table; columns of numbers stand to the right.
pub(crate) struct Table {
    columns: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table without rows.
    pub(crate) fn new(columns: &[&str]) -> Self {
        Self { columns: columns.iter().copied().map(str::to_owned).collect(), rows: Vec::new() }
    }

    /// Adds a row: as many cells as there are columns.
    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_number = |cell: &str| cell == NONE || cell.starts_with(|c: char| c.is_ascii_digit());
        let numbers = |column: usize| self.rows.iter().all(|row| is_number(&row[column]));
        let rule = |column| if numbers(column) { "---:" } else { "---" };
        let rules: Vec<_> = (0..self.columns.len()).map(rule).collect();
        writeln!(f, "| {} |", self.columns.join(" | "))?;
        writeln!(f, "| {} |", rules.join(" | "))?;
        self.rows.iter().try_for_each(|row| writeln!(f, "| {} |", row.join(" | ")))
    }
}

/// What stands for a number that there is not.
const NONE: &str = "-";

/// A number for each of so many, with so many decimals.
pub(crate) fn each(total: f64, count: usize, decimals: usize) -> String {
    if count == 0 { NONE.into() } else { format!("{:.decimals$}", total / number(count)) }
}

/// How many a second.
pub(crate) fn rate(count: usize, took: Duration) -> String {
    format!("{:.0}", number(count) / took.as_secs_f64())
}

/// A count to reckon with.
#[expect(clippy::cast_precision_loss, reason = "far fewer than 2^53")]
pub(crate) fn number(count: usize) -> f64 {
    count as f64
}

/// Milliseconds with two decimals.
pub(crate) fn milliseconds(duration: Duration) -> String {
    format!("{:.2}", duration.as_secs_f64() * 1_000.0)
}

/// MiB with one decimal.
pub(crate) fn mebibytes(kibibytes: u64) -> String {
    let tenths = (kibibytes * 10).div_ceil(1_024);
    format!("{}.{}", tenths / 10, tenths % 10)
}

/// A whole number with commas.
pub(crate) fn thousands(number: usize) -> String {
    let digits = number.to_string();
    let groups = digits.as_bytes().rchunks(3).rev().map(String::from_utf8_lossy);
    groups.collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_markdown_with_its_numbers_to_the_right() {
        let mut table = Table::new(&["what", "n", "ms"]);
        table.row([
            "reads".into(),
            thousands(1_234_567),
            milliseconds(Duration::from_micros(1_500)),
        ]);
        let text = "| what | n | ms |\n| --- | ---: | ---: |\n| reads | 1,234,567 | 1.50 |\n";
        assert_eq!(table.to_string(), text);
        table.row(["writes".into(), "none".into(), each(1.0, 0, 2)]);
        assert!(table.to_string().contains("| --- | --- | ---: |"), "{table}");
    }

    #[test]
    fn numbers_are_written_for_people() {
        assert_eq!([0, 999, 1_000, 1_000_000].map(thousands), ["0", "999", "1,000", "1,000,000"]);
        assert_eq!(
            (each(5.0, 4, 2), rate(3, Duration::from_millis(500))),
            ("1.25".into(), "6".into())
        );
        assert_eq!([0, 1, 1_024, 20_480].map(mebibytes), ["0.0", "0.1", "1.0", "20.0"]);
    }
}
