//! The ranking of the candidates.

use cosmos_model::partitioning::KeyStrategy;
use serde::Serialize;

use super::{SAME_COST_FACTOR, complexity};
use crate::{
    report::{CandidateEstimates, CandidateReport},
    words::float,
};

/// A candidate in the ranking.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RankedCandidate {
    /// The place, from 1.
    pub place: usize,
    /// True when each transaction is in one logical partition.
    pub works: bool,
    /// Request units a day, or of one request of each kind where no frequency is known. `None` without
    /// requests.
    pub request_units: Option<f64>,
    /// The request units of requests and risks; the number of warnings without requests.
    pub score: f64,
    /// The estimates and the findings.
    pub report: CandidateReport,
}

/// Returns the candidates in the order of [`crate::advice`], the best first.
pub fn rank(reports: Vec<CandidateReport>) -> Vec<RankedCandidate> {
    let mut rest: Vec<_> = reports.into_iter().map(RankedCandidate::new).collect();
    rest.sort_by(|a, b| {
        b.works
            .cmp(&a.works)
            .then(a.score.total_cmp(&b.score))
            .then(a.share().total_cmp(&b.share()))
    });
    let mut ranked: Vec<RankedCandidate> = Vec::with_capacity(rest.len());
    // Candidates that cost the same as the cheapest of the rest are a group. The simplest leads it.
    while !rest.is_empty() {
        let cheapest = rest.remove(0);
        let (mut group, others): (Vec<_>, _) =
            rest.into_iter().partition(|other| cheapest.costs_the_same(other));
        group.push(cheapest);
        rest = others;
        group.sort_by(RankedCandidate::simpler);
        ranked.append(&mut group);
    }
    for (n, standing) in ranked.iter_mut().enumerate() {
        standing.place = n + 1;
    }
    ranked
}

impl RankedCandidate {
    fn new(report: CandidateReport) -> Self {
        let CandidateEstimates { requests, risks, request_units_per_day, .. } = &report.estimates;
        let each = || requests.iter().map(|request| request.request_units).sum();
        let request_units = if requests.iter().any(|request| request.per_day.is_some()) {
            Some(request_units_per_day.value)
        } else {
            (!requests.is_empty()).then(each)
        };
        let risks: f64 = risks.iter().map(|risk| risk.request_units).sum();
        Self {
            place: 0,
            works: requests.iter().all(|request| request.transaction_fits != Some(false)),
            request_units,
            score: request_units
                .map_or_else(|| float(report.warnings().count() as u64), |units| units + risks),
            report,
        }
    }

    /// Returns the largest share of one partition where there are no requests, otherwise 0.
    fn share(&self) -> f64 {
        if self.request_units.is_some() { 0.0 } else { self.report.estimates.by_bytes.largest }
    }

    fn costs_the_same(&self, dearer: &Self) -> bool {
        self.works == dearer.works
            && dearer.score <= self.score * SAME_COST_FACTOR
            && dearer.share() <= self.share() * SAME_COST_FACTOR
    }

    fn simpler(&self, other: &Self) -> std::cmp::Ordering {
        let aligned = |standing: &Self| standing.report.estimates.aligned.unwrap_or(0.0);
        let complexity = |standing: &Self| complexity(standing.strategy());
        complexity(self)
            .cmp(&complexity(other))
            .then(self.warnings().len().cmp(&other.warnings().len()))
            .then(self.share().total_cmp(&other.share()))
            .then(aligned(other).total_cmp(&aligned(self)))
            .then(self.report.findings.len().cmp(&other.report.findings.len()))
            .then_with(|| self.strategy().to_string().cmp(&other.strategy().to_string()))
    }

    /// Returns the key.
    pub fn strategy(&self) -> &KeyStrategy {
        &self.report.estimates.strategy
    }

    /// Returns the codes of all warnings.
    pub fn warnings(&self) -> Vec<&'static str> {
        self.report.warnings().collect()
    }
}
