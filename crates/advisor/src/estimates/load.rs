//! The load of each logical partition, and its way to the limits.

use std::collections::HashMap;

use cosmos_model::partitioning::{Key, KeyPart, KeyStrategy, period::Granularity};

use super::RequestCost;
use super::model::{ContainerModel, steps};
use crate::{
    counts::{candidate::CandidateCounts, request::RequestCounts},
    distribution::{self, distribution},
    limits::{PARTITION_BYTES, PARTITION_REQUEST_UNITS, SECONDS_OF_A_DAY},
    population::KeyGroup,
    report::{Distribution, NamedLevels, PartitionGrowth},
    request::RequestOperation,
    sketch::float,
};

/// The number of recent writes at least, where a day has fewer.
const MIN_RECENT_WRITES: usize = 200;

/// Load by logical partition.
pub(crate) struct PartitionLoads<'a> {
    candidate: &'a CandidateCounts,
    model: &'a ContainerModel<'a>,
    partitions: Vec<LoadedPartition<'a>>,
    /// The shares of the recent writes, by the hash of the key; `None` where they are those of all items.
    recent: Option<HashMap<u64, f64>>,
    has_requests: bool,
    peak: Option<f64>,
}

/// A logical partition, or a sampled one that stands for several.
struct LoadedPartition<'a> {
    key: &'a Key,
    hash: u64,
    items: f64,
    bytes: f64,
    keys: f64,
    request_units_per_day: f64,
    /// Its measured share in the reads, and the part of its items whose keys were measured.
    observed: f64,
    measured_items: f64,
}

impl<'a> PartitionLoads<'a> {
    pub(crate) fn new(
        candidate: &'a CandidateCounts,
        groups: &'a [KeyGroup<'a, ()>],
        model: &'a ContainerModel<'a>,
        costs: &[RequestCost],
        peak: Option<f64>,
    ) -> Self {
        let partitions = groups.iter().map(|KeyGroup { row, .. }| LoadedPartition {
            hash: row.hash,
            key: row.key,
            items: row.items,
            bytes: row.bytes,
            keys: row.keys,
            request_units_per_day: 0.0,
            observed: 0.0,
            measured_items: 0.0,
        });
        let mut partitions: Vec<_> = partitions.collect();
        let observed = observe(&mut partitions, candidate, groups, model);
        let recent = recent_writes(candidate, groups);
        let n_items: f64 = partitions.iter().map(|one| one.items * one.keys).sum();
        let squares: f64 = partitions.iter().map(|one| one.items * one.items * one.keys).sum();
        let mean_asked = squares / n_items.max(1.0);
        let mut has_requests = false;
        #[expect(clippy::cast_possible_truncation, reason = "a period is at most a year")]
        let period_seconds =
            period_days(&candidate.strategy).map_or(0, |days| (days * SECONDS_OF_A_DAY) as i64);
        for ((kind, matches), cost) in model.kinds.iter().zip(costs) {
            let Some(per_day) = kind.request.per_day() else { continue };
            has_requests = true;
            let found_of_partition = (matches.mean(|found| found) / mean_asked.max(1.0)).min(1.0);
            let limit = kind.request.limit.map_or(f64::INFINITY, f64::from);
            let start = (cost.charge - cost.loaded * cost.charge_of_a_load).max(0.0);
            let follows_time = recent.as_ref().filter(|_| is_of_now(kind, period_seconds));
            let weight = |one: &LoadedPartition<'_>| match follows_time {
                Some(recent) => recent.get(&one.hash).copied().unwrap_or(0.0),
                // Requests often ask for values that many items have, and a query also loads more of them.
                None if cost.is_query && cost.names == NamedLevels::Key => {
                    let loaded = (one.items * found_of_partition).min(limit);
                    one.items * (start + loaded * cost.charge_of_a_load)
                }
                None => one.items,
            };
            let as_measured =
                observed > 0.0 && follows_time.is_none() && kind.request.operation.is_read();
            let unmeasured = |one: &LoadedPartition<'_>| {
                if as_measured { 1.0 - one.measured_items } else { 1.0 }
            };
            let weight = |one: &LoadedPartition<'_>| weight(one) * unmeasured(one);
            let weights: Vec<f64> = partitions.iter().map(weight).collect();
            let sum: f64 = weights.iter().zip(&partitions).map(|(w, one)| w * one.keys).sum();
            let measured = if as_measured { observed } else { 0.0 };
            let request_units = per_day * cost.charge;
            for (one, weight) in partitions.iter_mut().zip(weights) {
                if sum > 0.0 {
                    one.request_units_per_day += request_units * (1.0 - measured) * weight / sum;
                }
                if as_measured {
                    one.request_units_per_day += request_units * one.observed;
                }
            }
        }
        Self { candidate, model, partitions, recent, has_requests, peak }
    }

    pub(crate) fn by_items(&self) -> Distribution {
        self.by(|one| one.items)
    }

    pub(crate) fn by_bytes(&self) -> Distribution {
        self.by(|one| one.bytes)
    }

    pub(crate) fn by_request_units(&self) -> Option<Distribution> {
        self.has_requests.then(|| self.by(|one| one.request_units_per_day))
    }

    /// Returns the share of the busiest partition in the load; in the items, without requests.
    pub(crate) fn busiest(&self) -> f64 {
        let of = |value: fn(&LoadedPartition<'_>) -> f64| {
            let most = self.partitions.iter().map(value).fold(0.0, f64::max);
            let all: f64 = self.partitions.iter().map(|one| value(one) * one.keys).sum();
            if all > 0.0 { most / all } else { 0.0 }
        };
        if self.has_requests { of(|one| one.request_units_per_day) } else { of(|one| one.items) }
    }

    fn by(&self, value: impl Fn(&LoadedPartition<'_>) -> f64) -> Distribution {
        let parts = self.partitions.iter().map(|one| distribution::PartitionValue {
            key: one.key,
            value: value(one),
            keys: one.keys,
        });
        distribution(parts.collect())
    }

    pub(crate) fn growth(&self) -> PartitionGrowth {
        let candidate = self.candidate;
        let model = self.model;
        let most = |value: fn(&LoadedPartition<'_>) -> f64| {
            self.partitions.iter().map(value).fold(0.0, f64::max)
        };
        let items_per_day = model.items_per_day();
        let all_bytes = float(candidate.bytes).max(1.0) * model.draw.scale;
        let bytes_per_day = items_per_day.map(|items| items * all_bytes / model.n_items.max(1.0));
        let largest_bytes = most(|one| one.bytes);
        let period_days = period_days(&candidate.strategy);
        let days_to_20_gb = bytes_per_day.filter(|rate| *rate > 0.0).and_then(|bytes_per_day| {
            match period_days {
                None => {
                    let rate = bytes_per_day * largest_bytes / all_bytes;
                    Some(((PARTITION_BYTES - largest_bytes) / rate).max(0.0))
                }
                Some(_) if largest_bytes >= PARTITION_BYTES => Some(0.0),
                // A partition takes the items of its period. The next one takes those after it.
                Some(period_days) => {
                    let recent = self.recent.as_ref()?.values().copied().fold(0.0, f64::max);
                    let days = PARTITION_BYTES / (bytes_per_day * recent);
                    (days <= period_days).then_some(days)
                }
            }
        });
        // With a period in the key, the items of one period.
        let largest_bytes_in_a_year = match (bytes_per_day, period_days) {
            (Some(bytes_per_day), None) => {
                largest_bytes + 365.0 * bytes_per_day * largest_bytes / all_bytes
            }
            (Some(bytes_per_day), Some(days)) => {
                let recent = self.recent.iter().flat_map(HashMap::values).copied();
                largest_bytes.max(bytes_per_day * days * recent.fold(0.0, f64::max))
            }
            (None, _) => largest_bytes,
        };
        let busiest = most(|one| one.request_units_per_day);
        let busiest = self
            .has_requests
            .then(|| busiest / SECONDS_OF_A_DAY * self.peak.unwrap_or(1.0).max(1.0));
        let in_container = model.options.items_in_container.and(items_per_day);
        let days_to_10_000_ru = busiest.zip(in_container).and_then(|(busiest, items_per_day)| {
            let days_to_double = model.n_items / items_per_day;
            let days = (PARTITION_REQUEST_UNITS / busiest - 1.0) * days_to_double;
            // With a period in the key, next year's requests go to other partitions, but their number grows the same.
            days.is_finite().then_some(days.max(0.0))
        });
        PartitionGrowth {
            items_per_day,
            largest_bytes,
            largest_bytes_in_a_year,
            growth_in_a_year: in_container.map(|new| 1.0 + 365.0 * new / model.n_items),
            days_to_20_gb,
            busiest_request_units_per_second: busiest,
            days_to_10_000_ru,
            ends_with_period: period_days.is_some(),
        }
    }
}

/// Sets the measured shares of the partitions in the reads, and returns their sum. A partition that stands
/// for several keys is divided: one of them was measured.
fn observe<'a>(
    partitions: &mut Vec<LoadedPartition<'a>>,
    candidate: &'a CandidateCounts,
    groups: &[KeyGroup<'_, ()>],
    model: &ContainerModel<'_>,
) -> f64 {
    let Some(reads) = &model.options.reads else { return 0.0 };
    let by_hash: HashMap<u64, usize> =
        partitions.iter().enumerate().map(|(at, one)| (one.hash, at)).collect();
    let mut sum = 0.0;
    for hot in candidate.hot.shares(reads, model.observed_items) {
        sum += hot.share;
        let at = by_hash.get(&hot.hash).copied();
        let in_sample = at.map_or(hot.items, |at| groups[at].drawn_items).max(hot.items);
        let mut one = LoadedPartition {
            key: hot.key,
            hash: hot.hash,
            items: hot.items * model.draw.scale,
            bytes: float(candidate.bytes) / float(candidate.n_items.max(1))
                * hot.items
                * model.draw.scale,
            keys: 1.0,
            request_units_per_day: 0.0,
            observed: hot.share,
            measured_items: hot.items / in_sample,
        };
        if let Some(known) = at.map(|at| &mut partitions[at]) {
            (one.items, one.bytes) = (known.items, known.bytes);
            known.keys = (known.keys - 1.0).max(0.0);
        }
        partitions.push(one);
    }
    partitions.retain(|one| one.keys > 0.0);
    sum
}

/// Returns true if requests of this kind go to the newest items, and not to several periods.
fn is_of_now(kind: &RequestCounts, period_seconds: i64) -> bool {
    match kind.request.operation {
        RequestOperation::Create => true,
        RequestOperation::Transaction => {
            steps(kind).iter().all(|step| step.operation == RequestOperation::Create)
        }
        _ => kind.last.as_ref().is_some_and(|(_, seconds)| {
            let is_first_page = kind.request.limit.is_some() && kind.request.order_by.is_some();
            is_first_page || *seconds <= 2 * period_seconds
        }),
    }
}

/// Returns the shares of recent writes by the hash of the key, where a period in the key makes them
/// differ from those of all items. All writes of an entity, the other parts of the key, count as those of
/// its fullest partition: an entity has one partition at a time, and the sample may have few writes of a day.
fn recent_writes(
    candidate: &CandidateCounts,
    groups: &[KeyGroup<'_, ()>],
) -> Option<HashMap<u64, f64>> {
    period_days(&candidate.strategy)?;
    let mut events = candidate.writes();
    events.sort_unstable_by_key(|event| (std::cmp::Reverse(event.time), event.key));
    let newest = events.first()?.time;
    let n_of_a_day = events.partition_point(|event| event.time > newest - 86_400);
    events.truncate(n_of_a_day.max(MIN_RECENT_WRITES));
    let share = 1.0 / float(events.len() as u64);
    let mut counts: HashMap<u64, HashMap<u64, u32>> = HashMap::new();
    for event in events {
        *counts.entry(event.entity).or_default().entry(event.key).or_default() += 1;
    }
    let mut shares = HashMap::new();
    for keys in counts.values() {
        let fullest = keys.iter().max_by_key(|(key, n)| (**n, **key));
        let all: u32 = keys.values().sum();
        shares.extend(fullest.map(|(key, _)| (*key, share * f64::from(all))));
    }
    // A key of the sample stands for others, which share its writes.
    for group in groups.iter().filter(|group| group.behind > 1.0) {
        if let Some(share) = shares.get_mut(&group.row.hash) {
            *share /= group.behind;
        }
    }
    Some(shares)
}

/// Returns the length of the shortest period in the key, in days.
pub(crate) fn period_days(strategy: &KeyStrategy) -> Option<f64> {
    let days = |part: &KeyPart| match part {
        KeyPart::Period(_, granularity) => Some(match granularity {
            Granularity::Day => 1.0,
            Granularity::Week => 7.0,
            Granularity::Month => 31.0,
            Granularity::Quarter => 92.0,
            Granularity::Year => 366.0,
        }),
        _ => None,
    };
    strategy.levels().iter().flatten().filter_map(days).min_by(f64::total_cmp)
}
