//! The risks of a key in request units, beside those of its requests: the table of the README. Each is continuous.
//!
//! - `hot-partition`: the service divides the throughput evenly among the physical partitions. The need of the busiest
//!   counts in full where it takes [`FAR_REQUEST_UNITS`] a second at the peak, and in proportion below.
//! - `changing-key`: the item is deleted and created anew, so the request units count three times.

use crate::{
    checks::{
        self, FAR_REQUEST_UNITS, MIN_WINDOW_WRITES, PARTITION_BYTES, PARTITION_REQUEST_UNITS,
    },
    report::{self, CandidateReport, KeyRisk, RequestEstimates},
    request::RequestOperation,
    words::float,
};

/// The weight of items without a key: a tenth of the items counts as much as all request units.
const UNKEYED_WEIGHT: f64 = 10.0;

/// The largest factor of a year's growth, since a straight line into the future is uncertain.
const MAX_GROWTH_FACTOR: f64 = 2.0;

pub(super) fn risks(estimates: &CandidateReport) -> Vec<KeyRisk> {
    let sum = |of: fn(&RequestEstimates) -> bool| {
        report::sum(&estimates.requests, |cost| if of(cost) { cost.request_units } else { 0.0 })
    };
    let total = sum(|_| true);
    let physical = estimates.physical_partitions.max(1.0);
    let fan_out = sum(|cost| cost.fans_out) * (1.0 - 1.0 / physical);
    let growth = &estimates.growth;
    let busiest = growth.busiest_request_units_per_second.unwrap_or(0.0);
    // Creates may be concentrated at each time, though they are spread over all times.
    let creates = sum(|cost| cost.operation == RequestOperation::Create);
    let hotness = estimates.hotness.as_ref().filter(|hot| hot.writes >= MIN_WINDOW_WRITES);
    let hot_creates = hotness.map_or(0.0, |hotness| hotness.share * creates / total.max(1.0));
    let largest = estimates.by_load().largest;
    let idle = (estimates.physical_partitions * largest.max(hot_creates) - 1.0).max(0.0);
    let idle_throughput = total * idle * (busiest / FAR_REQUEST_UNITS).min(1.0);
    let in_a_year = busiest * growth.growth_in_a_year.unwrap_or(1.0).min(MAX_GROWTH_FACTOR);
    let limit = |part: f64| total * (2.0 * part - 1.0).max(0.0);
    let moves = 2.0 * sum(|cost| cost.changes.is_some());
    let keys = &estimates.keys;
    let unkeyed = |n: u64| total * UNKEYED_WEIGHT * float(n) / float(estimates.items.max(1));
    let missing = if estimates.strategy.is_computed() { keys.missing + keys.null } else { 0 };
    let risks = [
        (checks::CROSS_PARTITION_QUERIES, fan_out),
        (checks::HOT_PARTITION, idle_throughput),
        (checks::LARGE_PARTITION, limit(growth.largest_bytes_in_a_year / PARTITION_BYTES)),
        (checks::THROUGHPUT_LIMIT, limit(in_a_year / PARTITION_REQUEST_UNITS)),
        (checks::CHANGING_KEY, moves),
        (checks::MISSING_KEY, unkeyed(missing)),
        (checks::INVALID_KEY, unkeyed(keys.not_scalar + keys.not_a_time + keys.too_long)),
    ];
    let risks = risks.map(|(check, request_units)| KeyRisk { code: check.code, request_units });
    risks.into_iter().filter(|risk| risk.request_units > 0.0).collect()
}
