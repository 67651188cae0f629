//! The estimates of each candidate: the request units and the fan-out of each kind of request, the load of
//! each logical partition, the risks.
//!
//! The formulas are those of the local endpoint's ledger ([`cosmos_model::charges`]). Their input:
//!
//! 1. A request is drawn from the sample: one of the items that meet its fixed conditions is drawn, and the
//!    request asks for its values. So requests often ask for values that many items have.
//! 2. The candidate tells the logical partitions that the request visits. Each named partition is a store
//!    request in one physical partition; a request that names none goes to all physical partitions. The first
//!    levels of a hierarchical key are a request in each physical partition that their data needs.
//! 3. Each of these store requests costs a start and its look-ups in the index. Each loads its matching
//!    items, up to the limit. The number of matching items was counted over the whole sample. Their places in
//!    several partitions were not, so they are spread evenly.
//! 4. In the order of a period that is part of the key, partitions are read one after the other until
//!    the limit is reached.
//! 5. A write is charged by the size and the indexed values of the items of the sample. A write that does
//!    not name its key must first find the item by a query.

use cosmos_model::charges::MAX_MODEL_ERROR;
use rayon::prelude::*;

use crate::{
    counts::{
        SampleCounts,
        candidate::CandidateCounts,
        request::{MatchedItems, RequestCounts},
    },
    limits::{PARTITION_REQUEST_UNITS, PHYSICAL_PARTITION_BYTES, SECONDS_OF_A_DAY},
    population::Population,
    report::{CandidateEstimates, EstimatedNumber, NamedLevels, RequestEstimates},
    request::RequestOperation,
    words::float,
};

mod cost;
mod hotness;
mod load;
pub(crate) mod model;
mod prefixes;
mod risks;

use cost::{RequestVisits, cost};
use load::PartitionLoads;
use model::ContainerModel;
use prefixes::KeyPrefixes;
use risks::RiskBasis;

/// The costs of a kind of request under a candidate.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RequestCost {
    pub(crate) names: NamedLevels,
    pub(crate) is_query: bool,
    /// True when some of the drawn requests visit all partitions.
    pub(crate) fans_out: bool,
    pub(crate) logical: f64,
    pub(crate) physical: f64,
    pub(crate) loaded: f64,
    pub(crate) charge: f64,
    /// The part of the charge for each item that is loaded.
    pub(crate) charge_of_a_load: f64,
}

/// The estimates of all candidates.
#[derive(Debug)]
pub struct Estimates<'a> {
    /// The estimates of each candidate, in the order of the candidates.
    pub candidates: Vec<CandidateEstimates>,
    pub(crate) model: ContainerModel<'a>,
}

impl<'a> Estimates<'a> {
    /// Estimates all candidates from the counts of a sample.
    pub fn new(counts: &'a SampleCounts) -> Self {
        let model = ContainerModel::new(counts);
        let candidates = counts.candidates.par_iter().with_max_len(1);
        let candidates = candidates.map(|candidate| estimate(candidate, &model)).collect();
        Self { candidates, model }
    }
}

fn estimate(candidate: &CandidateCounts, model: &ContainerModel<'_>) -> CandidateEstimates {
    let partitions = Population::new(&candidate.partitions, model.draw);
    let times = hotness::times(candidate, model.time);
    let hotness = hotness::hotness(candidate, times.as_ref());
    let peak = model.options.peak_over_mean.or(hotness.as_ref().map(|hot| hot.peak_over_mean));
    let (physical, costs) = costs(candidate, &partitions, peak, model);
    let kinds = model.kinds.iter().zip(&costs);
    let requests = kinds.map(|((kind, _), cost)| request_report(kind, cost)).collect();
    let load = PartitionLoads::new(candidate, &partitions.groups, model, &costs, peak);
    let growth = load.growth();
    let risks = RiskBasis {
        model,
        costs: &costs,
        physical,
        growth: &growth,
        busiest: load.busiest(),
        hotness: hotness.as_ref(),
    }
    .risks(candidate);
    let is_read_or_change =
        |kind: &RequestCounts, _: &_| kind.request.operation != RequestOperation::Create;
    CandidateEstimates {
        strategy: candidate.strategy.clone(),
        items: candidate.n_items,
        bytes: candidate.bytes,
        cardinality: partitions.cardinality,
        by_items: load.by_items(),
        by_bytes: load.by_bytes(),
        by_request_units: load.by_request_units(),
        growth,
        risks,
        request_units_per_day: EstimatedNumber::within(per_day(model, &costs), MAX_MODEL_ERROR),
        aligned: share(model, &costs, is_read_or_change, |cost| cost.names.is_one_place()),
        cross_partition: share(model, &costs, |_, cost| cost.is_query, |cost| cost.fans_out),
        requests,
        times,
        hotness,
        keys: candidate.keys.clone(),
        physical_partitions: physical,
    }
}

/// Returns the number of physical partitions, and the costs of the requests in them.
fn costs(
    candidate: &CandidateCounts,
    partitions: &Population<'_, ()>,
    peak: Option<f64>,
    model: &ContainerModel<'_>,
) -> (f64, Vec<RequestCost>) {
    let prefixes = KeyPrefixes::new(candidate, &partitions.groups);
    let cardinality = partitions.cardinality.value;
    let costs_with = |physical: f64| -> Vec<RequestCost> {
        let of = |(kind, matches): &(&RequestCounts, MatchedItems)| {
            let visits = RequestVisits::new(&candidate.strategy, kind, &prefixes);
            cost(candidate, kind, matches, visits, physical, cardinality, model)
        };
        model.kinds.iter().map(of).collect()
    };
    if let Some(given) = model.options.physical_partitions {
        let given = f64::from(given.max(1));
        return (given, costs_with(given));
    }
    let bytes = float(candidate.bytes) * model.draw.scale;
    let by_size = (bytes / PHYSICAL_PARTITION_BYTES).ceil().max(1.0);
    let costs = costs_with(by_size);
    // The need of the requests at the peak. More partitions make a fan-out dearer, but one more round is near enough.
    let per_second = per_day(model, &costs) / SECONDS_OF_A_DAY * peak.unwrap_or(1.0);
    let by_load = (per_second / PARTITION_REQUEST_UNITS).ceil();
    if by_load > by_size { (by_load, costs_with(by_load)) } else { (by_size, costs) }
}

fn request_report(kind: &RequestCounts, cost: &RequestCost) -> RequestEstimates {
    let is_transaction = kind.request.operation == RequestOperation::Transaction;
    RequestEstimates {
        kind: kind.request.kind.clone(),
        per_day: kind.request.per_day(),
        names: cost.names,
        logical_partitions: cost.logical,
        physical_partitions: cost.physical,
        items_loaded: cost.loaded,
        request_units: cost.charge,
        request_units_per_day: kind.request.per_day().map(|per_day| per_day * cost.charge),
        transaction_fits: is_transaction.then_some(cost.names == NamedLevels::Key),
    }
}

fn per_day(model: &ContainerModel<'_>, costs: &[RequestCost]) -> f64 {
    model
        .kinds
        .iter()
        .zip(costs)
        .map(|((kind, _), cost)| kind.request.per_day().unwrap_or(0.0) * cost.charge)
        .sum()
}

/// Returns the share of the requests among `of`, weighted by frequency, for which `is` holds. Without
/// any frequency all kinds weigh the same.
fn share(
    model: &ContainerModel<'_>,
    costs: &[RequestCost],
    of: impl Fn(&RequestCounts, &RequestCost) -> bool,
    is: impl Fn(&RequestCost) -> bool,
) -> Option<f64> {
    let mut sum = 0.0;
    let mut all = 0.0;
    for ((kind, _), cost) in model.kinds.iter().zip(costs) {
        if of(kind, cost) {
            let weight = model.weight(kind);
            all += weight;
            sum += if is(cost) { weight } else { 0.0 };
        }
    }
    (all > 0.0).then(|| sum / all)
}
