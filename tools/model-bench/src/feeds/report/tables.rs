//! The tables: the guide's one with our numbers, the cost of each request, of the writes and of the
//! containers, and the growth with the data.

use std::fmt::Write as _;

use tributary_tools::{Table, figures::NONE};

use super::{
    super::{architecture::Architecture, shape::RequestShape},
    FeedsMeasurements, FeedsReport,
};
use crate::report::columns::{MEASURED, Quantity, logical_partitions, number, physical_partitions};

/// The quantities that may grow with the data, with their heads.
pub(super) const GROWING: [(&str, Quantity); 3] = [
    ("store requests", |row| Some(row.store_requests)),
    ("physical partitions", physical_partitions),
    ("request units", |row| Some(row.request_units)),
];

/// The steps of a migration, in order.
const STEPS: [&str; 5] = ["find", "copy", "verify", "flag", "expire"];

/// Returns the tables of a size, each with its head.
pub(super) fn tables(size: &FeedsMeasurements) -> Vec<(&'static str, Table)> {
    let mut tables = vec![
        ("The guide's table", guide(size)),
        ("Each shape", shapes(size)),
        ("Containers", containers(size)),
        ("Writes, request units of an item", writes(size)),
    ];
    if !size.migrations.is_empty() {
        tables.push(("When a migration pays", break_even(size)));
    }
    tables
}

/// Returns the tables for a terminal.
pub(super) fn text(report: &FeedsReport) -> String {
    let mut text = String::new();
    for size in &report.sizes {
        let _ = writeln!(text, "{}\n", size.in_words());
        for (head, table) in tables(size) {
            let _ = write!(text, "{head}\n\n{}\n", table.text());
        }
    }
    if report.sizes.len() > 1 {
        let _ = write!(text, "What grows\n\n{}\n", growth(report).text());
    }
    text + NOTES
}

/// Returns the same as Markdown, with the command and the machine.
pub(super) fn markdown(report: &FeedsReport) -> String {
    let mut text = format!("```sh\n{}\n```\n\n{}.\n", report.command, report.machine.in_words());
    for size in &report.sizes {
        let _ = write!(text, "\n### {}\n", size.in_words());
        for (head, table) in tables(size) {
            let _ = write!(text, "\n#### {head}\n\n{table}");
        }
    }
    if report.sizes.len() > 1 {
        let _ = write!(text, "\n### What grows\n\n{}", growth(report));
    }
    text
}

/// The remarks on the columns.
pub(super) const NOTES: &str = "Means over RUNS. A query without a partition key touches all logical partitions of its \
     container. Request units are modelled, latencies are the local endpoint's.\n";

/// Returns the guide's table "Performance characteristics": logical and physical partitions and the
/// charge in each architecture.
fn guide(size: &FeedsMeasurements) -> Table {
    let mut heads =
        ["PATTERN", "SHAPE", "GUIDE PARTITIONS", "GUIDE RU"].map(str::to_owned).to_vec();
    heads.extend(size.architectures().map(|architecture| architecture.name().to_uppercase()));
    let mut table = Table::new(heads);
    for shape in RequestShape::ALL {
        let Some(published) = shape.published() else { continue };
        let guide =
            [published.pattern, shape.title(), published.partitions, published.request_units];
        let mut cells = guide.map(str::to_owned).to_vec();
        cells.extend(size.architectures().map(|architecture| {
            size.row(shape, architecture).map_or_else(
                || NONE.to_owned(),
                |row| {
                    format!(
                        "{} / {}: {:.1}",
                        number(logical_partitions(row)),
                        number(physical_partitions(row)),
                        row.request_units
                    )
                },
            )
        }));
        table.row(cells);
    }
    table
}

/// Returns the cost of each request.
fn shapes(size: &FeedsMeasurements) -> Table {
    let mut heads = vec!["SHAPE", "ARCHITECTURE"];
    heads.extend(MEASURED.iter().map(|(head, _)| *head));
    heads.extend(["RU", "P50 MS", "P99 MS", "RUNS"]);
    let mut table = Table::new(heads);
    for (shape, architecture) in pairs(size) {
        let Some(row) = size.row(shape, architecture) else { continue };
        let mut cells = vec![shape.title().to_owned(), architecture.name().to_owned()];
        cells.extend(MEASURED.iter().map(|(head, of)| match (*head, of(row)) {
            // Shares of a request that has many items.
            ("BYTES SENT" | "RECEIVED", value) => number(value),
            (_, Some(value)) if value > 0.0 && value < 1.0 => format!("{value:.3}"),
            (_, value) => number(value),
        }));
        cells.extend([
            format!("{:.2}", row.request_units),
            format!("{:.2}", row.p50_ms),
            format!("{:.2}", row.p99_ms),
            row.runs.to_string(),
        ]);
        table.row(cells);
    }
    table
}

fn containers(size: &FeedsMeasurements) -> Table {
    let mut table = Table::new([
        "ARCHITECTURE",
        "CONTAINER",
        "ITEMS",
        "LOGICAL PARTITIONS",
        "PHYSICAL",
        "LEAST DOLLARS_OF_100_RU_HOURS A MONTH",
    ]);
    for capacity in &size.capacities {
        let all = capacity.containers.len();
        for (n, container) in capacity.containers.iter().enumerate() {
            let dollars = match n {
                0 => format!("{:.2} for {all}", capacity.least_dollars_a_month),
                _ => NONE.to_owned(),
            };
            table.row([
                capacity.architecture.name().to_owned(),
                container.id.clone(),
                container.items.to_string(),
                container.logical_partitions.to_string(),
                container.physical_partitions.to_string(),
                dollars,
            ]);
        }
    }
    table
}

/// Returns the cost of an item until it reaches its last container.
fn writes(size: &FeedsMeasurements) -> Table {
    let mut heads = vec!["ARCHITECTURE", "POST", "POST AGAIN", "BULK"];
    let steps = STEPS.map(str::to_uppercase);
    heads.extend(steps.iter().map(String::as_str));
    heads.extend(["MIGRATION", "POST AND MIGRATION"]);
    let mut table = Table::new(heads);
    for architecture in size.architectures() {
        let of = |shape| size.row(shape, architecture).map(|row| row.request_units);
        let mut cells = vec![architecture.name().to_owned()];
        cells.extend(
            [RequestShape::Post, RequestShape::Repost, RequestShape::Bulk]
                .map(|shape| units(of(shape))),
        );
        let migration = size.migrations.iter().find(|(one, _)| *one == architecture);
        let steps = migration.map(|(_, steps)| steps);
        cells.extend(STEPS.map(|step| units(steps.and_then(|steps| steps.get(step).copied()))));
        let migrate = of(RequestShape::Migrate);
        cells.push(units(migrate));
        cells.push(units(of(RequestShape::Post).map(|post| post + migrate.unwrap_or(0.0))));
        table.row(cells);
    }
    table
}

/// Returns the number of queries of a shape that an item must get, on average, until a migration has
/// cost less than it saves against one collection with the same keys.
fn break_even(size: &FeedsMeasurements) -> Table {
    let mut table = Table::new([
        "SHAPE",
        "ARCHITECTURE",
        "RU IN ONE COLLECTION",
        "RU HERE",
        "SAVED",
        "QUERIES PER ITEM POSTED",
    ]);
    for (shape, architecture) in pairs(size) {
        let Some(one) = architecture.without_migration() else { continue };
        let units_of = |shape, of| size.row(shape, of).map(|row| row.request_units);
        let (Some(here), Some(there)) = (units_of(shape, architecture), units_of(shape, one))
        else {
            continue;
        };
        let Some(migration) = units_of(RequestShape::Migrate, architecture) else { continue };
        if shape.published().is_none() && shape != RequestShape::Item {
            continue;
        }
        // Adding zero removes the sign of a negative zero.
        let saved = ((there - here) * 100.0).round() / 100.0 + 0.0;
        let queries =
            if saved > 0.05 { format!("{:.2}", migration / saved) } else { "never".into() };
        table.row([
            shape.title().to_owned(),
            architecture.name().to_owned(),
            format!("{there:.2}"),
            format!("{here:.2}"),
            format!("{saved:.2}"),
            queries,
        ]);
    }
    table
}

/// Returns the cost of each request by the months.
pub(super) fn growth(report: &FeedsReport) -> Table {
    let mut heads = vec!["SHAPE".to_owned(), "ARCHITECTURE".to_owned()];
    for (head, _) in GROWING {
        heads.extend(report.sizes.iter().enumerate().map(|(n, size)| match n {
            0 => format!("{} {}", head.to_uppercase(), size.months),
            _ => size.months.to_string(),
        }));
    }
    heads.push("RU GROW ×".to_owned());
    let mut table = Table::new(heads);
    let Some(first) = report.sizes.first() else { return table };
    for (shape, architecture) in pairs(first) {
        let at: Option<Vec<_>> =
            report.sizes.iter().map(|size| size.row(shape, architecture)).collect();
        let Some(at) = at else { continue };
        let mut cells = vec![shape.title().to_owned(), architecture.name().to_owned()];
        for (head, of) in GROWING {
            cells.extend(at.iter().map(|row| match of(row) {
                Some(value) if head == "request units" || value < 1.0 => format!("{value:.2}"),
                value => number(value),
            }));
        }
        if let [first, .., last] = at.as_slice() {
            cells.push(format!("{:.2}", last.request_units / first.request_units));
        }
        table.row(cells);
    }
    table
}

fn pairs(size: &FeedsMeasurements) -> impl Iterator<Item = (RequestShape, Architecture)> {
    let architectures: Vec<_> = size.architectures().collect();
    RequestShape::ALL.into_iter().flat_map(move |shape| {
        architectures.clone().into_iter().map(move |architecture| (shape, architecture))
    })
}

fn units(value: Option<f64>) -> String {
    value.map_or_else(|| NONE.to_owned(), |value| format!("{value:.2}"))
}
