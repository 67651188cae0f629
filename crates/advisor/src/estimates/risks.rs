//! The risks of a key in request units, beside those of its requests.
//!
//! Each is continuous, and weighted by the request units behind it:
//!
//! 1. **Fan-out** (`cross-partition-queries`). The requests that visit all physical partitions cost
//!    more with each that is added. With `P` of them their request units count `1 - 1 / P` times more:
//!    not at all in one, at most twice.
//! 2. **Idle throughput** (`hot-partition`). The service divides the throughput evenly among the physical
//!    partitions. The physical partition of the busiest logical one needs at least the load of that one,
//!    so `P` times as much is bought for the container, and the rest is idle. The risk counts in full where
//!    the busiest takes [`FAR_REQUEST_UNITS`] a second at the peak, and in proportion below: few
//!    requests fit into the smallest throughput.
//! 3. **Limits** (`large-partition`, `throughput-limit`). The largest logical partition in a year as a
//!    part of 20 GB, the busiest as a part of 10,000 RU/s: from half of it on, up to all request units
//!    again at the limit, and in proportion beyond, where the service refuses requests.
//! 4. **Moves** (`changing-key`). A request that changes the key deletes and creates each item instead,
//!    without a transaction: its request units count three times.
//! 5. **Items without a key** (`invalid-key`, `missing-key`): their share, [`UNKEYED_WEIGHT`] times.

use super::RequestCost;
use super::model::ContainerModel;
use crate::{
    checks::{
        CHANGING_KEY, CROSS_PARTITION_QUERIES, FAR_REQUEST_UNITS, HOT_PARTITION, INVALID_KEY,
        LARGE_PARTITION, MIN_WINDOW_WRITES, MISSING_KEY, THROUGHPUT_LIMIT,
    },
    counts::{candidate::CandidateCounts, request::RequestCounts},
    limits::{PARTITION_BYTES, PARTITION_REQUEST_UNITS},
    report::{KeyRisk, PartitionGrowth, WriteHotness},
    request::RequestOperation,
    words::float,
};

/// The weight of items without a key: a tenth of the items counts as much as all request units.
const UNKEYED_WEIGHT: f64 = 10.0;

/// The largest factor of a year's growth, since a straight line into the future is uncertain.
const MAX_GROWTH_FACTOR: f64 = 2.0;

/// The input of the risks, beside the candidate.
pub(super) struct RiskBasis<'a> {
    pub(super) model: &'a ContainerModel<'a>,
    pub(super) costs: &'a [RequestCost],
    pub(super) physical: f64,
    pub(super) growth: &'a PartitionGrowth,
    /// The share of the busiest logical partition in the load.
    pub(super) busiest: f64,
    pub(super) hotness: Option<&'a WriteHotness>,
}

impl RiskBasis<'_> {
    /// Returns the risks with costs.
    pub(super) fn risks(&self, candidate: &CandidateCounts) -> Vec<KeyRisk> {
        let total = self.sum(|_, _| true);
        let growth = self.growth;
        let missing =
            if candidate.is_computed() { candidate.keys.missing + candidate.keys.null } else { 0 };
        let keys = &candidate.keys;
        let share = |n: u64| float(n) / float(candidate.n_items.max(1));
        let limit = |part: f64| (2.0 * part - 1.0).max(0.0);
        let risks = [
            (CROSS_PARTITION_QUERIES, self.fan_out()),
            (HOT_PARTITION, self.idle_throughput(total)),
            (LARGE_PARTITION, total * limit(growth.largest_bytes_in_a_year / PARTITION_BYTES)),
            (THROUGHPUT_LIMIT, total * limit(self.busiest_in_a_year() / PARTITION_REQUEST_UNITS)),
            (CHANGING_KEY, self.moves(candidate)),
            (MISSING_KEY, total * UNKEYED_WEIGHT * share(missing)),
            (
                INVALID_KEY,
                total * UNKEYED_WEIGHT * share(keys.not_scalar + keys.not_a_time + keys.too_long),
            ),
        ];
        let risks = risks.map(|(code, request_units)| KeyRisk { code, request_units });
        risks.into_iter().filter(|risk| risk.request_units > 0.0).collect()
    }

    fn sum(&self, of: impl Fn(&RequestCounts, &RequestCost) -> bool) -> f64 {
        let kinds = self.model.kinds.iter().zip(self.costs);
        let chosen = kinds.filter(|((kind, _), cost)| of(kind, cost));
        chosen.map(|((kind, _), cost)| self.model.weight(kind) * cost.charge).sum()
    }

    fn fan_out(&self) -> f64 {
        self.sum(|_, cost| cost.fans_out) * (1.0 - 1.0 / self.physical.max(1.0))
    }

    fn idle_throughput(&self, total: f64) -> f64 {
        // Creates may be concentrated at each time, though they are spread over all times.
        let creates = self.sum(|kind, _| kind.request.operation == RequestOperation::Create);
        let hotness = self.hotness.filter(|hotness| hotness.writes >= MIN_WINDOW_WRITES);
        let hot_creates = hotness.map_or(0.0, |hotness| hotness.share * creates / total.max(1.0));
        let idle = (self.physical * self.busiest.max(hot_creates) - 1.0).max(0.0);
        let busy = self.growth.busiest_request_units_per_second.unwrap_or(0.0) / FAR_REQUEST_UNITS;
        total * idle * busy.min(1.0)
    }

    fn busiest_in_a_year(&self) -> f64 {
        let now = self.growth.busiest_request_units_per_second.unwrap_or(0.0);
        let growth = self.growth.growth_in_a_year.unwrap_or(1.0).min(MAX_GROWTH_FACTOR);
        now * growth
    }

    fn moves(&self, candidate: &CandidateCounts) -> f64 {
        let parts = candidate.strategy.levels().iter().flatten();
        let paths: Vec<_> = parts.map(cosmos_model::partitioning::KeyPart::path).collect();
        let changing = self.sum(|kind, _| kind.request.sets_one_of(&paths));
        2.0 * changing
    }
}
