//! The advice: the last stage. The order of the candidates is that of the README. Without requests the score is the number
//! of warnings, and then the largest share of one partition.

use cosmos_model::charges::policy::IndexingPolicy;
use cosmos_model::partitioning::KeyStrategy;
use serde::Serialize;

use crate::{report::CandidateReport, request::RequestKind, traffic::TrafficSummary};

mod alternatives;
mod change;
mod container;
mod explanation;
mod indexes;
mod load;
mod rank;
mod sections;
mod unique;

use alternatives::SecondCopy;
use change::KeyChange;
pub(crate) use container::ContainerDefinition;
use load::ContainerLoad;
use rank::RankCertainty;
pub(crate) use rank::{RankedCandidate, rank};
pub(crate) use sections::finding_line;
pub(crate) use unique::UniqueProperties;
use unique::UniquenessPlan;

const SAME_COST_FACTOR: f64 = 1.05;

#[derive(Clone, Debug, Serialize)]
pub(crate) struct Advice {
    pub(crate) items: u64,
    pub(crate) bytes: u64,
    pub(crate) ranked: Vec<RankedCandidate>,
    pub(crate) current: Option<KeyStrategy>,
    pub(crate) certainty: Option<RankCertainty>,
    pub(crate) why: Vec<String>,
    pub(crate) alternatives: Vec<SecondCopy>,
    pub(crate) load: Option<ContainerLoad>,
    pub(crate) unique: Vec<UniquenessPlan>,
    pub(crate) container: ContainerDefinition,
    pub(crate) change: Option<KeyChange>,
    pub(crate) unknown: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) traffic: Option<TrafficSummary>,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct AdviceQuestion {
    pub(crate) requests: Vec<RequestKind>,
    pub(crate) current: Option<KeyStrategy>,
    pub(crate) container: String,
    pub(crate) indexing_policy: IndexingPolicy,
    /// Items of the container, where the items are a sample of it.
    pub(crate) items_in_container: Option<u64>,
    pub(crate) unique: Vec<UniqueProperties>,
    pub(crate) traffic: Option<TrafficSummary>,
}

impl Advice {
    /// Returns the advice, or `None` without candidates. `others` are reports of keys for a second copy, which
    /// are no candidates, and `halves` those of the candidates for each half of the items, where they are a sample.
    pub(crate) fn new(
        reports: Vec<CandidateReport>,
        others: &[CandidateReport],
        halves: &[Vec<CandidateReport>],
        question: &AdviceQuestion,
    ) -> Option<Self> {
        let ranked = rank(reports);
        let best = ranked.first()?;
        let report = &best.report;
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
        let alternatives = alternatives::alternatives(report, &copies);
        let certainty = RankCertainty::new(best, halves);
        let unique = question.unique.iter().map(|unique| unique.plan(strategy, requests));
        let unique: Vec<_> = unique.collect();
        let keys: Vec<_> = unique.iter().filter_map(|plan| plan.unique_key.clone()).collect();
        let container = ContainerDefinition::new(&question.container, strategy, requests, &keys);
        let current = find(&ranked, question.current.as_ref());
        Some(Self {
            items: report.items,
            bytes: report.bytes,
            why: explanation::why(&ranked, &alternatives, certainty.as_ref(), current),
            certainty,
            alternatives,
            change: current
                .filter(|current| current.place > 1)
                .map(|current| KeyChange::new(current, best, &container, *items)),
            load: ContainerLoad::new(report, *items),
            unique,
            container,
            unknown,
            traffic: question.traffic.clone(),
            current: question.current.clone(),
            ranked,
        })
    }

    pub(crate) fn is_decided(&self) -> bool {
        self.certainty.as_ref().is_none_or(|certainty| certainty.cheaper.is_none())
    }

    pub(crate) fn current(&self) -> Option<&RankedCandidate> {
        find(&self.ranked, self.current.as_ref())
    }

    pub(crate) fn warns_of_current(&self) -> bool {
        self.current().is_some_and(|standing| !standing.works || !standing.warnings().is_empty())
    }
}

fn find<'a>(
    ranked: &'a [RankedCandidate],
    key: Option<&KeyStrategy>,
) -> Option<&'a RankedCandidate> {
    ranked.iter().find(|standing| Some(standing.strategy()) == key)
}

#[cfg(test)]
mod tests;
