//! The tables: the cost of each request, beside the article's figures; and its growth with the data.

use std::fmt::Write as _;

use tributary_tools::Table;

use super::{
    super::{
        measure::BlogRow,
        request::{BlogRequest, ModelVersion},
        seed::published,
    },
    BlogMeasurements, BlogReport,
};
use crate::report::columns::{MEASURED, Quantity, number, physical_partitions};

/// The quantities that may grow with the data, with their heads.
pub(super) const GROWING: [(&str, Quantity); 3] = [
    ("store requests", |row| Some(row.store_requests)),
    ("physical partitions", physical_partitions),
    ("request units", |row| Some(row.request_units)),
];

/// Returns the tables for a terminal.
pub(super) fn text(report: &BlogReport) -> String {
    let mut text = String::new();
    if report.is_sweep() {
        for size in &report.sizes {
            let _ = writeln!(text, "{}", size.in_words());
        }
        let _ = write!(text, "\n{}", growth(report).text());
    } else {
        for size in &report.sizes {
            let _ = write!(text, "{}\n\n{}", size.in_words(), requests(size).text());
        }
    }
    let _ = write!(text, "\n{}", notes(report));
    text
}

/// Returns the same as Markdown, with the command and the machine.
pub(super) fn markdown(report: &BlogReport) -> String {
    let mut text = format!("```sh\n{}\n```\n\n{}.\n", report.command, report.machine.in_words());
    if report.is_sweep() {
        for size in &report.sizes {
            let _ = write!(text, "\n- {}", size.in_words());
        }
        let _ = write!(text, "\n\n{}", growth(report));
    } else {
        for size in &report.sizes {
            let _ = write!(text, "\n{}:\n\n{}", size.in_words(), requests(size));
        }
    }
    text
}

/// Returns the remarks on the columns.
pub(super) fn notes(report: &BlogReport) -> String {
    let mut notes = String::from(
        "Means over RUNS; RATIO is ours to the seed article's; a fan-out touches the logical \
         partitions of all posts.\n",
    );
    if report.sizes.iter().any(|size| size.physical_partitions.is_some()) {
        notes.push_str("Request units are modelled, latencies are the local endpoint's.\n");
    }
    if report.has_throttled() {
        notes.push_str("The store has throttled some requests: their latencies are longer.\n");
    }
    notes
}

/// Returns the cost of each request.
pub(super) fn requests(size: &BlogMeasurements) -> Table {
    let mut heads = vec!["REQUEST", "MODEL"];
    heads.extend(MEASURED.iter().map(|(head, _)| *head));
    heads.extend(["RU", "SEED RU", "RATIO", "P50 MS", "P99 MS", "SEED MS", "RUNS"]);
    let mut table = Table::new(heads);
    size.rows_in_order().map(cells).for_each(|cells| table.row(cells));
    table
}

fn cells(row: &BlogRow) -> Vec<String> {
    let published = published(row.request)[row.model as usize];
    let mut cells = vec![row.request.to_string(), row.model.to_string()];
    let row = &row.measured;
    cells.extend(MEASURED.iter().map(|(_, of)| number(of(row))));
    cells.extend([
        format!("{:.2}", row.request_units),
        format!("{:.2}", published.request_units),
        format!("{:.2}", row.request_units / published.request_units),
        format!("{:.2}", row.p50_ms),
        format!("{:.2}", row.p99_ms),
        format!("{:.0}", published.latency_ms),
        row.runs.to_string(),
    ]);
    cells
}

/// Returns the cost of each request by the number of users.
pub(super) fn growth(report: &BlogReport) -> Table {
    let mut heads = vec!["REQUEST".to_owned(), "MODEL".to_owned()];
    for (head, _) in GROWING {
        let sizes = report.sizes.iter().enumerate();
        heads.extend(sizes.map(|(n, size)| match n {
            0 => format!("{} {}", head.to_uppercase(), size.users),
            _ => size.users.to_string(),
        }));
    }
    heads.push("RU GROW ×".to_owned());
    let mut table = Table::new(heads);
    for (request, model) in pairs() {
        let measured = |size: &BlogMeasurements| Some(size.row(request, model)?.measured.clone());
        let at: Option<Vec<_>> = report.sizes.iter().map(measured).collect();
        let Some(at) = at else { continue };
        let mut cells = vec![request.to_string(), model.to_string()];
        for (head, of) in GROWING {
            cells.extend(at.iter().map(|row| match head {
                "request units" => format!("{:.2}", row.request_units),
                _ => number(of(row)),
            }));
        }
        if let [first, .., last] = at.as_slice() {
            cells.push(format!("{:.2}", last.request_units / first.request_units));
        }
        table.row(cells);
    }
    table
}

impl BlogMeasurements {
    fn rows_in_order(&self) -> impl Iterator<Item = &BlogRow> {
        pairs().filter_map(|(request, model)| self.row(request, model))
    }
}

fn pairs() -> impl Iterator<Item = (BlogRequest, ModelVersion)> {
    BlogRequest::ALL.into_iter().flat_map(|request| ModelVersion::ALL.map(|model| (request, model)))
}
