//! Writes over time: the busiest window, and the heat of each key.

use std::{cmp::Reverse, collections::HashMap, hash::Hash};

use cosmos_model::partitioning::path::PropertyPath;

use crate::{
    checks::MIN_WINDOW_WRITES,
    counts::{candidate::CandidateCounts, times},
    report::{CreationTimes, WriteHotness},
    words::{count, float, time_text},
};

const WINDOW_SECONDS: [u32; 3] = [60, 3_600, 86_400];

pub(crate) fn times(candidate: &CandidateCounts, path: &PropertyPath) -> Option<CreationTimes> {
    let all: Vec<i64> = candidate.events.iter().map(|event| event.time).collect();
    let writes = candidate.writes();
    let left_out = count(float((all.len() - writes.len()) as u64) * weight(candidate));
    Some(CreationTimes {
        path: path.to_string(),
        oldest: text(writes.iter().map(|event| event.time).min()?),
        newest: text(writes.iter().map(|event| event.time).max()?),
        left_out,
        are_of_creation: *path != PropertyPath::from_name("_ts") || times::are_of_creation(all),
    })
}

fn weight(candidate: &CandidateCounts) -> f64 {
    let n_kept = float(candidate.events.iter().len() as u64);
    if candidate.events.is_all() { 1.0 } else { float(candidate.n_items) / n_kept }
}

pub(crate) fn hotness(
    candidate: &CandidateCounts,
    times: Option<&CreationTimes>,
) -> Option<WriteHotness> {
    let events = times.filter(|times| times.are_of_creation).map(|_| candidate.writes())?;
    let oldest = events.iter().map(|event| event.time).min()?;
    let newest = events.iter().map(|event| event.time).max()?;
    let busiest_of = |seconds: u32| {
        let windows = events.iter().map(|event| event.time.div_euclid(i64::from(seconds)));
        most_frequent(windows).map(|(window, n)| (seconds, window, n))
    };
    let mut busiest = WINDOW_SECONDS.into_iter().filter_map(busiest_of);
    let (seconds, window, n) = busiest.find(|(seconds, _, n)| {
        *n >= MIN_WINDOW_WRITES || *seconds == WINDOW_SECONDS[WINDOW_SECONDS.len() - 1]
    })?;
    let length = i64::from(seconds);
    let in_window = events.iter().filter(|event| event.time.div_euclid(length) == window);
    let (hottest, n_hottest) = most_frequent(in_window.map(|event| event.key))?;
    let n_windows = newest.div_euclid(length) - oldest.div_euclid(length) + 1;
    let mean = float(events.len() as u64) / float(n_windows.unsigned_abs());
    Some(WriteHotness {
        window_seconds: seconds,
        busiest: text(window * length),
        writes: count(float(n) * weight(candidate)),
        share: float(n_hottest) / float(n),
        key: name(candidate, hottest),
        peak_over_mean: if n >= MIN_WINDOW_WRITES { float(n) / mean } else { 1.0 },
    })
}

fn most_frequent<T: Hash + Ord + Copy>(values: impl Iterator<Item = T>) -> Option<(T, u64)> {
    let mut counts = HashMap::new();
    for value in values {
        *counts.entry(value).or_insert(0_u64) += 1;
    }
    counts.into_iter().max_by_key(|(value, n)| (*n, Reverse(*value)))
}

/// Returns the key behind a hash. Of very many keys, those with few items are not kept.
fn name(candidate: &CandidateCounts, hash: u64) -> String {
    let rows = candidate.partitions.rows();
    let named = rows.iter().find(|row| row.hash == hash);
    named.map_or_else(|| "one of very many keys".to_owned(), |row| row.key.to_string())
}

fn text(seconds: i64) -> String {
    time_text(seconds).unwrap_or_default()
}
