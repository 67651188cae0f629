//! What else helps a request that does not fit the key: a second copy of the items under another key.
//!
//! A *global secondary index* is a container that the service keeps itself. A *projection* is a
//! container that the app keeps from the change feed, as `crates/tributary-functions/src/projection` of Tributary does. Both cost
//! each write once more, with the other key. A projection also reads the copy before it writes, to keep
//! a newer version. Writes that move an item in the copy, because they change its other key, cost twice:
//! that is not counted here.

use serde::Serialize;
use tributary_charges::rates;
use tributary_partitioning::KeyStrategy;

use crate::{
    findings::{
        CHANGING_KEY, HOT_PARTITION, INVALID_KEY, LARGE_PARTITION, LOW_CARDINALITY,
        THROUGHPUT_LIMIT,
    },
    report::{Report, RequestReport, Severity},
    request::{Operation, RequestKind},
};

/// A request takes at most this share of its request units from a copy that is worth a look.
const WORTH_IT: f64 = 0.8;

/// As many requests get an alternative.
const MOST: usize = 3;

/// A second copy for one kind of request.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Alternative {
    /// The kind of request.
    pub request: String,
    /// The key of the copy.
    pub strategy: KeyStrategy,
    /// Request units of one request now.
    pub now: f64,
    /// Request units of one request from the copy.
    pub then: f64,
    /// Requests a day.
    pub per_day: f64,
    /// What the copy costs a day, where the frequency of writes is known.
    pub upkeep: Option<Upkeep>,
    /// Warnings about the key of the copy.
    pub limits: Vec<&'static str>,
}

/// What a copy costs, in request units a day.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Upkeep {
    /// As a global secondary index.
    pub global_secondary_index: f64,
    /// As a projection.
    pub projection: f64,
}

impl Alternative {
    /// Returns the request units that the requests save a day.
    pub fn saves(&self) -> f64 {
        (self.now - self.then) * self.per_day
    }

    /// Returns true when the requests save more than the cheaper copy costs.
    pub fn pays(&self) -> Option<bool> {
        self.upkeep.map(|upkeep| self.saves() > upkeep.global_secondary_index)
    }

    /// Returns how many requests a day make the cheaper copy worth its cost.
    pub fn pays_from(&self) -> Option<f64> {
        let each = self.now - self.then;
        self.upkeep.filter(|_| each > 0.0).map(|upkeep| upkeep.global_secondary_index / each)
    }
}

pub(super) fn alternatives(
    best: &Report,
    copies: &[&Report],
    requests: &[RequestKind],
) -> Vec<Alternative> {
    let misfits = best.requests.iter().zip(requests).filter(|(report, request)| {
        let is_read = matches!(request.operation, Operation::Query | Operation::Read);
        is_read && !report.names.is_one_place()
    });
    let mut alternatives: Vec<_> = misfits
        .filter_map(|(misfit, _)| {
            let of = |report: &Report| one(report, &misfit.kind).cloned();
            let fits = copies.iter().filter_map(|copy| Some((*copy, of(copy)?)));
            let fits = fits
                .filter(|(_, request)| request.request_units <= misfit.request_units * WORTH_IT);
            // The cheapest for this request of those with the fewest limits ahead; of equals, the one whose
            // copy is cheapest to write.
            let (copy, request) = fits.min_by(|(a, of_a), (b, of_b)| {
                let by_limits = limits(a).len().cmp(&limits(b).len());
                let by_request = of_a.request_units.total_cmp(&of_b.request_units);
                let by_writes = || writes(a, requests).0.total_cmp(&writes(b, requests).0);
                by_limits.then(by_request).then_with(by_writes)
            })?;
            Some(Alternative {
                request: misfit.kind.clone(),
                strategy: copy.strategy.clone(),
                now: misfit.request_units,
                then: request.request_units,
                per_day: misfit.per_day?,
                upkeep: upkeep(copy, requests),
                limits: limits(copy),
            })
        })
        .collect();
    alternatives.sort_by(|a, b| b.saves().total_cmp(&a.saves()));
    alternatives.truncate(MOST);
    alternatives
}

/// Returns the warnings about how a copy would be distributed. Its requests are others, so the warnings
/// about requests do not matter.
fn limits(copy: &Report) -> Vec<&'static str> {
    let codes = [
        HOT_PARTITION,
        LOW_CARDINALITY,
        LARGE_PARTITION,
        THROUGHPUT_LIMIT,
        INVALID_KEY,
        CHANGING_KEY,
    ];
    let warnings = copy.findings.iter().filter(|finding| finding.severity == Severity::Warning);
    warnings.map(|finding| finding.code).filter(|code| codes.contains(code)).collect()
}

fn one<'a>(report: &'a Report, kind: &str) -> Option<&'a RequestReport> {
    report.requests.iter().find(|request| request.kind == kind)
}

fn upkeep(copy: &Report, requests: &[RequestKind]) -> Option<Upkeep> {
    let (request_units, n_writes) = writes(copy, requests);
    if n_writes == 0.0 {
        return None;
    }
    let item = copy.by_bytes.mean.max(0.0) / copy.by_items.mean.max(1.0);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "at most 2 MB")]
    let read = rates::read(item as usize);
    Some(Upkeep {
        global_secondary_index: request_units,
        projection: request_units + n_writes * read,
    })
}

/// Returns what the writes cost a day with the key of this report, and how many there are.
fn writes(report: &Report, requests: &[RequestKind]) -> (f64, f64) {
    let writes =
        report.requests.iter().zip(requests).filter(|(_, request)| {
            !matches!(request.operation, Operation::Query | Operation::Read)
        });
    writes.fold((0.0, 0.0), |(request_units, n), (report, _)| {
        (
            request_units + report.request_units_per_day.unwrap_or_default(),
            n + report.per_day.unwrap_or_default(),
        )
    })
}
