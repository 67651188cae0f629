//! The use of one container in one period, in bounded memory.

use datasketches::{
    error::Error,
    frequencies::{ErrorType, FrequentItemsSketch},
    hll::{HllSketch, HllType},
};

use crate::telemetry::Cost;

/// Up to 768 logical partitions are counted exactly. Beyond that, a partition lacks at most 0.34 % of the window's
/// sum (3.5 / 1,024: the sketch's `epsilon`), and one that has more than that is never missing. Two sketches
/// take at most 140 KB for a container, with hashed names.
const SKETCH_ENTRIES: usize = 1_024;

/// 2^11 registers have a standard error of 2.3 %.
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
pub(in crate::telemetry) struct PartitionSummary {
    /// Requests to the store, the retries of the SDK included.
    pub requests: u64,
    /// Those that were answered with 429.
    pub throttled: u64,
    pub request_units: f64,
    pub queries: u64,
    pub cross_partition_queries: u64,
    pub partitions: u64,
    /// The Gini coefficient of their request units, or a lower bound of it.
    pub gini: Option<f64>,
    /// The most request units that the figure of a partition may lack; 0 if each partition was counted.
    pub error: f64,
    /// Those that used most, the hottest first.
    pub top: Vec<HotPartition>,
}

/// A logical partition that used many request units. The figures are lower bounds.
#[derive(Debug, PartialEq)]
pub(in crate::telemetry) struct HotPartition {
    pub name: String,
    pub request_units: f64,
    pub requests: u64,
}

impl PartitionSummary {
    pub(in crate::telemetry) fn hottest_units(&self) -> f64 {
        self.top.first().map_or(0.0, |hot| hot.request_units)
    }
}

impl ContainerCounts {
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

/// Returns a lower bound of the Gini coefficient; `None` without a load. `known` are lower bounds of loads, `others` is
/// the number of further loads, and `rest` is the sum of all loads minus that of `known`. The most even loads that
/// agree with this are taken: the smallest are raised together until the sum is reached (water-filling). All other
/// choices majorize them, and the coefficient is Schur-convex. It is exact where each load is known.
pub(super) fn gini(known: &mut [f64], rest: f64, others: u64) -> Option<f64> {
    known.sort_by(f64::total_cmp);
    #[expect(clippy::cast_precision_loss, reason = "numbers of partitions are far below 2^53")]
    let (others, all) = (others as f64, (known.len() as u64 + others) as f64);
    let total = known.iter().sum::<f64>() + rest;
    if total <= 0.0 || all < 1.0 {
        return None;
    }
    // The loads that are raised, to the same level.
    let mut raised = others;
    let mut water = rest;
    let mut above = &*known;
    while let [next, larger @ ..] = above
        && *next * raised <= water
    {
        raised += 1.0;
        water += next;
        above = larger;
    }
    // Twice the area below the Lorenz curve, as trapezoids from the smallest load up.
    let mut below = raised * water;
    let mut sum = water;
    for load in above {
        below += 2.0 * sum + load;
        sum += load;
    }
    Some((1.0 - below / (all * total)).clamp(0.0, 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cost(request_units: f64) -> Cost {
        Cost { request_units, requests: 1, throttled: 0 }
    }

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

    #[test]
    fn the_gini_coefficient_of_all_loads_is_exact_and_of_some_a_lower_bound() {
        let gini = |known: &[f64], rest, others| {
            gini(&mut known.to_vec(), rest, others).map(|gini| (gini * 1_000.0).round())
        };
        assert_eq!(gini(&[], 0.0, 0), None);
        assert_eq!(gini(&[2.0, 2.0], 0.0, 0), Some(0.0));
        assert_eq!(gini(&[1.0, 3.0], 0.0, 0), Some(250.0));
        assert_eq!(gini(&[9.0, 1.0, 1.0, 1.0], 0.0, 0), Some(500.0));
        assert_eq!(gini(&[8.0, 1.0], 3.0, 2), Some(417.0), "8 and four thirds, three times");
    }
}
