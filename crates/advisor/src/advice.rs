//! The advice: the last stage. It ranks the candidates, explains the first, names alternatives and defines
//! the container.
//!
//! The order of the candidates:
//!
//! 1. Candidates whose transactions fit into one logical partition come first. The others do not work.
//! 2. The least score comes first. It is the request units a day of the requests, and of the risks
//!    that are not in them yet (`estimates::risks`), such as a cost that grows with the container.
//!    Without requests the score is the number of warnings, and then the largest share of one partition.
//! 3. Scores within `SAME_COST_FACTOR` of the least are a tie, since the estimates are not more precise. In a
//!    tie the simplest key comes first, and of equally simple keys the one with fewer warnings.

use cosmos_model::partitioning::{KeyPart, KeyStrategy};
use serde::Serialize;

use crate::{findings::is_computed, report::CandidateReport, request::RequestKind};

mod alternatives;
mod certainty;
mod change;
mod container;
mod explanation;
mod indexes;
mod load;
mod rank;
mod sections;
mod unique;

pub use alternatives::{CopyUpkeep, SecondCopy};
pub use certainty::RankCertainty;
pub use change::KeyChange;
pub use container::ContainerDefinition;
pub use indexes::IndexedQuery;
pub use load::ContainerLoad;
pub use rank::{RankedCandidate, rank};
pub(crate) use sections::finding_line;
pub use unique::{UniqueProperties, UniquenessPlan};

const SAME_COST_FACTOR: f64 = 1.05;

/// The answer to a sample, its requests and the candidates.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Advice {
    /// Items of the sample.
    pub items: u64,
    /// Their size as JSON, in bytes.
    pub bytes: u64,
    /// The candidates, the best first.
    pub ranked: Vec<RankedCandidate>,
    /// The key that the container has.
    pub current: Option<KeyStrategy>,
    /// The certainty of the first place, where the items are a sample.
    pub certainty: Option<RankCertainty>,
    /// The reasons for the first place, as sentences.
    pub why: Vec<String>,
    /// Second copies for the requests that do not fit the best key.
    pub alternatives: Vec<SecondCopy>,
    /// The load of the container with the best key, where frequencies are known.
    pub load: Option<ContainerLoad>,
    /// The means by which values stay unique with the best key.
    pub unique: Vec<UniquenessPlan>,
    /// The container with the best key.
    pub container: ContainerDefinition,
    /// The change of the container to the best key, where it has another.
    pub change: Option<KeyChange>,
    /// The limits of the data, as sentences.
    pub unknown: Vec<String>,
}

/// The input of advice beside the reports.
#[derive(Clone, Debug, Default)]
pub struct AdviceQuestion {
    /// The kinds of requests.
    pub requests: Vec<RequestKind>,
    /// The key that the container has.
    pub current: Option<KeyStrategy>,
    /// The name of the container.
    pub container: String,
    /// Items of the container, where the items are a sample of it.
    pub items_in_container: Option<u64>,
    /// The reports of the candidates for each half of the items, where they are a sample.
    pub halves: Vec<Vec<CandidateReport>>,
    /// The properties whose values must be unique.
    pub unique: Vec<UniqueProperties>,
}

impl Advice {
    /// Returns the advice, or `None` without candidates. `others` are reports of keys for a second copy, which
    /// are no candidates.
    pub fn new(
        reports: Vec<CandidateReport>,
        others: &[CandidateReport],
        question: &AdviceQuestion,
    ) -> Option<Self> {
        let ranked = rank(reports);
        let best = ranked.first()?;
        let estimates = &best.report.estimates;
        let copies = ranked.iter().map(|standing| &standing.report).chain(others);
        let copies: Vec<&CandidateReport> = copies.collect();
        let mut unknown = best.report.unknown.clone();
        if question.requests.is_empty() {
            unknown.insert(
                0,
                "Without --requests it is unknown what the requests cost and whether they name the key: the \
                 candidates are ranked by their risks alone."
                    .to_owned(),
            );
        }
        let AdviceQuestion { requests, items_in_container: items, .. } = question;
        let strategy = best.strategy();
        let alternatives = alternatives::alternatives(estimates, &copies, requests);
        let certainty = RankCertainty::new(best, &question.halves);
        let unique = question.unique.iter().map(|unique| unique.plan(strategy, requests));
        let unique: Vec<_> = unique.collect();
        let container = ContainerDefinition::new(&question.container, strategy, requests, &unique);
        let is_current = |one: &&RankedCandidate| Some(one.strategy()) == question.current.as_ref();
        let current = ranked.iter().skip(1).find(is_current);
        Some(Self {
            items: estimates.items,
            bytes: estimates.bytes,
            why: explanation::why(&ranked, &alternatives, certainty.as_ref(), question),
            certainty,
            alternatives,
            change: current
                .map(|current| KeyChange::new(current, best, &container, requests, *items)),
            load: ContainerLoad::new(estimates, requests, *items),
            unique,
            container,
            unknown,
            current: question.current.clone(),
            ranked,
        })
    }

    /// Returns false when the items are a sample that is too small to choose the key.
    pub fn is_decided(&self) -> bool {
        self.certainty.as_ref().is_none_or(|certainty| certainty.cheaper.is_none())
    }

    /// Returns the standing of the key that the container has.
    pub fn current(&self) -> Option<&RankedCandidate> {
        self.ranked.iter().find(|standing| Some(standing.strategy()) == self.current.as_ref())
    }

    /// Returns true when the key that the container has got a warning.
    pub fn warns_of_current(&self) -> bool {
        self.current().is_some_and(|standing| !standing.works || !standing.warnings().is_empty())
    }
}

fn complexity(strategy: &KeyStrategy) -> usize {
    let level = |level: &Vec<KeyPart>| {
        let parts: usize =
            level.iter().map(|part| if matches!(part, KeyPart::Value(_)) { 1 } else { 2 }).sum();
        parts + usize::from(is_computed(level))
    };
    strategy.levels().iter().map(level).sum()
}

impl RankedCandidate {
    /// Returns the complexity of the key as a word: the guide's column "Complexity".
    pub fn complexity(&self) -> &'static str {
        match complexity(self.strategy()) {
            0 | 1 => "simple",
            2 => "medium",
            _ => "complex",
        }
    }
}

#[cfg(test)]
mod tests;
