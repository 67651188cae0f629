//! The load of each logical partition, and its way to the limits. The request units of a kind of request are divided among
//! the partitions by a weight of each:
//!
//! 1. With a period in the key, creates and requests for the newest items go where the recent writes went.
//! 2. All other requests ask for each item equally often, so the weight of a partition is its items.
//! 3. A query in one partition also loads more where there is more to find, up to its limit, and costs more there.

use std::collections::HashMap;

use cosmos_model::partitioning::{KeyPart, KeyStrategy};

use super::ContainerModel;
use crate::{
    checks::{PARTITION_BYTES, PARTITION_REQUEST_UNITS, SECONDS_OF_A_DAY},
    counts::{
        candidate::CandidateCounts,
        request::{MatchedItems, RequestCounts},
    },
    distribution::distribution,
    population::KeyGroup,
    report::{Distribution, NamedLevels, PartitionGrowth, RequestEstimates},
    request::RequestOperation,
    sketch::KeyRow,
    words::float,
};

const MIN_RECENT_WRITES: usize = 200;

pub(crate) struct PartitionLoads<'a> {
    candidate: &'a CandidateCounts,
    groups: &'a [KeyGroup<'a>],
    model: &'a ContainerModel<'a>,
    /// The request units a day of each group; `None` where no request has a frequency.
    request_units: Option<Vec<f64>>,
    recent: Option<HashMap<u64, f64>>,
    period_days: Option<f64>,
    peak: f64,
}

impl<'a> PartitionLoads<'a> {
    pub(crate) fn new(
        candidate: &'a CandidateCounts,
        groups: &'a [KeyGroup<'a>],
        model: &'a ContainerModel<'a>,
        costs: &[RequestEstimates],
        peak: Option<f64>,
    ) -> Self {
        let mut loads = Self {
            candidate,
            groups,
            model,
            request_units: None,
            recent: recent_writes(candidate, groups),
            period_days: period_days(&candidate.strategy),
            peak: peak.unwrap_or(1.0).max(1.0),
        };
        for ((kind, matches), cost) in model.kinds.iter().zip(costs) {
            let Some(per_day) = cost.request_units_per_day else { continue };
            let weights = loads.weights(kind, matches, cost);
            let sum: f64 = loads.rows().zip(&weights).map(|(row, weight)| row.keys * weight).sum();
            let units = loads.request_units.get_or_insert_with(|| vec![0.0; groups.len()]);
            for (units, weight) in units.iter_mut().zip(weights).filter(|_| sum > 0.0) {
                *units += per_day * weight / sum;
            }
        }
        loads
    }

    fn rows(&self) -> impl Iterator<Item = &'a KeyRow<'a>> + Clone + use<'a> {
        self.groups.iter().map(|group| &group.row)
    }

    fn weights(
        &self,
        kind: &RequestCounts,
        matches: &MatchedItems,
        cost: &RequestEstimates,
    ) -> Vec<f64> {
        let rows = self.rows();
        if let Some(recent) = self.recent.as_ref().filter(|_| self.asks_for_the_newest(kind)) {
            return rows.map(|row| recent.get(&row.hash).copied().unwrap_or(0.0)).collect();
        }
        if !cost.is_query || cost.names != NamedLevels::Key {
            return rows.map(|row| row.items).collect();
        }
        let squares: f64 = rows.clone().map(|row| row.items * row.items * row.keys).sum();
        let items: f64 = rows.clone().map(|row| row.items * row.keys).sum();
        let mean_items_of_a_request = (squares / items.max(1.0)).max(1.0);
        let found_share = (matches.mean(|found| found) / mean_items_of_a_request).min(1.0);
        let limit = kind.request.limit.map_or(f64::INFINITY, f64::from);
        let start = (cost.request_units - cost.items_loaded * cost.charge_of_a_load).max(0.0);
        let charge = |items: f64| start + (items * found_share).min(limit) * cost.charge_of_a_load;
        rows.map(|row| row.items * charge(row.items)).collect()
    }

    fn asks_for_the_newest(&self, kind: &RequestCounts) -> bool {
        let creates = kind.steps.iter().all(|step| step.operation == RequestOperation::Create);
        creates
            || kind.last.as_ref().is_some_and(|(_, seconds)| {
                let is_first_page = kind.request.limit.is_some() && kind.request.order_by.is_some();
                let periods = self.period_days.unwrap_or(0.0) * SECONDS_OF_A_DAY;
                is_first_page || float(seconds.unsigned_abs()) <= 2.0 * periods
            })
    }

    pub(crate) fn by(&self, value: impl Fn(&KeyRow<'_>) -> f64) -> Distribution {
        distribution(self.rows().map(|row| (row.key, value(row), row.keys)).collect())
    }

    pub(crate) fn by_request_units(&self) -> Option<Distribution> {
        let rows = self.rows().zip(self.request_units.as_ref()?);
        Some(distribution(rows.map(|(row, units)| (row.key, *units, row.keys)).collect()))
    }

    /// Returns the growth of the largest and the busiest partition.
    ///
    /// Without a period in the key each partition keeps its share of the container. With one, a partition takes the
    /// items of its period, and the next one those after it.
    pub(crate) fn growth(&self) -> PartitionGrowth {
        let model = self.model;
        let items_per_day = model.items_per_day();
        let container_bytes = float(self.candidate.bytes).max(1.0) * model.draw.scale;
        let largest_bytes = self.rows().map(|row| row.bytes).fold(0.0, f64::max);
        let share = match &self.recent {
            Some(recent) => recent.values().copied().fold(0.0, f64::max),
            None if self.period_days.is_none() => largest_bytes / container_bytes,
            None => 0.0,
        };
        // The growth of the largest partition in bytes a day.
        let rate = items_per_day.unwrap_or(0.0) * container_bytes / model.n_items.max(1.0) * share;
        let days_to_20_gb = match self.period_days {
            _ if items_per_day.is_none_or(|items| items <= 0.0) => None,
            _ if largest_bytes >= PARTITION_BYTES => Some(0.0),
            None => Some((PARTITION_BYTES - largest_bytes) / rate),
            Some(period) => Some(PARTITION_BYTES / rate).filter(|days| *days <= period),
        };
        let largest_bytes_in_a_year = match self.period_days {
            None => largest_bytes + 365.0 * rate,
            Some(period) => largest_bytes.max(period * rate),
        };
        let busiest = self
            .request_units
            .as_ref()
            .map(|units| units.iter().copied().fold(0.0, f64::max) / SECONDS_OF_A_DAY * self.peak);
        // With a period in the key, next year's requests go to other partitions, but their number grows the same.
        let in_container = model.options.items_in_container.and(items_per_day);
        let days_to_10_000_ru = busiest.zip(in_container).and_then(|(busiest, items_per_day)| {
            let days_to_double = model.n_items / items_per_day;
            let days = (PARTITION_REQUEST_UNITS / busiest - 1.0) * days_to_double;
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
            ends_with_period: self.period_days.is_some(),
        }
    }
}

/// Returns the shares of recent writes by the hash of the key, where a period in the key makes them
/// differ from those of all items. All writes of an entity, the other parts of the key, count as those of
/// its fullest partition: an entity has one partition at a time, and the sample may have few writes of a day.
fn recent_writes(
    candidate: &CandidateCounts,
    groups: &[KeyGroup<'_>],
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

pub(crate) fn period_days(strategy: &KeyStrategy) -> Option<f64> {
    let days = |part: &KeyPart| match part {
        KeyPart::Period(_, granularity) => Some(f64::from(granularity.most_days())),
        _ => None,
    };
    strategy.parts().filter_map(days).min_by(f64::total_cmp)
}
