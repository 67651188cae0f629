//! The report as one HTML file.

use std::fmt::Write as _;

use tributary_tools::{
    escape,
    html::{
        charts::{BarGroup, ChartBar, ChartLine, bars, lines},
        page::{self, CLASSES, wide},
    },
};

use super::{
    super::{architecture::Architecture, shape::RequestShape},
    FeedsMeasurements, FeedsReport,
    tables::{self, GROWING},
};
use crate::{measure::RequestMeans, report::columns::Quantity};

const TITLE: &str = "Four architectures for news feeds";

/// Returns the whole page.
pub(super) fn page(report: &FeedsReport) -> String {
    let key = Architecture::ALL.map(|one| (class(one), one.title()));
    let mut body = format!(
        "<h1>{TITLE}</h1>\n<p>The query shapes of the partitioning guide and the writes in each of \
         its architectures, beside its estimates.</p>\n<p><code>{}</code><br>{}</p>\n<p>{}</p>\n{}",
        escape(&report.command),
        escape(&report.machine.in_words()),
        escape(tables::NOTES),
        page::key(&key),
    );
    for size in report.sizes.iter().rev() {
        let _ = writeln!(body, "<h2>{}</h2>", escape(&size.in_words()));
        body.push_str(
            "<h3>Request units, logarithmic; the strokes are the guide's estimate</h3>\n",
        );
        body.push_str(&chart(size, "request units", |row| row.request_units, true));
        body.push_str("<h3>Store requests, logarithmic</h3>\n");
        body.push_str(&chart(size, "store requests", |row| row.store_requests, false));
        for (head, table) in tables::tables(size) {
            let _ = writeln!(body, "<h3>{}</h3>", escape(head));
            body.push_str(&wide(&table));
        }
    }
    if report.sizes.len() > 1 {
        body.push_str("<h2>What grows with the data</h2>\n");
        for (what, of) in GROWING.iter().rev() {
            let _ = write!(body, "<h3>{}</h3>\n<div class=\"plots\">\n", escape(what));
            for shape in RequestShape::ALL {
                body.push_str(&growth(report, shape, *of));
            }
            body.push_str("</div>\n");
        }
        body.push_str(&wide(&tables::growth(report)));
    }
    page::page(TITLE, &body)
}

fn chart(
    size: &FeedsMeasurements,
    unit: &str,
    of: fn(&RequestMeans) -> f64,
    compared: bool,
) -> String {
    let bar = |shape: RequestShape, architecture: Architecture| {
        let published = shape.published().filter(|_| compared);
        Some(ChartBar {
            class: class(architecture),
            label: architecture.name().to_owned(),
            value: of(size.row(shape, architecture)?),
            published: published.map(|published| (published.from, published.to)),
        })
    };
    let groups = RequestShape::ALL.map(|shape| BarGroup {
        title: shape.title().to_owned(),
        bars: size.architectures().filter_map(|architecture| bar(shape, architecture)).collect(),
    });
    bars(unit, &groups)
}

fn growth(report: &FeedsReport, shape: RequestShape, of: Quantity) -> String {
    let all = Architecture::ALL.map(|architecture| ChartLine {
        class: class(architecture),
        label: architecture.name().to_owned(),
        points: report
            .sizes
            .iter()
            .filter_map(|size| Some((f64::from(size.months), of(size.row(shape, architecture)?)?)))
            .collect(),
    });
    lines(shape.title(), "months", &all)
}

fn class(architecture: Architecture) -> &'static str {
    CLASSES[architecture as usize]
}
