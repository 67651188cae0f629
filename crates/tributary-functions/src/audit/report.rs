//! The report of the command `audit`: a table for people, JSON lines for programs.

use std::{
    fmt::Write as _,
    io::{self, Write},
    time::{Duration, Instant},
};

use super::{AuditSummary, Finding, Listener};

/// The interval between two reports of the progress.
const PROGRESS_INTERVAL: Duration = Duration::from_secs(5);

/// The format of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReportFormat {
    /// An aligned table.
    Plain,
    /// The same for a terminal that shows colours.
    Colours,
    /// One JSON object a line.
    Json,
}

/// Writes findings as they come, and keeps none.
pub(super) struct Report<O, E> {
    out: O,
    err: E,
    format: ReportFormat,
    begin: Instant,
    last_progress: Instant,
    write_error: Option<io::Error>,
}

impl<O: Write + Send, E: Write + Send> Report<O, E> {
    pub(super) fn new(out: O, err: E, format: ReportFormat) -> Self {
        let now = Instant::now();
        Self { out, err, format, begin: now, last_progress: now, write_error: None }
    }

    /// Writes the summary. An error means that the report is not complete.
    pub(super) fn end(mut self, summary: &AuditSummary) -> io::Result<()> {
        if let Some(error) = self.write_error.take() {
            return Err(error);
        }
        match self.format {
            ReportFormat::Json => {
                let line = serde_json::json!({"summary": summary});
                writeln!(self.out, "{line}")?;
            }
            ReportFormat::Plain | ReportFormat::Colours => {
                writeln!(self.out, "{}", summary_line(summary))?;
            }
        }
        self.out.flush()
    }
}

impl<O: Write + Send, E: Write + Send> Listener for Report<O, E> {
    fn findings(&mut self, findings: &[Finding]) {
        let text = match self.format {
            ReportFormat::Json => json_lines(findings),
            ReportFormat::Plain => table(findings, false),
            ReportFormat::Colours => table(findings, true),
        };
        if let Err(error) = self.out.write_all(text.as_bytes()) {
            self.write_error.get_or_insert(error);
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "a rate needs no 53 bits")]
    fn progress(&mut self, items: u64) {
        if self.last_progress.elapsed() < PROGRESS_INTERVAL {
            return;
        }
        self.last_progress = Instant::now();
        let rate = items as f64 / self.begin.elapsed().as_secs_f64();
        // A closed stderr is not an error.
        let _ = writeln!(self.err, "{items} items read, {rate:.0} a second");
    }
}

/// Returns the summary as one line.
pub(super) fn summary_line(summary: &AuditSummary) -> String {
    let AuditSummary { items, findings, repaired, unsettled, request_units, duration_ms, .. } =
        summary;
    let mut line = match findings {
        0 => "No divergences".to_owned(),
        1 => "1 divergence".to_owned(),
        _ => format!("{findings} divergences"),
    };
    if *repaired > 0 {
        let _ = write!(line, ", {repaired} repaired");
    }
    if *unsettled > 0 {
        let _ = write!(line, ", {unsettled} suspects that kept changing");
    }
    let seconds = Duration::from_millis(*duration_ms).as_secs_f64();
    let _ = write!(
        line,
        " in {items} items; {request_units:.2} request units, {} store requests, {seconds:.1} s",
        summary.store_requests
    );
    line
}

fn json_lines(findings: &[Finding]) -> String {
    findings.iter().filter_map(|finding| serde_json::to_string(finding).ok()).fold(
        String::new(),
        |mut text, line| {
            text.push_str(&line);
            text.push('\n');
            text
        },
    )
}

const COLUMNS: [&str; 7] =
    ["KIND", "CONTAINER", "PARTITION KEY", "ID", "EXPECTED", "FOUND", "REPAIR"];

/// Returns the findings as an aligned table. The column of repairs is left out if there are none.
fn table(findings: &[Finding], colours: bool) -> String {
    let rows: Vec<[String; 7]> = findings.iter().map(row).collect();
    let repairs = findings.iter().any(|finding| finding.repair.is_some());
    let columns = if repairs { COLUMNS.len() } else { COLUMNS.len() - 1 };
    let width = |column: usize| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        cells.chain([COLUMNS[column].len()]).max().unwrap_or_default()
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut text = line(&COLUMNS.map(str::to_owned), &widths, if colours { BOLD } else { "" });
    for (row, finding) in rows.iter().zip(findings) {
        let repaired = finding.repair.as_ref().is_some_and(|repair| repair.repaired);
        let colour = match (colours, repaired) {
            (false, _) => "",
            (true, true) => GREEN,
            (true, false) => RED,
        };
        text.push_str(&line(row, &widths, colour));
    }
    text
}

const BOLD: &str = "\u{1b}[1m";
const GREEN: &str = "\u{1b}[32m";
const RED: &str = "\u{1b}[31m";
const PLAIN: &str = "\u{1b}[0m";

/// Returns a line of the table, its first cell in a colour if one is given.
fn line(cells: &[String; 7], widths: &[usize], colour: &str) -> String {
    let mut text = String::new();
    for (column, (cell, width)) in cells.iter().zip(widths).enumerate() {
        match (column, colour.is_empty()) {
            (0, false) => {
                let _ = write!(text, "{colour}{cell:width$}{PLAIN}  ");
            }
            _ => {
                let _ = write!(text, "{cell:width$}  ");
            }
        }
    }
    text.truncate(text.trim_end().len());
    text.push('\n');
    text
}

fn row(finding: &Finding) -> [String; 7] {
    let repair = finding.repair.as_ref().map_or_else(String::new, |repair| {
        if repair.repaired { repair.what.clone() } else { format!("not repaired: {}", repair.what) }
    });
    let Finding { kind, container, partition_key, id, expected, found, .. } = finding;
    let cells = [kind.name, container, partition_key, id, expected, found, &repair];
    cells.map(printable)
}

/// Replaces control characters, which a terminal would obey: the id of a broken item may have them.
fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::{FindingKind, Repair};

    fn findings() -> Vec<Finding> {
        let finding = |kind, id: &str, repair| Finding {
            kind,
            container: "rooms",
            partition_key: "p1".into(),
            id: id.into(),
            expected: "2 bookings, 0 votes".into(),
            found: "no\u{1b}[31m".into(),
            repair,
        };
        let repaired = Repair { repaired: true, what: "wrote the counts".into() };
        vec![
            finding(FindingKind::COUNT_DIFFERS, "p1", Some(repaired)),
            finding(FindingKind::ORPHAN, "a longer id", None),
        ]
    }

    #[test]
    fn a_table_is_aligned_and_harmless() {
        let text = table(&findings(), false);
        assert_eq!(
            text,
            "KIND           CONTAINER  PARTITION KEY  ID           EXPECTED             FOUND    REPAIR\n\
             count-differs  rooms      p1             p1           2 bookings, 0 votes  no\u{fffd}[31m  wrote the counts\n\
             orphan         rooms      p1             a longer id  2 bookings, 0 votes  no\u{fffd}[31m\n"
        );
    }

    #[test]
    fn colours_change_nothing_but_colours() {
        let text = table(&findings(), true);
        assert!(text.contains(GREEN) && text.contains(RED), "{text:?}");
        let plain =
            [BOLD, GREEN, RED, PLAIN].iter().fold(text, |text, code| text.replace(code, ""));
        assert_eq!(plain, table(&findings(), false));
    }

    #[test]
    fn a_report_to_a_closed_pipe_is_a_failure() {
        struct Closed;
        impl Write for Closed {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(io::ErrorKind::BrokenPipe.into())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let mut report = Report::new(Closed, Vec::new(), ReportFormat::Json);
        report.findings(&findings());
        assert!(report.end(&AuditSummary::default()).is_err());
    }

    #[test]
    fn progress_is_told_now_and_then() {
        let mut said = Vec::new();
        let mut report = Report::new(Vec::new(), &mut said, ReportFormat::Plain);
        report.progress(100);
        report.last_progress = Instant::now().checked_sub(PROGRESS_INTERVAL).unwrap();
        report.progress(200);
        report.progress(300);
        drop(report);
        let said = String::from_utf8(said).unwrap();
        assert_eq!(said.lines().count(), 1, "{said}");
        assert!(said.starts_with("200 items read, "), "{said}");
    }
}
