//! Requests that no key serves.

use super::{RankedCandidate, SecondCopy};
use crate::{
    checks::{MAX_CROSS_PARTITION_SHARE, MIN_ALIGNED_SHARE},
    words::about,
};

/// Returns the sentence that no candidate serves the requests, or `None` where one does. A key that serves
/// them keeps each transaction in one logical partition, and most requests and queries name it. In one
/// physical partition any key does.
pub(super) fn no_key(ranked: &[RankedCandidate], alternatives: &[SecondCopy]) -> Option<String> {
    let best = ranked.first()?;
    if ranked.iter().all(|standing| !standing.works) {
        let spans = best.report.estimates.requests.iter();
        let spans: Vec<_> = spans
            .filter(|request| request.transaction_fits == Some(false))
            .map(|request| format!("\"{}\"", request.kind))
            .collect();
        return Some(format!(
            "No key keeps {} in one logical partition. Name the same key in all writes of a transaction, or let one \
             write decide and a projection from the change feed make the others.",
            spans.join(", ")
        ));
    }
    let fits = |standing: &RankedCandidate| {
        let report = &standing.report;
        standing.works
            && report.estimates.aligned.is_none_or(|share| share >= MIN_ALIGNED_SHARE)
            && report
                .estimates
                .cross_partition
                .is_none_or(|share| share <= MAX_CROSS_PARTITION_SHARE)
    };
    if best.report.estimates.physical_partitions <= 1.0 || ranked.iter().any(fits) {
        return None;
    }
    let strategy = &best.report.estimates.strategy;
    let copies: Vec<_> = alternatives.iter().map(copy).collect();
    Some(if copies.is_empty() {
        format!(
            "No key serves these requests: with each candidate, many go to all physical partitions, and no second \
             copy of those measured makes them cheaper. {strategy} is the least bad."
        )
    } else {
        format!(
            "No key serves these requests: with each candidate, many go to all physical partitions. Keep {strategy}, \
             and make {}.",
            copies.join(", and ")
        )
    })
}

fn copy(alternative: &SecondCopy) -> String {
    let SecondCopy { request, strategy, .. } = alternative;
    let costs = alternative.upkeep.map_or_else(
        || "costs each write once more".to_owned(),
        |upkeep| {
            format!(
                "costs {} RU a day as a global secondary index and {} as a projection",
                about(upkeep.global_secondary_index),
                about(upkeep.projection)
            )
        },
    );
    format!(
        "a second copy under {strategy} for \"{request}\", which saves {} RU a day and {costs}",
        about(alternative.saves())
    )
}
