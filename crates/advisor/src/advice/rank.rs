//! Which candidate is better.

use serde::Serialize;

use super::{SAME_COST, complexity};
use crate::report::{Report, Severity};

/// A candidate in the ranking.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Standing {
    /// Its place, from 1.
    pub place: usize,
    /// Whether its transactions are in one logical partition each.
    pub works: bool,
    /// Request units a day, or of one request of each kind where no frequency is known. `None` without
    /// requests.
    pub request_units: Option<f64>,
    /// The request units, and what the risks count as; the number of warnings without requests.
    pub score: f64,
    /// What was measured.
    pub report: Report,
}

/// Returns the candidates, the best first. [`crate::advice`] says what is better.
pub fn rank(reports: Vec<Report>) -> Vec<Standing> {
    let mut rest: Vec<_> = reports.into_iter().map(Standing::of).collect();
    rest.sort_by(|a, b| {
        b.works
            .cmp(&a.works)
            .then(a.score.total_cmp(&b.score))
            .then(a.share().total_cmp(&b.share()))
    });
    let mut ranked: Vec<Standing> = Vec::with_capacity(rest.len());
    // Those that cost the same as the cheapest of the rest are a group, and the simplest leads it.
    while let Some(cheapest) = rest.first() {
        let n = rest.iter().take_while(|other| cheapest.costs_the_same(other)).count().max(1);
        let mut group: Vec<_> = rest.drain(..n).collect();
        group.sort_by(Standing::simpler);
        ranked.append(&mut group);
    }
    for (n, standing) in ranked.iter_mut().enumerate() {
        standing.place = n + 1;
    }
    ranked
}

impl Standing {
    fn of(report: Report) -> Self {
        let each = || report.requests.iter().map(|request| request.request_units).sum();
        let has_frequencies = report.requests.iter().any(|request| request.per_day.is_some());
        let request_units = match report.requests.as_slice() {
            [] => None,
            _ if has_frequencies => Some(report.request_units_per_day.value),
            _ => Some(each()),
        };
        let risks: f64 = report.risks.iter().map(|risk| risk.request_units).sum();
        let mut standing = Self {
            place: 0,
            works: report.requests.iter().all(|request| request.transaction_fits != Some(false)),
            request_units,
            score: 0.0,
            report,
        };
        standing.score = match request_units {
            Some(request_units) => request_units + risks,
            None => crate::sketch::float(standing.warnings().len() as u64),
        };
        standing
    }

    /// Returns the largest share of one partition, where nothing else tells the candidates apart.
    fn share(&self) -> f64 {
        if self.request_units.is_some() { 0.0 } else { self.report.by_bytes.largest }
    }

    fn costs_the_same(&self, dearer: &Self) -> bool {
        self.works == dearer.works
            && dearer.score <= self.score * SAME_COST
            && dearer.share() <= self.share() * SAME_COST
    }

    fn simpler(&self, other: &Self) -> std::cmp::Ordering {
        let aligned = |one: &Self| one.report.aligned.unwrap_or(0.0);
        let complexity = |one: &Self| complexity(&one.report.strategy);
        complexity(self)
            .cmp(&complexity(other))
            .then(self.warnings().len().cmp(&other.warnings().len()))
            .then(self.share().total_cmp(&other.share()))
            .then(aligned(other).total_cmp(&aligned(self)))
            .then(self.report.findings.len().cmp(&other.report.findings.len()))
            .then_with(|| self.report.strategy.to_string().cmp(&other.report.strategy.to_string()))
    }

    /// Returns the codes of all warnings.
    pub fn warnings(&self) -> Vec<&'static str> {
        let findings = self.report.findings.iter();
        let warnings = findings.filter(|finding| finding.severity == Severity::Warning);
        warnings.map(|finding| finding.code).collect()
    }
}
