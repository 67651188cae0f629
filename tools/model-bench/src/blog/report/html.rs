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
    super::{
        request::{BlogRequest, ModelVersion},
        seed::{Published, published},
    },
    BlogMeasurements, BlogReport,
    tables::{self, GROWING},
};
use crate::{measure::RequestMeans, report::columns::Quantity};

const TITLE: &str = "Three data models of a blog";

const KEY: [(&str, &str); 3] = [
    (CLASSES[0], "V1: nothing twice"),
    (CLASSES[1], "V2: counts and names denormalized"),
    (CLASSES[2], "V3: posts in three containers (this product)"),
];

/// A quantity with a figure in the article.
struct Compared {
    unit: &'static str,
    ours: fn(&RequestMeans) -> f64,
    theirs: fn(&Published) -> f64,
}

const REQUEST_UNITS: Compared = Compared {
    unit: "request units",
    ours: |row| row.request_units,
    theirs: |published| published.request_units,
};

const LATENCY: Compared =
    Compared { unit: "ms", ours: |row| row.p50_ms, theirs: |published| published.latency_ms };

/// Returns the whole page.
pub(super) fn page(report: &BlogReport) -> String {
    let mut body = format!(
        "<h1>{TITLE}</h1>\n<p>Ten requests on each model of Microsoft's \
         article “How to model and partition data on Azure Cosmos DB using a real-world \
         example”, beside the article's own figures.</p>\n<p><code>{}</code><br>{}</p>\n<p>{}</p>\n{}",
        escape(&report.command),
        escape(&report.machine.in_words()),
        escape(&tables::notes(report)),
        page::key(&KEY),
    );
    if report.is_sweep() {
        body.push_str("<h2>What grows with the data</h2>\n");
        for (what, of) in GROWING.iter().rev() {
            let _ = write!(body, "<h3>{}</h3>\n<div class=\"plots\">\n", escape(what));
            for request in BlogRequest::ALL {
                body.push_str(&growth(report, request, *of));
            }
            body.push_str("</div>\n");
        }
        body.push_str(&wide(&tables::growth(report)));
    }
    for size in report.sizes.iter().rev() {
        let _ = writeln!(body, "<h2>{}</h2>", escape(&size.in_words()));
        // Charts of each size of a sweep would repeat these.
        if !report.is_sweep() {
            body.push_str(
                "<h3>Request units, logarithmic; the stroke is the article's figure</h3>\n",
            );
            body.push_str(&compared(size, &REQUEST_UNITS));
            body.push_str(
                "<h3>Median latency in ms, logarithmic; the stroke is the article's figure</h3>\n",
            );
            body.push_str(&compared(size, &LATENCY));
        }
        body.push_str(&wide(&tables::requests(size)));
    }
    page::page(TITLE, &body)
}

/// Returns bars of all requests and models beside the article's figures.
fn compared(size: &BlogMeasurements, compared: &Compared) -> String {
    let bar = |request: BlogRequest, model: ModelVersion| {
        let row = size.row(request, model)?;
        let theirs = (compared.theirs)(&published(request)[model as usize]);
        Some(ChartBar {
            class: CLASSES[model as usize],
            label: model.to_string(),
            value: (compared.ours)(&row.measured),
            published: Some((theirs, theirs)),
        })
    };
    let groups = BlogRequest::ALL.map(|request| BarGroup {
        title: format!("{request} {}", request.title()),
        bars: ModelVersion::ALL.into_iter().filter_map(|model| bar(request, model)).collect(),
    });
    bars(compared.unit, &groups)
}

/// Returns a chart of a quantity of a request by the number of users.
fn growth(report: &BlogReport, request: BlogRequest, of: Quantity) -> String {
    let all = ModelVersion::ALL.map(|model| ChartLine {
        class: CLASSES[model as usize],
        label: model.to_string(),
        points: report
            .sizes
            .iter()
            .filter_map(|size| {
                Some((f64::from(size.users), of(&size.row(request, model)?.measured)?))
            })
            .collect(),
    });
    lines(&format!("{request} {}", request.title()), "users", &all)
}
