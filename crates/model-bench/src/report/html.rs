//! The report as one HTML file: no script, no font, no image from elsewhere.

use std::fmt::Write as _;

use tributary_tools::escape;

use super::{
    Report,
    charts::{self, Compared},
    tables::{self, GROWING},
};
use crate::request::Request;

const STYLE: &str = "\
:root{color-scheme:light dark;--back:#fff;--text:#1b1f24;--soft:#667;--grid:#dde;\
--v1:#c8455a;--v2:#b98410;--v3:#22789c}\
@media(prefers-color-scheme:dark){:root{--back:#15181c;--text:#e4e7eb;--soft:#99a;--grid:#333a42;\
--v1:#ef7c8e;--v2:#e0b04b;--v3:#5cb8de}}\
body{background:var(--back);color:var(--text);font:15px/1.5 system-ui,sans-serif;\
max-width:1100px;margin:2rem auto;padding:0 1rem}\
code{font-family:ui-monospace,monospace;font-size:13px}\
svg{max-width:100%;height:auto}svg text{fill:var(--text);font:12px system-ui,sans-serif}\
svg .value{fill:var(--soft);font-size:10px}\
.grid{stroke:var(--grid)}.seed{stroke:var(--text);stroke-width:2}\
rect.v1,circle.v1{fill:var(--v1)}rect.v2,circle.v2{fill:var(--v2)}\
rect.v3,circle.v3{fill:var(--v3)}polyline{fill:none;stroke-width:2}\
polyline.v1{stroke:var(--v1)}polyline.v2{stroke:var(--v2)}polyline.v3{stroke:var(--v3)}\
.key span{margin-right:1.5rem}.key .v1{color:var(--v1)}.key .v2{color:var(--v2)}\
.key .v3{color:var(--v3)}.plots{display:flex;flex-wrap:wrap;gap:12px}\
.wide{overflow-x:auto}table{border-collapse:collapse;font-size:13px;\
font-variant-numeric:tabular-nums}th,td{padding:2px 8px;text-align:right;\
border-bottom:1px solid var(--grid)}th{font-size:11px;color:var(--soft)}\
th:nth-child(-n+2),td:nth-child(-n+2){text-align:left}";

const KEY: &str = "<p class=\"key\"><span class=\"v1\">■ V1: nothing twice</span>\
<span class=\"v2\">■ V2: counts and names denormalized</span>\
<span class=\"v3\">■ V3: posts in three containers (this product)</span></p>\n";

const REQUEST_UNITS: Compared = Compared {
    unit: "request units",
    ours: |row| row.request_units,
    theirs: |published| published.request_units,
};

const LATENCY: Compared =
    Compared { unit: "ms", ours: |row| row.p50_ms, theirs: |published| published.latency_ms };

/// The whole page.
pub(super) fn page(report: &Report) -> String {
    let mut body = format!(
        "<h1>Three data models of a blog</h1>\n<p>Ten requests on each model of Microsoft's \
         article “How to model and partition data on Azure Cosmos DB using a real-world \
         example”, beside the article's own figures.</p>\n<p><code>{}</code><br>{}</p>\n<p>{}</p>\n{KEY}",
        escape(&report.command),
        escape(&report.machine.in_words()),
        escape(&tables::notes(report)),
    );
    if report.is_sweep() {
        body.push_str("<h2>What grows with the data</h2>\n");
        for (what, of) in GROWING.iter().rev() {
            let _ = write!(body, "<h3>{}</h3>\n<div class=\"plots\">\n", escape(what));
            for request in Request::ALL {
                body.push_str(&charts::lines(report, request, *of));
            }
            body.push_str("</div>\n");
        }
        wide(&mut body, &tables::growth(report).html());
    }
    for size in report.sizes.iter().rev() {
        let _ = writeln!(body, "<h2>{}</h2>", escape(&size.in_words()));
        // Charts of each size of a sweep would say the same again.
        if !report.is_sweep() {
            body.push_str(
                "<h3>Request units, logarithmic; the stroke is the article's figure</h3>\n",
            );
            body.push_str(&charts::bars(size, &REQUEST_UNITS));
            body.push_str(
                "<h3>Median latency in ms, logarithmic; the stroke is the article's figure</h3>\n",
            );
            body.push_str(&charts::bars(size, &LATENCY));
        }
        wide(&mut body, &tables::requests(size).html());
    }
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width\">\
         <title>Three data models of a blog</title><style>{STYLE}</style></head>\n\
         <body>\n{body}</body>\n</html>\n"
    )
}

fn wide(body: &mut String, table: &str) {
    let _ = writeln!(body, "<div class=\"wide\">\n{table}</div>");
}
