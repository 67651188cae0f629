//! The certainty of the first key of a sample, by random halves of the sample.
//!
//! The first key of each half is found as that of the whole: the simplest of the keys that cost the same as
//! the cheapest. The sample decides unless a mistake would be dear: in more than [`MAX_DOUBTFUL_SHARE`] of the halves
//! another key costs less by a quarter and more, which is the error of the estimates.

use cosmos_model::partitioning::KeyStrategy;
use serde::Serialize;

use super::{MAX_DOUBTFUL_SHARE, RankedCandidate, SAME_COST_FACTOR};

/// The factor of costs from which on a key is a mistake.
const MISTAKE_FACTOR: f64 = 4.0 / 3.0;

/// The certainty of the first key.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RankCertainty {
    /// Random halves of the sample.
    pub resamples: usize,
    /// The halves in which the key is first, too.
    pub first: usize,
    /// The key that is first in most of the others.
    pub runner_up: Option<RunnerUp>,
    /// The halves in which another key costs less by a quarter and more.
    pub mistakes: usize,
    /// True when the sample is enough to choose the key.
    pub decides: bool,
    /// True when the sample is enough to tell the request units: nine of ten halves are within a third.
    pub tells_request_units: bool,
}

/// The key that is first most often beside the chosen one.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RunnerUp {
    /// The key.
    pub strategy: KeyStrategy,
    /// The halves in which it is first.
    pub first: usize,
}

impl RankCertainty {
    /// Returns the certainty of the first of the ranked keys, or `None` where no sample is behind them.
    pub(super) fn new(ranked: &[RankedCandidate]) -> Option<Self> {
        let best = ranked.first()?;
        let resamples = best.report.estimates.resampled.len();
        let others: Vec<_> = ranked.iter().filter(|one| one.works == best.works).collect();
        let mut firsts = vec![0_usize; others.len()];
        let mut mistakes = 0;
        for half in 0..resamples {
            let score = |one: &RankedCandidate| {
                one.report.estimates.resampled.get(half).map(|half| half.score)
            };
            let least = others.iter().filter_map(|one| score(one)).min_by(f64::total_cmp)?;
            let ties = others.iter().enumerate();
            let ties =
                ties.filter(|(_, one)| score(one).is_some_and(|s| s <= least * SAME_COST_FACTOR));
            let (first, _) = ties.min_by(|(_, a), (_, b)| a.simpler(b))?;
            firsts[first] += 1;
            mistakes += usize::from(score(best)? > least * MISTAKE_FACTOR);
        }
        let runner_up = firsts.iter().enumerate().skip(1).max_by_key(|(_, first)| **first);
        let runner_up = runner_up.filter(|(_, first)| **first > 0).map(|(n, first)| RunnerUp {
            strategy: others[n].report.estimates.strategy.clone(),
            first: *first,
        });
        #[expect(clippy::cast_precision_loss, reason = "a hundred")]
        let decides = mistakes as f64 <= MAX_DOUBTFUL_SHARE * resamples as f64;
        let told = best.request_units.map(|units| units / MISTAKE_FACTOR..units * MISTAKE_FACTOR);
        let halves = best.report.estimates.resampled.iter();
        let far = halves
            .filter(|half| told.as_ref().is_some_and(|told| !told.contains(&half.request_units)));
        #[expect(clippy::cast_precision_loss, reason = "a hundred")]
        let tells_request_units = far.count() as f64 <= MAX_DOUBTFUL_SHARE * resamples as f64;
        let first = firsts[0];
        (resamples > 0).then_some(Self {
            resamples,
            first,
            runner_up,
            mistakes,
            decides,
            tells_request_units,
        })
    }
}
