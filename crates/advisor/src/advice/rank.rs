//! Which candidate is better.

use serde::Serialize;

use super::{DOUBT, SAME_COST, complexity};
use crate::report::Report;

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
        let ties: Vec<_> = rest.iter().map(|other| cheapest.costs_the_same(other)).collect();
        let mut group = Vec::new();
        let mut others = Vec::new();
        for (n, (standing, is_tie)) in rest.into_iter().zip(ties).enumerate() {
            if n == 0 || is_tie { group.push(standing) } else { others.push(standing) }
        }
        rest = others;
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
        let warnings = report.warnings().count();
        Self {
            place: 0,
            works: report.works(),
            request_units: report.request_units(),
            score: report.score().unwrap_or(float(warnings)),
            report,
        }
    }

    /// Returns the largest share of one partition, where nothing else tells the candidates apart.
    fn share(&self) -> f64 {
        if self.request_units.is_some() { 0.0 } else { self.report.by_bytes.largest }
    }

    /// Returns true if a key that seems dearer is not so for sure: in some of the random halves of a
    /// sample it is not.
    fn costs_the_same(&self, dearer: &Self) -> bool {
        let halves = self.report.resampled.iter().zip(&dearer.report.resampled);
        let n_not_dearer =
            halves.filter(|(one, other)| other.score <= one.score * SAME_COST).count();
        let doubt = float(n_not_dearer) > DOUBT * float(self.report.resampled.len());
        self.works == dearer.works
            && (doubt || dearer.score <= self.score * SAME_COST)
            && dearer.share() <= self.share() * SAME_COST
    }

    /// Returns the order of keys that cost the same.
    pub(super) fn simpler(&self, other: &Self) -> std::cmp::Ordering {
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
        self.report.warnings().collect()
    }
}

#[expect(clippy::cast_precision_loss, reason = "a hundred")]
fn float(n: usize) -> f64 {
    n as f64
}
