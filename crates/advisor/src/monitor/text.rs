//! The metrics as text: a page, or a line.

use std::fmt::{self, Write as _};

use tributary_tools::Table;

use super::{ContainerScan, PartitionMetrics};
use crate::{report::Severity, words::percent};

impl fmt::Display for PartitionMetrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let key = self.partition_key.join(", ");
        writeln!(f, "{}/{}, partition key {key}, {}\n", self.database, self.container, self.at)?;
        writeln!(f, "{}", self.scan)?;
        self.sizes(f)?;
        self.requests(f)?;
        let mut sentences = String::new();
        for finding in &self.findings {
            let word = match finding.severity {
                Severity::Warning => "warning",
                Severity::Notice => "notice",
            };
            writeln!(
                sentences,
                "- {word} {}: {} ({})",
                finding.code, finding.sentence, finding.source
            )?;
        }
        if sentences.is_empty() {
            sentences.push_str("- nothing\n");
        }
        write!(f, "\nFound:\n{sentences}")?;
        if !self.unknown.is_empty() {
            writeln!(f, "\nNot known:")?;
        }
        self.unknown.iter().try_for_each(|sentence| writeln!(f, "- {sentence}"))
    }
}

impl PartitionMetrics {
    fn sizes(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = self.items.estimates.cardinality;
        let (about, keys) = match count.exact {
            _ if self.sees_some_keys() => ("at least ", count.low.floor()),
            true => ("", count.value),
            false => ("about ", count.value),
        };
        writeln!(
            f,
            "{about}{:.0} logical partitions, {} on average; Gini {:.2} of the items, {:.2} of the bytes\n",
            keys,
            bytes(self.average_partition_size),
            self.skew.items,
            self.skew.bytes,
        )?;
        let mut table = Table::new(["largest partitions", "size"]);
        for size in &self.largest_partitions {
            let source = if size.is_of_the_store { " (the store)" } else { "" };
            table.row([shortened(&size.key), bytes(size.bytes) + source]);
        }
        writeln!(f, "{table}")
    }

    fn requests(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(telemetry) = &self.telemetry else { return Ok(()) };
        let time = [&telemetry.from, &telemetry.to].map(|time| time.as_deref().unwrap_or("?"));
        writeln!(
            f,
            "Requests from {} to {}: {:.0} request units, {} throttled",
            time[0], time[1], telemetry.request_units, telemetry.throttled,
        )?;
        if let Some(gini) = self.skew.request_units {
            writeln!(f, "Gini {gini:.2} of the request units")?;
        }
        if let Some(rate) = self.cross_partition_query_rate {
            writeln!(
                f,
                "{} of {} queries go to several partitions",
                percent(rate),
                telemetry.queries
            )?;
        }
        let mut table = Table::new(["hottest partitions", "request units", "share"]);
        for hot in &self.hot_partitions {
            table.row([
                shortened(hot.label()),
                format!("{:.2}", hot.request_units),
                percent(hot.share),
            ]);
        }
        writeln!(f, "\n{table}")
    }

    /// Returns the most important figures, for logs.
    pub fn line(&self) -> String {
        let mut line = format!(
            "{} {}: {} items{}, {:.0} partitions, Gini {:.2}",
            self.at,
            self.container,
            self.scan.items,
            if self.scan.is_complete { "" } else { " of a part" },
            self.items.estimates.cardinality.value,
            self.skew.items,
        );
        // Writing to a text cannot fail.
        if let Some(large) = self.largest_partitions.first() {
            let _ = write!(line, ", largest {} {}", shortened(&large.key), bytes(large.bytes));
        }
        if let Some(hot) = self.hot_partitions.first() {
            let _ = write!(line, ", hottest {} {}", shortened(hot.label()), percent(hot.share));
        }
        if let Some(rate) = self.cross_partition_query_rate {
            let _ = write!(line, ", cross-partition queries {}", percent(rate));
        }
        let _ = write!(line, "; {:.2} RU", self.scan.request_units);
        for finding in &self.findings {
            let _ = write!(line, "; {}", finding.code);
        }
        line
    }
}

impl fmt::Display for ContainerScan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        #[expect(clippy::cast_precision_loss, reason = "shown to two digits")]
        let read = bytes(self.bytes as f64);
        write!(
            f,
            "{} items ({read}) of {} physical partitions read{}: {:.2} request units, {} requests",
            self.items,
            self.physical_partitions,
            if self.is_complete { "" } else { ", not all of them" },
            self.request_units,
            self.requests,
        )
    }
}

fn bytes(number: f64) -> String {
    const UNITS: [(f64, &str); 3] = [(1e9, "GB"), (1e6, "MB"), (1e3, "KB")];
    let unit = UNITS.into_iter().find(|(size, _)| number >= *size);
    unit.map_or(format!("{number:.0} B"), |(size, unit)| format!("{:.1} {unit}", number / size))
}

/// Returns a key that fits into a column and is no control sequence of a terminal.
fn shortened(key: &str) -> String {
    const MAX_KEY_CHARACTERS: usize = 60;
    let printable = key.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c });
    let text: String = printable.take(MAX_KEY_CHARACTERS).collect();
    if key.chars().count() > MAX_KEY_CHARACTERS { text + "…" } else { text }
}
