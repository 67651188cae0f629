//! Candidates from a bounded part of the sample, where the user gives none: all sensible strategies (`pool`) of the
//! properties that can be a key (`profile`) are measured on the part and ranked as the answer will be ([`crate::advice`]).
//! The best of each kind are proposed.

use std::{
    collections::{HashMap, HashSet},
    fs::File,
    io::{self, BufRead, BufReader, Read, Seek, SeekFrom},
};

use cosmos_model::partitioning::{KeyPart, KeyStrategy, path::PropertyPath};
use serde_json::Value;

use crate::{
    ValidationOptions,
    advice::{RankedCandidate, rank},
    counts::SampleCounts,
    findings,
    request::RequestKind,
    sample::SampleItem,
};

mod pool;
mod profile;

pub(crate) use profile::{ItemProfile, time_of_creation};

const MAX_PROFILED_ITEMS: usize = 3_000;

/// A file may be sorted: its start has one tenant or time.
const FILE_PLACES: u64 = 1_000;
const ITEMS_OF_A_PLACE: usize = 3;

/// The step from a place to the next, without a common divisor with the number of places.
const PLACE_STRIDE: u64 = 617;

/// The bytes of the part, since 3,000 items of the largest size, 2 MB, would fill the memory.
const MAX_PART_BYTES: u64 = 32 << 20;

const MAX_POOL_STRATEGIES: usize = 150;

pub(crate) const MAX_CANDIDATES: usize = 12;

/// Lines that are no item are skipped here, and reported by the pass over the whole sample.
pub(crate) fn part_of_file(file: &mut File) -> io::Result<Vec<SampleItem>> {
    let size = file.metadata()?.len();
    let is_small = size <= MAX_PART_BYTES / 4;
    let places = if is_small { 1 } else { FILE_PLACES };
    let most = if is_small { usize::MAX } else { ITEMS_OF_A_PLACE };
    let mut part = Vec::new();
    let mut left = MAX_PART_BYTES;
    // In an order that is all over the file, in case a few large items fill the part.
    for place in (0..places).map(|n| n * PLACE_STRIDE % places) {
        let start = size / places * place;
        file.seek(SeekFrom::Start(start))?;
        let mut reader = BufReader::new(&*file);
        if start > 0 {
            // The rest of the line at this place.
            reader.skip_until(b'\n')?;
        }
        for line in reader.take(left).split(b'\n').map_while(Result::ok).take(most) {
            let text = line.trim_ascii();
            if let Ok(value @ Value::Object(_)) = serde_json::from_slice(text) {
                left = left.saturating_sub(text.len() as u64);
                part.push(SampleItem { bytes: text.len(), value });
            }
        }
    }
    file.seek(SeekFrom::Start(0))?;
    let step = part.len().div_ceil(MAX_PROFILED_ITEMS).max(1);
    Ok(part.into_iter().step_by(step).collect())
}

pub(crate) fn propose(
    items: &[SampleItem],
    requests: &[RequestKind],
    options: &ValidationOptions,
) -> Vec<KeyStrategy> {
    let items = &items[..items.len().min(MAX_PROFILED_ITEMS)];
    let pool = pool::pool(&ItemProfile::new(items), &wishes(requests));
    // The part is a sample of single items, also where the file has whole keys.
    let options = ValidationOptions { whole_keys: None, ..options.clone() };
    let mut counts = SampleCounts::new(pool, requests.to_vec(), options);
    counts.add(items);
    let ranked = rank(findings::reports(&counts)).into_iter();
    // Of two candidates with the same partitions and costs, the simpler is first and enough.
    let mut seen = HashSet::new();
    let footprint = |standing: &RankedCandidate| {
        let report = &standing.report;
        let numbers = [report.cardinality.value, report.by_items.largest, standing.score];
        (family(&report.strategy), numbers.map(|n| (n * 1e6).to_bits()))
    };
    let ranked = ranked.filter(|standing| seen.insert(footprint(standing)));
    varied(ranked.map(|standing| standing.report.strategy))
}

/// The guide's kinds ("Strategy Comparison Matrix"): a value, a time, both, levels, or buckets.
fn family(strategy: &KeyStrategy) -> (bool, bool, bool, bool) {
    let parts: Vec<_> = strategy.parts().collect();
    let has_buckets = parts.iter().any(|part| matches!(part, KeyPart::Bucket(..)));
    let has_levels = !has_buckets && strategy.levels().len() > 1;
    let is_plain = !has_buckets && !has_levels;
    let is_time = is_plain && matches!(parts[..], [KeyPart::Period(..)]);
    (has_buckets, has_levels, is_plain && parts.len() > 1, is_time)
}

/// The best of each kind, then the second of each, and so on, in the order of the ranking.
fn varied(ranked: impl Iterator<Item = KeyStrategy>) -> Vec<KeyStrategy> {
    let mut counts = HashMap::new();
    let rounds = ranked.map(|strategy| {
        let count: &mut usize = counts.entry(family(&strategy)).or_default();
        *count += 1;
        (*count, strategy)
    });
    let mut rounds: Vec<_> = rounds.collect();
    // The sort is stable: within a round, the order is that of the ranking.
    rounds.sort_by_key(|(round, _)| *round);
    rounds.into_iter().take(MAX_CANDIDATES).map(|(_, strategy)| strategy).collect()
}

struct RequestedPaths {
    equal: Vec<PropertyPath>,
    ordered: Vec<PropertyPath>,
}

fn wishes(requests: &[RequestKind]) -> RequestedPaths {
    let sorted = |is_ordered: bool| {
        let mut weights: HashMap<&PropertyPath, f64> = HashMap::new();
        for request in requests {
            let weight = request.per_day().unwrap_or(1.0);
            let filters = request.filters.iter().filter(|(_, it)| it.is_range() == is_ordered);
            let order = request.order_by.iter().filter(|_| is_ordered).map(|order| &order.path);
            for path in filters.map(|(path, _)| path).chain(order) {
                *weights.entry(path).or_default() += weight;
            }
        }
        let mut list: Vec<_> = weights.into_iter().collect();
        list.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(b.0)));
        list.into_iter().map(|(path, _)| path.clone()).collect()
    };
    RequestedPaths { equal: sorted(false), ordered: sorted(true) }
}

#[cfg(test)]
mod tests;
