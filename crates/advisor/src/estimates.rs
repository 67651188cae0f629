//! The estimates of each candidate: the request units and the fan-out of each kind of request, the load of each logical
//! partition, the risks. The formulas are those of the local endpoint's ledger ([`cosmos_model::charges`]). Their input:
//!
//! 1. One of the items of the sample that meet the fixed conditions of a request is drawn, and the request asks for its
//!    values. So requests often ask for values that many items have.
//! 2. The candidate tells the logical partitions that the request visits. Each named partition is a store request in one
//!    physical partition; a request that names none goes to all. The first levels of a hierarchical key are a request in
//!    each physical partition that their data needs.
//! 3. Each of these store requests costs a start and its look-ups in the index, and loads its matching items, up to the
//!    limit. Their number was counted over the whole sample; over several partitions they are spread evenly.
//! 4. In the order of a period that is part of the key, partitions are read one after the other until the limit.
//! 5. A write is charged by the size and the indexed values of the items of the sample. One that does not name its key must
//!    first find the item by a query.

use cosmos_model::charges::MAX_MODEL_ERROR;
use cosmos_model::partitioning::path::PropertyPath;
use rayon::prelude::*;

use crate::{
    ValidationOptions,
    checks::{PARTITION_REQUEST_UNITS, PHYSICAL_PARTITION_BYTES, SECONDS_OF_A_DAY},
    counts::{
        SampleCounts,
        candidate::CandidateCounts,
        request::{MatchedItems, RequestCounts},
    },
    population::{Population, SampleDraw},
    report::{self, CandidateReport, EstimatedNumber, RequestEstimates},
    request::{RequestOperation, TransactionStep},
    words::float,
};

mod cost;
mod hotness;
mod load;
mod risks;

use cost::{CostBasis, RequestVisits, prefix_bytes};
use load::PartitionLoads;

#[derive(Debug)]
pub(crate) struct ContainerModel<'a> {
    pub(crate) kinds: Vec<(&'a RequestCounts, MatchedItems)>,
    pub(crate) options: &'a ValidationOptions,
    pub(crate) time: &'a PropertyPath,
    pub(crate) n_items: f64,
    pub(crate) draw: SampleDraw,
}

impl<'a> ContainerModel<'a> {
    pub(crate) fn new(counts: &'a SampleCounts) -> Self {
        let SampleCounts { kinds, options, time, .. } = counts;
        let in_sample = float(counts.n_items);
        let n_items = options.items_in_container.map_or(in_sample, float).max(in_sample);
        let scale = if in_sample > 0.0 { n_items / in_sample } else { 1.0 };
        let draw = SampleDraw { scale, whole_keys: options.whole_keys.is_some() };
        let matches: Vec<_> = kinds.par_iter().map(|kind| kind.matches(draw)).collect();
        let kinds = kinds.iter().zip(matches).collect();
        Self { kinds, options, time, n_items, draw }
    }

    pub(crate) fn items_per_day(&self) -> Option<f64> {
        let change = |step: &TransactionStep| match step.operation {
            RequestOperation::Create => f64::from(step.items),
            RequestOperation::Delete => -f64::from(step.items),
            _ => 0.0,
        };
        let kinds = self.kinds.iter().filter_map(|(kind, _)| {
            let changes = kind.steps.iter().map(change);
            let creates = changes.clone().any(|change| change > 0.0);
            Some((creates, changes.sum::<f64>() * kind.request.per_day()?))
        });
        // Deletes alone do not tell the growth.
        let sum = kinds.reduce(|(a, sum), (b, change)| (a || b, sum + change));
        let stated = sum.filter(|(grows, _)| *grows).map(|(_, sum)| sum.max(0.0));
        self.options.items_per_day.or(stated)
    }
}

pub(crate) fn estimate(candidate: &CandidateCounts, model: &ContainerModel<'_>) -> CandidateReport {
    let partitions = Population::new(&candidate.partitions, model.draw);
    let times = hotness::times(candidate, model.time);
    let hotness = hotness::hotness(candidate, times.as_ref());
    let peak = hotness.as_ref().map(|hot| hot.peak_over_mean);
    let (physical_partitions, requests) = costs(candidate, &partitions, peak, model);
    let load = PartitionLoads::new(candidate, &partitions.groups, model, &requests, peak);
    let is_read_or_change = |cost: &RequestEstimates| cost.operation != RequestOperation::Create;
    let value = per_day(&requests);
    let mut estimates = CandidateReport {
        strategy: candidate.strategy.clone(),
        items: candidate.n_items,
        bytes: candidate.bytes,
        cardinality: partitions.cardinality,
        by_items: load.by(|row| row.items),
        by_bytes: load.by(|row| row.bytes),
        by_request_units: load.by_request_units(),
        growth: load.growth(),
        risks: Vec::new(),
        findings: Vec::new(),
        unknown: Vec::new(),
        request_units_per_day: EstimatedNumber {
            value,
            exact: false,
            low: value * (1.0 - MAX_MODEL_ERROR),
            high: value * (1.0 + MAX_MODEL_ERROR),
        },
        aligned: share(&requests, is_read_or_change, |cost| cost.names.is_one_place()),
        cross_partition: share(&requests, |cost| cost.is_query, |cost| cost.fans_out),
        requests,
        times,
        hotness,
        keys: candidate.keys.clone(),
        physical_partitions,
    };
    estimates.risks = risks::risks(&estimates);
    estimates
}

fn costs(
    candidate: &CandidateCounts,
    partitions: &Population<'_>,
    peak: Option<f64>,
    model: &ContainerModel<'_>,
) -> (f64, Vec<RequestEstimates>) {
    let prefixes = prefix_bytes(candidate.strategy.levels().len(), &partitions.groups);
    let cardinality = partitions.cardinality.value;
    let policy = &model.options.indexing_policy;
    let costs_with = |physical: f64| -> Vec<RequestEstimates> {
        let kinds = model.kinds.iter().map(|(kind, matches)| {
            let visits = RequestVisits::new(&candidate.strategy, kind, &prefixes);
            CostBasis { candidate, kind, visits, physical, cardinality, policy }.cost(matches)
        });
        kinds.collect()
    };
    if let Some(given) = model.options.physical_partitions {
        let given = f64::from(given.max(1));
        return (given, costs_with(given));
    }
    let bytes = float(candidate.bytes) * model.draw.scale;
    let by_size = (bytes / PHYSICAL_PARTITION_BYTES).ceil().max(1.0);
    let costs = costs_with(by_size);
    // The need of the requests at the peak. More partitions make a fan-out dearer, but one more round is near enough.
    let per_second = per_day(&costs) / SECONDS_OF_A_DAY * peak.unwrap_or(1.0);
    let by_load = (per_second / PARTITION_REQUEST_UNITS).ceil();
    if by_load > by_size { (by_load, costs_with(by_load)) } else { (by_size, costs) }
}

fn per_day(requests: &[RequestEstimates]) -> f64 {
    requests.iter().filter_map(|request| request.request_units_per_day).sum()
}

/// Weighted by frequency. Without any frequency all kinds weigh the same.
fn share(
    costs: &[RequestEstimates],
    of: impl Fn(&RequestEstimates) -> bool,
    is: impl Fn(&RequestEstimates) -> bool,
) -> Option<f64> {
    let all = report::sum(costs, |cost| f64::from(of(cost)));
    let sum = report::sum(costs, |cost| f64::from(of(cost) && is(cost)));
    (all > 0.0).then(|| sum / all)
}
