//! A second copy of the items under another key, for a request that does not fit the first: a *global secondary index*
//! (kept by the service) or a *projection* (kept by the app from the change feed). Each write costs once more, with the
//! other key; a projection also reads the copy before. A write that changes the other key costs twice: not counted.

use cosmos_model::charges::rates;
use cosmos_model::partitioning::KeyStrategy;
use serde::Serialize;

use crate::{
    checks,
    report::{CandidateReport, RequestEstimates},
    words::size,
};

const MAX_COPY_COST_SHARE: f64 = 0.8;

const MAX_COPIES: usize = 3;

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SecondCopy {
    pub(crate) request: String,
    pub(crate) strategy: KeyStrategy,
    pub(crate) now: f64,
    pub(crate) then: f64,
    pub(crate) per_day: f64,
    pub(crate) upkeep: Option<CopyUpkeep>,
    pub(crate) limits: Vec<&'static str>,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CopyUpkeep {
    pub(crate) global_secondary_index: f64,
    pub(crate) projection: f64,
}

impl SecondCopy {
    pub(crate) fn saves(&self) -> f64 {
        (self.now - self.then) * self.per_day
    }

    pub(crate) fn pays(&self) -> Option<bool> {
        self.upkeep.map(|upkeep| self.saves() > upkeep.global_secondary_index)
    }

    pub(crate) fn pays_from(&self) -> Option<f64> {
        let each = self.now - self.then;
        self.upkeep.filter(|_| each > 0.0).map(|upkeep| upkeep.global_secondary_index / each)
    }
}

pub(super) fn alternatives(best: &CandidateReport, copies: &[&CandidateReport]) -> Vec<SecondCopy> {
    let reads = best.requests.iter().filter(|request| request.operation.is_read());
    let misfits = reads.filter(|request| !request.names.is_one_place());
    let copy_for = |misfit: &RequestEstimates| {
        let fits = copies.iter().filter_map(|copy| {
            let request = copy.requests.iter().find(|other| other.kind == misfit.kind)?;
            let most = misfit.request_units * MAX_COPY_COST_SHARE;
            (request.request_units <= most).then_some((*copy, request.request_units))
        });
        // Of the copies with the fewest limits, the cheapest for this request; of equals, the cheapest
        // to write.
        let (copy, then) = fits.min_by(|(a, of_a), (b, of_b)| {
            let by_limits = limits(a).len().cmp(&limits(b).len());
            let by_writes = a.request_units(false).total_cmp(&b.request_units(false));
            by_limits.then(of_a.total_cmp(of_b)).then(by_writes)
        })?;
        Some(SecondCopy {
            request: misfit.kind.clone(),
            strategy: copy.strategy.clone(),
            now: misfit.request_units,
            then,
            per_day: misfit.per_day?,
            upkeep: upkeep(copy),
            limits: limits(copy),
        })
    };
    let mut alternatives: Vec<_> = misfits.filter_map(copy_for).collect();
    alternatives.sort_by(|a, b| b.saves().total_cmp(&a.saves()));
    alternatives.truncate(MAX_COPIES);
    alternatives
}

/// Without the warnings about requests: a copy has others.
fn limits(copy: &CandidateReport) -> Vec<&'static str> {
    use checks::{LARGE_PARTITION, LOW_CARDINALITY, THROUGHPUT_LIMIT};
    let of_items = [checks::HOT_PARTITION, checks::INVALID_KEY, checks::CHANGING_KEY];
    let checks = [of_items, [LOW_CARDINALITY, LARGE_PARTITION, THROUGHPUT_LIMIT]].concat();
    copy.warnings().filter(|code| checks.iter().any(|check| check.code == *code)).collect()
}

fn upkeep(copy: &CandidateReport) -> Option<CopyUpkeep> {
    let request_units = copy.request_units(false);
    let writes = copy.requests.iter().filter(|request| !request.operation.is_read());
    let n_writes: f64 = writes.filter_map(|write| write.per_day).sum();
    let item = copy.by_bytes.mean.max(0.0) / copy.by_items.mean.max(1.0);
    let read = rates::read(size(item));
    (n_writes > 0.0).then_some(CopyUpkeep {
        global_secondary_index: request_units,
        projection: request_units + n_writes * read,
    })
}
