//! The load of a container with a key: reads and writes apart, and the share of each physical partition
//! now and in a year.
//!
//! 1. A physical partition has an equal part of all hashes. The ten busiest logical partitions are placed by
//!    their hash. The rest is spread evenly: it is many keys, or none.
//! 2. In a year the items have grown as stated, and the requests with them. The number of
//!    physical partitions follows from their size and their peak then, and is never smaller than now.

use cosmos_model::partitioning::KeyValue;
use serde::Serialize;
use serde_json::Value;

use crate::{
    limits::{PARTITION_REQUEST_UNITS, PHYSICAL_PARTITION_BYTES, SECONDS_OF_A_DAY},
    placement::place,
    report::CandidateEstimates,
    request::RequestKind,
};

const DAYS_OF_A_YEAR: f64 = 365.0;

/// The physical partitions whose shares are told.
const MAX_PARTITION_SHARES: usize = 100;

/// The load of a container with a key.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ContainerLoad {
    /// Request units a day of reads and queries.
    pub reads: f64,
    /// Request units a day of writes.
    pub writes: f64,
    /// Now.
    pub now: LoadSpread,
    /// In a year, when the growth is known.
    pub in_a_year: Option<LoadSpread>,
}

/// The spread of the load over the physical partitions.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LoadSpread {
    /// Bytes of the container as JSON.
    pub bytes: f64,
    /// Request units a second, as a mean.
    pub request_units_per_second: f64,
    /// Physical partitions.
    pub partitions: f64,
    /// The share of each in the load, the largest first; at most a hundred.
    pub shares: Vec<f64>,
}

impl ContainerLoad {
    /// Returns the load, or `None` where no frequency is known. `items` is the number of items in the
    /// container, where it is not that of the sample.
    pub(super) fn new(
        estimates: &CandidateEstimates,
        requests: &[RequestKind],
        items: Option<u64>,
    ) -> Option<Self> {
        estimates.by_request_units.as_ref()?;
        let mut reads = 0.0;
        let mut writes = 0.0;
        for (costs, request) in estimates.requests.iter().zip(requests) {
            let sum = if request.operation.is_read() { &mut reads } else { &mut writes };
            *sum += costs.request_units_per_day.unwrap_or_default();
        }
        let in_sample = crate::sketch::float(estimates.items).max(1.0);
        let items = items.map_or(in_sample, crate::sketch::float);
        let bytes = crate::sketch::float(estimates.bytes) / in_sample * items;
        let per_second = (reads + writes) / SECONDS_OF_A_DAY;
        let growth =
            estimates.growth.items_per_day.map(|per_day| 1.0 + per_day * DAYS_OF_A_YEAR / items);
        let in_a_year = growth.map(|growth| {
            let bytes = bytes * growth;
            let per_second = per_second * growth;
            let by_size = (bytes / PHYSICAL_PARTITION_BYTES).ceil();
            let by_load = (per_second * peak(estimates) / PARTITION_REQUEST_UNITS).ceil();
            let partitions = by_size.max(by_load).max(estimates.physical_partitions);
            LoadSpread::new(estimates, bytes, per_second, partitions)
        });
        let now = LoadSpread::new(estimates, bytes, per_second, estimates.physical_partitions);
        Some(Self { reads, writes, now, in_a_year })
    }
}

/// Returns the request units a second at the peak over their mean.
fn peak(estimates: &CandidateEstimates) -> f64 {
    estimates.hotness.as_ref().map_or(1.0, |hot| hot.peak_over_mean.max(1.0))
}

impl LoadSpread {
    fn new(
        estimates: &CandidateEstimates,
        bytes: f64,
        request_units_per_second: f64,
        partitions: f64,
    ) -> Self {
        Self { bytes, request_units_per_second, partitions, shares: shares(estimates, partitions) }
    }
}

/// Returns the share of each physical partition, the largest first.
fn shares(estimates: &CandidateEstimates, partitions: f64) -> Vec<f64> {
    let top = estimates.by_request_units.iter().flat_map(|load| &load.top);
    let mut of_top: Vec<(u64, f64)> = Vec::new();
    let mut rest = 1.0;
    for key in top {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a number of partitions"
        )]
        let at = (place_of(&key.key) * partitions) as u64;
        rest -= key.share;
        match of_top.iter_mut().find(|(other, _)| *other == at) {
            Some((_, share)) => *share += key.share,
            None => of_top.push((at, key.share)),
        }
    }
    let even = rest.max(0.0) / partitions;
    let mut shares: Vec<f64> = of_top.iter().map(|(_, share)| share + even).collect();
    shares.sort_by(|a, b| b.total_cmp(a));
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "at least one")]
    shares.resize((partitions as usize).clamp(1, MAX_PARTITION_SHARES), even);
    shares
}

fn place_of(key: &str) -> f64 {
    let values: Vec<Value> = serde_json::from_str(key).unwrap_or_default();
    let values: Vec<KeyValue> = values
        .iter()
        .map(|value| KeyValue::from_property(Some(value)).unwrap_or(KeyValue::Undefined))
        .collect();
    place(&values)
}
