//! The certainty of the first key of a sample: two halves of the sample rank the keys, too.
//!
//! An item is in a half by a hash of its id; where whole keys were drawn, all items of a key are in the same
//! half. The sample decides unless a mistake would be dear: in a half, another key costs less by a quarter and
//! more, which is the error of the estimates.

use cosmos_model::partitioning::KeyStrategy;
use serde::Serialize;

use super::{RankedCandidate, rank};
use crate::report::CandidateReport;

const MISTAKE_FACTOR: f64 = 4.0 / 3.0;

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct RankCertainty {
    /// The first key of each half.
    pub(crate) first: Vec<KeyStrategy>,
    /// A key that costs less by a quarter and more in a half.
    pub(crate) cheaper: Option<KeyStrategy>,
}

impl RankCertainty {
    /// Returns the certainty, or `None` without halves or requests.
    pub(super) fn new(best: &RankedCandidate, halves: &[Vec<CandidateReport>]) -> Option<Self> {
        best.request_units?;
        let mut certainty = Self { first: Vec::new(), cheaper: None };
        for half in halves {
            let mut ranked = rank(half.clone());
            ranked.retain(|standing| standing.works == best.works);
            let first = ranked.first().filter(|first| first.report.estimates.items > 0)?;
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
