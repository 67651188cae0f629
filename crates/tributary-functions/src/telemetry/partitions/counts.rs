//! The use of one container in one period, in bounded memory.

use datasketches::{
    error::Error,
    frequencies::{ErrorType, FrequentItemsSketch},
    hll::{HllSketch, HllType},
};

use super::skew::gini;
use crate::telemetry::Cost;

/// The entries in the table of a sketch, which holds three quarters of them.
///
/// Up to 768 logical partitions are counted exactly. Beyond that, a partition lacks at most 0.34 % of
/// the window's sum (3.5 / 1,024: the sketch's `epsilon`; Anderson et al., *A high-performance
/// algorithm for identifying frequent items in data streams*, 2017), and one that has more than that
/// is never missing. Two sketches take at most 140 KB for a container, with hashed names.
const SKETCH_ENTRIES: usize = 1_024;

/// The binary logarithm of the registers of the sketch that counts partitions beyond those: 2^11 registers
/// have a standard error of 2.3 %.
const LG_REGISTERS: u8 = 11;

const MAX_NAMED_PARTITIONS: usize = 10;

pub(super) struct ContainerCounts {
    requests: u64,
    throttled: u64,
    hundredths_of_ru: u64,
    queries: u64,
    cross_partition_queries: u64,
    by_units: FrequentItemsSketch<String>,
    by_requests: FrequentItemsSketch<String>,
    names: HllSketch,
}

#[derive(Debug, PartialEq)]
pub(super) struct PartitionSummary {
    /// Requests to the store, the retries of the SDK included.
    pub(super) requests: u64,
    /// Those that were answered with 429.
    pub(super) throttled: u64,
    pub(super) request_units: f64,
    pub(super) queries: u64,
    pub(super) cross_partition_queries: u64,
    pub(super) partitions: u64,
    /// The Gini coefficient of their request units, or a lower bound of it.
    pub(super) gini: Option<f64>,
    /// The most request units that the figure of a partition may lack; 0 if each partition was counted.
    pub(super) error: f64,
    /// Those that used most, the hottest first.
    pub(super) top: Vec<HotPartition>,
}

/// A logical partition that used many request units. The figures are lower bounds.
#[derive(Debug, PartialEq)]
pub(super) struct HotPartition {
    pub(super) name: String,
    pub(super) request_units: f64,
    pub(super) requests: u64,
}

impl ContainerCounts {
    /// Creates empty counts. Fails if the constants of this module are no sizes of sketches.
    pub(super) fn new() -> Result<Self, Error> {
        Ok(Self {
            requests: 0,
            throttled: 0,
            hundredths_of_ru: 0,
            queries: 0,
            cross_partition_queries: 0,
            by_units: FrequentItemsSketch::new(SKETCH_ENTRIES)?,
            by_requests: FrequentItemsSketch::new(SKETCH_ENTRIES)?,
            names: HllSketch::new(LG_REGISTERS, HllType::Hll8)?,
        })
    }

    /// Counts the cost of an operation on a partition; `None` is an operation on several partitions.
    pub(super) fn add(&mut self, partition: Option<&str>, begins_query: bool, cost: Cost) {
        let hundredths = hundredths(cost.request_units);
        self.requests += cost.requests;
        self.throttled += cost.throttled;
        self.hundredths_of_ru += hundredths;
        self.queries += u64::from(begins_query);
        self.cross_partition_queries += u64::from(begins_query && partition.is_none());
        if let Some(name) = partition
            && hundredths > 0
        {
            self.by_units.update_with_count_ref(name, hundredths);
            self.by_requests.update_with_count_ref(name, cost.requests);
            self.names.update(name);
        }
    }

    pub(super) fn summary(&self) -> PartitionSummary {
        let rows = self.by_units.frequent_items(ErrorType::NoFalseNegatives);
        let mut known: Vec<f64> = rows.iter().map(|row| units(row.lower_bound())).collect();
        let tracked = rows.len() as u64;
        let partitions = if self.by_units.maximum_error() == 0 {
            tracked
        } else {
            tracked.max(rounded(self.names.estimate()))
        };
        let rest = units(self.by_units.total_weight()) - known.iter().sum::<f64>();
        let hot = |row: &datasketches::frequencies::Row<String>| HotPartition {
            name: row.item().clone(),
            request_units: units(row.lower_bound()),
            requests: self.by_requests.lower_bound(row.item()),
        };
        PartitionSummary {
            requests: self.requests,
            throttled: self.throttled,
            request_units: units(self.hundredths_of_ru),
            queries: self.queries,
            cross_partition_queries: self.cross_partition_queries,
            partitions,
            gini: gini(&mut known, rest.max(0.0), partitions - tracked),
            error: units(self.by_units.maximum_error()),
            top: rows.iter().take(MAX_NAMED_PARTITIONS).map(hot).collect(),
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "2^53 hundredths are 90 trillion units")]
fn units(hundredths: u64) -> f64 {
    hundredths as f64 / 100.0
}

/// Returns hundredths of request units, at most 2^32, so that no sum overflows.
fn hundredths(request_units: f64) -> u64 {
    rounded(request_units * 100.0).min(u32::MAX.into())
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a cast saturates, and makes 0 of what is negative or no number"
)]
fn rounded(number: f64) -> u64 {
    number.round() as u64
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;

    fn cost(request_units: f64) -> Cost {
        Cost { request_units, requests: 1, throttled: 0 }
    }

    impl PartitionSummary {}

    /// The error that the sketch promises.
    fn most(total: f64) -> f64 {
        total * FrequentItemsSketch::<String>::epsilon_for_max_map_size(SKETCH_ENTRIES).unwrap()
    }

    fn counts(uses: impl IntoIterator<Item = (u32, u32)>) -> ContainerCounts {
        let mut counts = ContainerCounts::new().unwrap();
        for (partition, hundredths) in uses {
            let units = f64::from(hundredths) / 100.0;
            counts.add(Some(&format!("p{partition}")), false, cost(units));
        }
        counts
    }

    #[test]
    fn a_cross_partition_query_counts_for_no_partition() {
        let mut counts = counts([(1, 100)]);
        for (partition, begins) in [(None, true), (None, false), (Some("p1"), true)] {
            counts.add(partition, begins, cost(10.0));
        }
        let summary = counts.summary();
        assert_eq!((summary.queries, summary.cross_partition_queries), (2, 1));
        assert_eq!((summary.partitions, summary.top[0].requests), (1, 2));
        assert!((summary.request_units - 31.0).abs() < 1e-9);
    }

    #[test]
    fn a_hot_partition_is_found_among_more_than_the_sketch_holds() {
        let spread = (0..20_000).map(|partition| (partition, 100));
        let hot = (0..20_000).map(|_| (1_000_000, 100));
        let summary = counts(spread.zip(hot).flat_map(|(one, other)| [one, other])).summary();
        assert_eq!(summary.top[0].name, "p1000000");
        assert!(summary.top[0].request_units + summary.error >= 20_000.0);
        assert!(summary.error <= most(40_000.0));
        assert!((19_000..=21_500).contains(&summary.partitions), "{}", summary.partitions);
        let gini = summary.gini.unwrap();
        assert!((0.45..=0.5).contains(&gini), "half of the load is spread evenly: {gini}");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        /// A figure is never above the real use, and lacks at most the error.
        #[test]
        fn the_error_of_a_count_is_bounded_for_any_use(
            uses in prop::collection::vec((0..4_000_u32, 0..500_u32), 1..12_000),
        ) {
            let mut exact = HashMap::<u32, u64>::new();
            for (partition, hundredths) in &uses {
                *exact.entry(*partition).or_default() += u64::from(*hundredths);
            }
            let counts = counts(uses);
            let error = counts.by_units.maximum_error();
            let total: u64 = exact.values().sum();
            prop_assert!(units(error) <= most(units(total)));
            for (partition, used) in &exact {
                let told = counts.by_units.lower_bound(&*format!("p{partition}"));
                prop_assert!(told <= *used && *used <= told + error);
            }
            let summary = counts.summary();
            let mut all: Vec<f64> = exact.values().map(|used| units(*used)).filter(|used| *used > 0.0).collect();
            let count = all.len() as u64;
            if error == 0 {
                prop_assert_eq!(summary.partitions, count);
                let exact = gini(&mut all, 0.0, 0).unwrap_or(0.0);
                prop_assert!((summary.gini.unwrap_or(0.0) - exact).abs() < 1e-9);
            }
        }
    }
}
