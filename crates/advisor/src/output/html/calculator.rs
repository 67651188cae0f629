//! The sliders of the page: size, growth and requests. The page computes costs and limits again from them.
//!
//! The page has no report for another size, so it computes by a simpler model from the reports at the given
//! size:
//!
//! 1. The shares of the logical partitions stay, so sizes grow in proportion to the container.
//! 2. The number of physical partitions follows from the size and the peak, unless it was given.
//! 3. A request that goes to all physical partitions begins in each; the items that it loads stay.
//!
//! With all sliders in the middle, the numbers are those of the reports. This module and `page.js` compute the
//! same.

use std::fmt::Write as _;

use serde::Serialize;
use tributary_tools::escape;

use crate::{
    advice::{Advice, RankedCandidate},
    checks::MAX_CROSS_PARTITION_SHARE,
    limits::{GB, PARTITION_BYTES, PARTITION_REQUEST_UNITS, SECONDS_OF_A_DAY},
    report::{CandidateReport, NamedLevels},
    words::{about, percent, whole},
};

/// The share of a limit from which on it is near.
const NEAR_LIMIT_SHARE: f64 = 0.75;

/// The input of the page's computation.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct CalculatorData<'a> {
    /// Items of the container.
    size: f64,
    /// New items a day.
    growth: f64,
    /// Requests a day.
    requests: f64,
    bytes_per_day: f64,
    given_partitions: bool,
    candidates: Vec<CalculatorCandidate<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct CalculatorCandidate<'a> {
    bytes: f64,
    partitions: f64,
    peak: f64,
    largest_share: f64,
    busiest_share: f64,
    ends_with_period: bool,
    requests: Vec<CalculatorRequest>,
    #[serde(skip)]
    report: &'a CandidateReport,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct CalculatorRequest {
    per_day: f64,
    units: f64,
    /// The part of the units that is paid in each physical partition.
    starts: f64,
    fans_out: bool,
}

/// The distance to a limit.
#[derive(Clone, Copy)]
struct LimitState {
    class: &'static str,
    word: &'static str,
}

impl<'a> CalculatorCandidate<'a> {
    fn new(report: &'a CandidateReport) -> Self {
        let growth = &report.estimates.growth;
        let share = report.estimates.by_bytes.largest;
        let request = |request: &crate::report::RequestEstimates| CalculatorRequest {
            per_day: request.per_day.unwrap_or_default(),
            units: request.request_units,
            starts: request.request_units_of_starts,
            fans_out: request.names == NamedLevels::No
                && request.physical_partitions >= report.estimates.physical_partitions,
        };
        Self {
            bytes: if share > 0.0 { growth.largest_bytes / share } else { 0.0 },
            partitions: report.estimates.physical_partitions,
            peak: report.estimates.hotness.as_ref().map_or(1.0, |hot| hot.peak_over_mean.max(1.0)),
            largest_share: share,
            busiest_share: report
                .estimates
                .by_request_units
                .as_ref()
                .map_or(0.0, |load| load.largest),
            ends_with_period: growth.ends_with_period,
            requests: report.estimates.requests.iter().map(request).collect(),
            report,
        }
    }

    fn per_second(&self) -> f64 {
        self.report.estimates.request_units_per_day.value / SECONDS_OF_A_DAY
    }

    fn largest(&self) -> f64 {
        self.report.estimates.growth.largest_bytes
    }

    /// Returns the bytes of the largest logical partition after a year of growth.
    fn in_a_year(&self, bytes_per_day: f64) -> f64 {
        let grown =
            if self.ends_with_period { 0.0 } else { bytes_per_day * 365.0 * self.largest_share };
        self.largest() + grown
    }

    fn busiest(&self) -> f64 {
        self.per_second() * self.busiest_share * self.peak
    }
}

impl LimitState {
    fn from_share(share: f64) -> Self {
        match share {
            _ if share >= 1.0 => Self { class: "bad", word: "over" },
            _ if share >= NEAR_LIMIT_SHARE => Self { class: "near", word: "near" },
            _ => Self { class: "fine", word: "fine" },
        }
    }
}

/// Writes the gauges of the first candidate, the sliders, and the table of all candidates in the charts.
pub(super) fn calculator(body: &mut String, advice: &Advice, drawn: &[RankedCandidate]) {
    let candidates: Vec<_> =
        drawn.iter().map(|one| CalculatorCandidate::new(&one.report)).collect();
    let Some(best) = candidates.first() else { return };
    let per_day = best.report.estimates.growth.items_per_day.unwrap_or_default();
    let item = best.report.estimates.by_bytes.mean
        / best.report.estimates.by_items.mean.max(f64::MIN_POSITIVE);
    let bytes_per_day = per_day * item;
    let n_requests: f64 = best.requests.iter().map(|request| request.per_day).sum();
    body.push_str("<h2>Limits</h2>\n<div class=\"gauges\">\n");
    let gigabytes = |bytes: f64, limit: f64| format!("{:.1} of {:.0} GB", bytes / GB, limit / GB);
    let in_a_year = best.in_a_year(bytes_per_day);
    gauge(
        body,
        "largest",
        "The largest logical partition",
        best.largest() / PARTITION_BYTES,
        &gigabytes(best.largest(), PARTITION_BYTES),
    );
    gauge(
        body,
        "year",
        "The same in a year",
        in_a_year / PARTITION_BYTES,
        &gigabytes(in_a_year, PARTITION_BYTES),
    );
    let busiest = format!("{} of {} RU/s", about(best.busiest()), whole(PARTITION_REQUEST_UNITS));
    gauge(
        body,
        "busiest",
        "The busiest logical partition at its peak",
        best.busiest() / PARTITION_REQUEST_UNITS,
        &busiest,
    );
    if let Some(share) = best.report.estimates.cross_partition {
        let text = format!("{} of {}", percent(share), percent(MAX_CROSS_PARTITION_SHARE));
        let title = "Queries that visit all partitions, of those that are many";
        gauge(body, "fan-out", title, share / MAX_CROSS_PARTITION_SHARE, &text);
    }
    body.push_str("</div>\n<h2>At another size</h2>\n<p>The gauges above and this table are computed again: in \
        proportion, with as many physical partitions as are needed. The order is that of the analysis.</p>\n\
        <div class=\"sliders\">\n");
    slider(body, "size", "Items", best.report.estimates.growth.largest_bytes > 0.0, 3);
    slider(body, "growth", "New items a day", per_day > 0.0, 2);
    slider(body, "requests", "Requests a day", n_requests > 0.0, 2);
    body.push_str(
        "</div>\n<div class=\"wide\" id=\"calculator\">\n<table>\n<thead><tr><th>KEY</th><th>RU A DAY</th><th>RU/S</th>\
         <th>PHYSICAL PARTITIONS</th><th>LARGEST, GB</th><th>IN A YEAR, GB</th><th>BUSIEST, RU/S</th><th>LIMITS</th></tr>\
         </thead>\n<tbody>\n",
    );
    for one in &candidates {
        let in_a_year = one.in_a_year(bytes_per_day);
        let worst = (one.largest().max(in_a_year) / PARTITION_BYTES)
            .max(one.busiest() / PARTITION_REQUEST_UNITS);
        let LimitState { class, word } = LimitState::from_share(worst);
        let _ = writeln!(
            body,
            "<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{:.1}</td><td>{:.1}</td><td>{}</td>\
             <td><span class=\"badge {class}\">{word}</span></td></tr>",
            escape(&one.report.estimates.strategy.to_string()),
            about(one.report.estimates.request_units_per_day.value),
            about(one.per_second()),
            whole(one.partitions),
            one.largest() / GB,
            in_a_year / GB,
            about(one.busiest()),
        );
    }
    body.push_str("</tbody>\n</table>\n</div>\n");
    let items = if item > 0.0 { best.bytes / item } else { 0.0 };
    let data = CalculatorData {
        size: items,
        growth: per_day,
        requests: n_requests,
        bytes_per_day,
        given_partitions: advice.has_given_partitions,
        candidates,
    };
    // Within a script, `<` could begin the end of it.
    let json = serde_json::to_string(&data).unwrap_or_default().replace('<', "\\u003c");
    let _ = writeln!(body, "<script type=\"application/json\" id=\"data\">{json}</script>");
}

fn gauge(body: &mut String, name: &str, title: &str, share: f64, text: &str) {
    let LimitState { class, word } = LimitState::from_share(share);
    let percent = (share * 100.0).clamp(0.0, 100.0);
    let _ = writeln!(
        body,
        "<div class=\"gauge {class}\" data-gauge=\"{name}\"><p>{title}: <b class=\"value\">{text}</b> <span class=\"badge\">{word}</span></p>\
         <div class=\"meter\" role=\"meter\" aria-label=\"{title}\" aria-valuemin=\"0\" aria-valuemax=\"100\" \
         aria-valuenow=\"{percent:.0}\"><span style=\"width:{percent:.1}%\"></span></div></div>"
    );
}

/// Writes a slider over `powers` powers of ten to both sides. It is off without a known value.
fn slider(body: &mut String, name: &str, title: &str, is_known: bool, powers: u32) {
    let off = if is_known { "" } else { " disabled" };
    let _ = writeln!(
        body,
        "<label>{title} <input type=\"range\" id=\"{name}\" min=\"-{powers}\" max=\"{powers}\" step=\"0.05\" value=\"0\"{off}> \
         <output id=\"{name}-value\" for=\"{name}\"></output></label>"
    );
}
