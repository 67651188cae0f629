//! Candidates, when the user gives none: from a bounded part of the sample.
//!
//! 1. A [`Profile`] of the part tells the properties of which a key can be made, and the times among
//!    them (`profile`).
//! 2. The pool has all that is sensible of them: values, pairs as levels and joined, periods, buckets
//!    (`pool`). It is wide, and bounded by [`MOST_IN_POOL`].
//! 3. The pool is measured on the part and ranked as the answer will be ([`crate::advice`]), and the best
//!    of each kind of strategy are proposed. So there is one way to say what is better.

use std::collections::{HashMap, HashSet};

use tributary_partitioning::{KeyStrategy, Part, path::Path};

use crate::{
    advice::{Standing, rank},
    analysis::Analysis,
    options::Options,
    request::{RequestKind, Wanted},
    sample::Item,
};

pub mod part;
mod pool;
mod profile;
mod time;

pub use profile::{PathProfile, Profile};
pub use time::time_of_creation;

/// Items of which candidates are made.
pub const ITEMS: usize = 3_000;

/// The most strategies that are measured on the part.
pub const MOST_IN_POOL: usize = 150;

/// Candidates that are proposed, unless the user asks for another number.
pub const MOST: usize = 12;

/// Returns the best candidates for a part of the sample, at most `most`, best first.
pub fn propose(
    items: &[Item],
    requests: &[RequestKind],
    options: &Options,
    most: usize,
) -> Vec<KeyStrategy> {
    let mut profile = Profile::default();
    for item in items.iter().take(ITEMS) {
        profile.add(&item.value);
    }
    let pool = pool::pool(&profile, &wishes(requests));
    // The part is a sample of single items, also where those of the file came in whole keys.
    let options = Options { whole_keys: None, ..options.clone() };
    let mut analysis = Analysis::new(pool, requests.to_vec(), options);
    analysis.add(&items[..items.len().min(ITEMS)]);
    let mut seen = HashSet::new();
    let ranked = rank(analysis.reports(false));
    // Two candidates of a kind with the same partitions and costs: the simpler is first, and enough.
    let ranked = ranked.into_iter().filter(|standing| seen.insert(Footprint::of(standing)));
    varied(ranked.map(|standing| standing.report.strategy), most)
}

/// The guide's kinds of strategies ("Strategy Comparison Matrix").
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Family {
    Value,
    Time,
    Hybrid,
    Hierarchical,
    Synthetic,
}

impl Family {
    fn of(strategy: &KeyStrategy) -> Self {
        let parts = || strategy.levels().iter().flatten();
        if parts().any(|part| matches!(part, Part::Bucket(..))) {
            return Self::Synthetic;
        }
        match strategy.levels() {
            [_, _, ..] => Self::Hierarchical,
            [level] => match level.as_slice() {
                [Part::Period(..)] => Self::Time,
                [_] => Self::Value,
                _ => Self::Hybrid,
            },
            [] => Self::Value,
        }
    }
}

/// Returns the best of each kind, then the second of each, and so on, in the order of the ranking: who
/// compares wants to see what the other kinds would do.
fn varied(ranked: impl Iterator<Item = KeyStrategy>, most: usize) -> Vec<KeyStrategy> {
    let mut counts = HashMap::new();
    let rounds = ranked.map(|strategy| {
        let count: &mut usize = counts.entry(Family::of(&strategy)).or_default();
        *count += 1;
        (*count, strategy)
    });
    let mut rounds: Vec<_> = rounds.collect();
    // Stable: within a round, the order of the ranking.
    rounds.sort_by_key(|(round, _)| *round);
    rounds.into_iter().take(most).map(|(_, strategy)| strategy).collect()
}

/// What tells two candidates apart.
#[derive(PartialEq, Eq, Hash)]
struct Footprint {
    family: Family,
    partitions: u64,
    largest_share: u64,
    request_units: u64,
    findings: Vec<&'static str>,
}

impl Footprint {
    fn of(standing: &Standing) -> Self {
        let report = &standing.report;
        let bits = |number: f64| (number * 1e6).to_bits();
        Self {
            family: Family::of(&report.strategy),
            partitions: bits(report.cardinality.value),
            largest_share: bits(report.by_items.largest),
            request_units: bits(report.request_units_per_day.value),
            findings: report.findings.iter().map(|finding| finding.code).collect(),
        }
    }
}

/// What the requests say about a property.
#[derive(Clone, Debug, Default, PartialEq)]
struct Wishes {
    /// Paths that requests compare for equality, the most frequent first.
    equal: Vec<Path>,
    /// Paths of which requests want a range or an order, likewise.
    ordered: Vec<Path>,
}

fn wishes(requests: &[RequestKind]) -> Wishes {
    let mut equal: Vec<(Path, f64)> = Vec::new();
    let mut ordered: Vec<(Path, f64)> = Vec::new();
    let add = |list: &mut Vec<(Path, f64)>, path: &Path, weight: f64| match list
        .iter_mut()
        .find(|(other, _)| other == path)
    {
        Some((_, sum)) => *sum += weight,
        None => list.push((path.clone(), weight)),
    };
    for request in requests {
        let weight = request.per_day().unwrap_or(1.0);
        for (path, wanted) in &request.filters {
            use tributary_partitioning::Condition::Range;
            match wanted {
                Wanted::Last(_) | Wanted::This(Range(_)) => add(&mut ordered, path, weight),
                Wanted::Drawn | Wanted::This(_) => add(&mut equal, path, weight),
            }
        }
        if let Some(order) = &request.order_by {
            add(&mut ordered, &order.path, weight);
        }
    }
    let sorted = |mut list: Vec<(Path, f64)>| {
        list.sort_by(|a, b| b.1.total_cmp(&a.1));
        list.into_iter().map(|(path, _)| path).collect()
    };
    Wishes { equal: sorted(equal), ordered: sorted(ordered) }
}

#[cfg(test)]
mod tests;
