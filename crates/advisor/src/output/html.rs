//! Advice as one HTML file.

mod calculator;

use std::fmt::Write as _;

use tributary_tools::{
    escape,
    html::{
        charts::{BarGroup, ChartBar, ChartLine, bars, lines},
        page::{self, CLASSES, wide},
    },
};

use super::{
    heat::{heat_map, named},
    tables, text,
};
use crate::{
    advice::{Advice, RankedCandidate},
    report::{CandidateReport, Distribution, Severity},
    sketch::float,
    words::whole,
};

/// The number of candidates in the charts, a colour each.
const MAX_DRAWN_CANDIDATES: usize = CLASSES.len() - 1;

/// Returns the page: no script, font or image from elsewhere.
pub fn html(advice: &Advice) -> String {
    let drawn = &advice.ranked[..advice.ranked.len().min(MAX_DRAWN_CANDIDATES)];
    let mut body = String::new();
    let title = match advice.ranked.first() {
        Some(best) => format!("Partition key: {}", best.report.estimates.strategy),
        None => "Partition key".to_owned(),
    };
    let items = float(advice.items);
    let megabytes = float(advice.bytes) / 1e6;
    let _ = write!(
        body,
        "<h1>{}</h1>\n<p>{} items of the sample, {megabytes:.1} MB. Request units are estimated.</p>\n",
        escape(&title),
        whole(items)
    );
    list(&mut body, &advice.why);
    calculator::calculator(&mut body, advice, drawn);
    body.push_str("<h2>The candidates</h2>\n");
    body.push_str(&wide(&tables::matrix(advice)));
    let _ = writeln!(body, "<p>{}</p>", tables::order(advice));
    loads(&mut body, advice);
    distributions(&mut body, drawn);
    fan_out(&mut body, drawn);
    for standing in drawn {
        candidate(&mut body, standing);
    }
    alternatives(&mut body, advice);
    unique(&mut body, advice);
    definition(&mut body, advice);
    change(&mut body, advice);
    body.push_str("<h2>What the data cannot tell</h2>\n");
    list(&mut body, &advice.unknown);
    let _ = writeln!(body, "<script>\n{}</script>", include_str!("html/page.js"));
    page::styled_page(&title, include_str!("html/page.css"), &body)
}

fn key(drawn: &[RankedCandidate]) -> String {
    let names: Vec<_> =
        drawn.iter().map(|standing| standing.report.estimates.strategy.to_string()).collect();
    let names: Vec<_> = CLASSES.into_iter().zip(names.iter().map(String::as_str)).collect();
    page::key(&names)
}

/// A function from a report to one of its distributions.
type DistributionOf = fn(&CandidateReport) -> Option<&Distribution>;

fn distributions(body: &mut String, drawn: &[RankedCandidate]) {
    body.push_str(
        "<h2>Distribution</h2>\n<p>The share that the smallest partitions have together: of an even \
         distribution a straight line, of a skewed one a line that rises only at the end.</p>\n",
    );
    body.push_str(&key(drawn));
    body.push_str("<div class=\"plots\">\n");
    let of: [(&str, DistributionOf); 3] = [
        ("% of the items", |report| Some(&report.estimates.by_items)),
        ("% of the bytes", |report| Some(&report.estimates.by_bytes)),
        ("% of the request units", |report| report.estimates.by_request_units.as_ref()),
    ];
    for (title, distribution) in of {
        let curves: Vec<ChartLine> = drawn
            .iter()
            .zip(CLASSES)
            .filter_map(|(standing, class)| {
                let curve = &distribution(&standing.report)?.curve;
                let points = curve.iter().map(|(x, y)| (x * 100.0, y * 100.0)).collect();
                Some(ChartLine {
                    class,
                    label: standing.report.estimates.strategy.to_string(),
                    points,
                })
            })
            .collect();
        if !curves.is_empty() {
            body.push_str(&lines(title, "% of the partitions", &curves));
        }
    }
    body.push_str("</div>\n");
}

fn fan_out(body: &mut String, drawn: &[RankedCandidate]) {
    let Some(best) = drawn.first().filter(|best| !best.report.estimates.requests.is_empty()) else {
        return;
    };
    body.push_str(
        "<h2>Fan-out of each kind of request</h2>\n<p>Store requests that begin in a physical partition, \
         on average. One is the best that there is.</p>\n",
    );
    body.push_str(&key(drawn));
    let groups: Vec<BarGroup> = best
        .report
        .estimates
        .requests
        .iter()
        .enumerate()
        .map(|(n, request)| BarGroup {
            title: request.kind.clone(),
            bars: drawn
                .iter()
                .zip(CLASSES)
                .filter_map(|(standing, class)| {
                    let request = standing.report.estimates.requests.get(n)?;
                    Some(ChartBar {
                        class,
                        label: standing.report.estimates.strategy.to_string(),
                        value: request.physical_partitions,
                        published: None,
                    })
                })
                .collect(),
        })
        .collect();
    body.push_str(&chart(&bars("partitions", &groups)));
}

fn candidate(body: &mut String, standing: &RankedCandidate) {
    let report = &standing.report;
    let _ = writeln!(
        body,
        "<h2>{}. <code>{}</code></h2>",
        standing.place,
        escape(&report.estimates.strategy.to_string())
    );
    findings(body, report);
    if !report.estimates.requests.is_empty() {
        body.push_str(&wide(&tables::requests(&report.estimates)));
    }
    if let Some(hotness) =
        report.estimates.hotness.as_ref().filter(|hotness| !hotness.heat.is_empty())
    {
        let _ = writeln!(
            body,
            "<h3>Writes over time</h3>\n<p>The partitions with the most writes, and their share of the writes \
             of each time: the stronger the colour, the larger. All pale is good. In the busiest {} ({}), {:.0} % went to {}.</p>",
            window(hotness.window_seconds),
            escape(&hotness.busiest),
            hotness.share * 100.0,
            escape(named(&hotness.key))
        );
        body.push_str(&chart(&heat_map(hotness)));
    }
}

/// Returns a chart that may be wider than the page.
fn chart(svg: &str) -> String {
    format!("<div class=\"chart\">\n{svg}</div>\n")
}

/// Writes the findings, each with its severity as a word in its colour.
fn findings(body: &mut String, report: &CandidateReport) {
    if report.findings.is_empty() {
        body.push_str("<p><span class=\"badge fine\">Fine</span> Nothing was found.</p>\n");
        return;
    }
    body.push_str("<ul class=\"findings\">\n");
    for finding in &report.findings {
        let (class, word) = match finding.severity {
            Severity::Warning => ("bad", "Warning"),
            Severity::Notice => ("near", "Notice"),
        };
        let _ = writeln!(
            body,
            "<li><span class=\"badge {class}\">{word}</span> <b>{}</b> {} <span class=\"source\">{}</span></li>",
            finding.code,
            with_code(&finding.sentence),
            escape(&finding.source.replace("https://", ""))
        );
    }
    body.push_str("</ul>\n");
}

fn loads(body: &mut String, advice: &Advice) {
    let lines = text::load(advice);
    if !lines.is_empty() {
        body.push_str("<h2>Load</h2>\n");
        list(body, &lines);
    }
}

fn unique(body: &mut String, advice: &Advice) {
    if !advice.unique.is_empty() {
        body.push_str("<h2>Unique values</h2>\n");
        list(body, &advice.unique.iter().map(|one| one.sentence.clone()).collect::<Vec<_>>());
    }
}

fn change(body: &mut String, advice: &Advice) {
    let Some(change) = &advice.change else { return };
    let title = format!("To change the key from {} to {}", change.from, change.to);
    let _ = writeln!(body, "<h2>{}</h2>", escape(&title));
    for (title, lines) in text::parts_of_runbook(change) {
        let _ = writeln!(body, "<h3>{title}</h3>");
        listed(body, "ol", lines);
    }
}

fn window(seconds: u32) -> &'static str {
    match seconds {
        0..=60 => "minute",
        61..=3_600 => "hour",
        _ => "day",
    }
}

fn alternatives(body: &mut String, advice: &Advice) {
    if advice.alternatives.is_empty() {
        return;
    }
    body.push_str("<h2>Instead of another key: a second copy</h2>\n");
    body.push_str(&wide(&tables::alternatives(&advice.alternatives)));
    list(body, &advice.alternatives.iter().map(text::sentence).collect::<Vec<_>>());
}

fn definition(body: &mut String, advice: &Advice) {
    let entry = advice.container.entry.json();
    let _ = write!(body, "<h2>The container</h2>\n<pre>{}</pre>\n", escape(&entry));
    for computed in &advice.container.computed {
        let _ = writeln!(
            body,
            "<p>The app stores <code>{}</code> in each item, made of <code>{}</code>.</p>",
            escape(&computed.path),
            escape(&computed.made_of)
        );
    }
    let queries = advice.container.queries.iter();
    let queries: Vec<_> = queries.map(|query| format!("{}: {}", query.kind, query.text)).collect();
    if !queries.is_empty() {
        body.push_str("<h3>Its queries, written so that these indexes serve them</h3>\n");
        list(body, &queries);
    }
    let _ = writeln!(
        body,
        "<details><summary>As Bicep</summary><pre>{}</pre></details>",
        escape(&advice.container.bicep)
    );
}

fn list(body: &mut String, lines: &[String]) {
    listed(body, "ul", lines);
}

fn listed(body: &mut String, tag: &str, lines: &[String]) {
    if lines.is_empty() {
        return;
    }
    let _ = writeln!(body, "<{tag}>");
    for line in lines {
        // Addresses are text here, so that a check finds no link out of the page.
        let line = line.replace("https://", "");
        let _ = writeln!(body, "<li>{}</li>", with_code(&line));
    }
    let _ = writeln!(body, "</{tag}>");
}

/// Returns a text as HTML, with code between backticks.
fn with_code(text: &str) -> String {
    let mut parts = text.split('`').map(escape);
    let mut html = parts.next().unwrap_or_default();
    while let (Some(code), after) = (parts.next(), parts.next()) {
        let _ = match after {
            Some(after) => write!(html, "<code>{code}</code>{after}"),
            None => write!(html, "`{code}"),
        };
    }
    html
}
