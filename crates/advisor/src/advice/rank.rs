//! The ranking of the candidates, and its certainty for a sample.
//!
//! Two halves of the sample, by a hash of the id or of the whole key, rank the keys, too. The sample decides unless in a
//! half another key costs less by a quarter and more, which is the error of the estimates.

use cosmos_model::partitioning::{KeyPart, KeyStrategy};
use serde::Serialize;

use super::SAME_COST_FACTOR;
use crate::{
    report::{self, CandidateReport},
    words::float,
};

const MISTAKE_FACTOR: f64 = 4.0 / 3.0;

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RankedCandidate {
    pub(crate) place: usize,
    pub(crate) works: bool,
    /// A day, or of one request of each kind where no frequency is known. `None` without requests.
    pub(crate) request_units: Option<f64>,
    /// The request units of requests and risks; the number of warnings without requests.
    pub(crate) score: f64,
    pub(crate) report: CandidateReport,
}

pub(crate) fn rank(reports: Vec<CandidateReport>) -> Vec<RankedCandidate> {
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
        let CandidateReport { requests, risks, .. } = &report;
        let units = || report::sum(requests, |request| request.request_units);
        let request_units = (!requests.is_empty()).then(units);
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

    fn share(&self) -> f64 {
        if self.request_units.is_some() { 0.0 } else { self.report.by_bytes.largest }
    }

    fn costs_the_same(&self, dearer: &Self) -> bool {
        self.works == dearer.works
            && dearer.score <= self.score * SAME_COST_FACTOR
            && dearer.share() <= self.share() * SAME_COST_FACTOR
    }

    fn simpler(&self, other: &Self) -> std::cmp::Ordering {
        let aligned = |standing: &Self| standing.report.aligned.unwrap_or(0.0);
        self.n_parts()
            .cmp(&other.n_parts())
            .then(self.warnings().len().cmp(&other.warnings().len()))
            .then(self.share().total_cmp(&other.share()))
            .then(aligned(other).total_cmp(&aligned(self)))
            .then(self.report.findings.len().cmp(&other.report.findings.len()))
            .then_with(|| self.strategy().to_string().cmp(&other.strategy().to_string()))
    }

    /// Returns the parts of the key, where all but values and all computed levels count twice.
    fn n_parts(&self) -> usize {
        let is_value = |part: &KeyPart| matches!(part, KeyPart::Value(_));
        let level = |level: &Vec<KeyPart>| {
            let parts: usize = level.iter().map(|part| if is_value(part) { 1 } else { 2 }).sum();
            if parts == 1 { 1 } else { parts + 1 }
        };
        self.strategy().levels().iter().map(level).sum()
    }

    /// Returns the complexity of the key as a word: the guide's column "Complexity".
    pub(crate) fn complexity(&self) -> &'static str {
        match self.n_parts() {
            0 | 1 => "simple",
            2 => "medium",
            _ => "complex",
        }
    }

    pub(crate) fn strategy(&self) -> &KeyStrategy {
        &self.report.strategy
    }

    pub(crate) fn warnings(&self) -> Vec<&'static str> {
        self.report.warnings().collect()
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct RankCertainty {
    pub(crate) first: Vec<KeyStrategy>,
    /// A key that costs less by a quarter and more in a half.
    pub(crate) cheaper: Option<KeyStrategy>,
}

impl RankCertainty {
    pub(super) fn new(best: &RankedCandidate, halves: &[Vec<CandidateReport>]) -> Option<Self> {
        best.request_units?;
        let mut certainty = Self { first: Vec::new(), cheaper: None };
        for half in halves {
            let mut ranked = rank(half.clone());
            ranked.retain(|standing| standing.works == best.works);
            let first = ranked.first().filter(|first| first.report.items > 0)?;
            certainty.first.push(first.strategy().clone());
            let of_best = ranked.iter().find(|other| other.strategy() == best.strategy())?.score;
            let least = ranked.iter().min_by(|a, b| a.score.total_cmp(&b.score))?;
            if of_best > least.score * MISTAKE_FACTOR {
                certainty.cheaper = Some(least.strategy().clone());
            }
        }
        (!halves.is_empty()).then_some(certainty)
    }

    pub(super) fn sentence(&self, best: &KeyStrategy) -> String {
        if let Some(cheaper) = &self.cheaper {
            return format!(
                "The sample does not decide: in a half of it, {cheaper} costs less than {best} by a quarter and more. \
                 Draw a larger one, or whole keys of the properties that requests name (--sampled). What follows \
                 is about the likeliest key."
            );
        }
        match self.first.iter().find(|first| *first != best) {
            Some(other) => {
                format!("In a half of the sample {other} is first, by less than a quarter.")
            }
            None => "It is first in each half of the sample.".to_owned(),
        }
    }
}
