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
    report::{
        CandidateEstimates, EstimatedNumber, KeyRisk, NamedLevels, RequestEstimates, ResampledCost,
        WriteHotness,
    },
    request::RequestOperation,
    unseen::GroupSizes,
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

/// The number of random halves of a sample that tell the certainty of an answer.
const RESAMPLED_HALVES: u32 = 100;

/// The factor to the cheapest key above which a key is the best in no half.
const MAX_RIVAL_FACTOR: f64 = 4.0;

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

/// The input that is the same for the estimates of all halves of the sample.
struct ResampleBasis {
    sizes: GroupSizes,
    visits: Vec<RequestVisits>,
}

impl<'a> Estimates<'a> {
    /// Estimates all candidates from the counts of a sample, and again from random halves of the sample.
    pub fn new(counts: &'a SampleCounts) -> Self {
        let model = ContainerModel::new(counts);
        let mut candidates = estimate_all(counts, &model);
        resample(&counts.candidates, &model, &mut candidates);
        Self::from_candidates(candidates, model)
    }

    /// Estimates all candidates from the whole sample alone.
    pub(crate) fn without_halves(counts: &'a SampleCounts) -> Self {
        let model = ContainerModel::new(counts);
        let candidates = estimate_all(counts, &model);
        Self::from_candidates(candidates, model)
    }

    fn from_candidates(
        candidates: Vec<(CandidateEstimates, ResampleBasis)>,
        model: ContainerModel<'a>,
    ) -> Self {
        let candidates = candidates.into_iter().map(|(estimates, _)| estimates).collect();
        Self { candidates, model }
    }
}

fn estimate_all(
    counts: &SampleCounts,
    model: &ContainerModel<'_>,
) -> Vec<(CandidateEstimates, ResampleBasis)> {
    let candidates = counts.candidates.par_iter().with_max_len(1);
    candidates.map(|candidate| estimate(candidate, model)).collect()
}

/// Returns the estimates of a candidate, and their basis for the halves of the sample.
fn estimate(
    candidate: &CandidateCounts,
    model: &ContainerModel<'_>,
) -> (CandidateEstimates, ResampleBasis) {
    let partitions = Population::new(&candidate.partitions, model.draw, None);
    let times = hotness::times(candidate, model.time);
    let hotness = hotness::hotness(candidate, times.as_ref());
    let prefixes = KeyPrefixes::new(candidate, &partitions.groups);
    let visits = model.kinds.iter();
    let visits: Vec<_> =
        visits.map(|(kind, _)| RequestVisits::new(&candidate.strategy, kind, &prefixes)).collect();
    let CandidateCosts { physical, costs, load } =
        CandidateCosts::new(candidate, &partitions, &visits, hotness.as_ref(), model);
    let requests: Vec<_> = model
        .kinds
        .iter()
        .zip(&costs)
        .map(|((kind, _), cost)| request_report(kind, cost))
        .collect();
    let growth = load.growth();
    let risks = risks(candidate, model, &costs, physical, &load, hotness.as_ref());
    let estimates = CandidateEstimates {
        strategy: candidate.strategy.clone(),
        items: candidate.n_items,
        bytes: candidate.bytes,
        cardinality: partitions.cardinality,
        by_items: load.by_items(),
        by_bytes: load.by_bytes(),
        by_request_units: load.by_request_units(),
        growth,
        risks,
        resampled: Vec::new(),
        request_units_per_day: EstimatedNumber::within(per_day(model, &costs), MAX_MODEL_ERROR),
        aligned: share(
            model,
            &costs,
            |kind, _| kind.request.operation != RequestOperation::Create,
            |cost| cost.names.is_one_place(),
        ),
        cross_partition: share(model, &costs, |_, cost| cost.is_query, |cost| cost.fans_out),
        requests,
        times,
        hotness,
        keys: candidate.keys.clone(),
        physical_partitions: physical,
    };
    (estimates, ResampleBasis { sizes: partitions.sizes, visits })
}

/// Adds the costs by random halves of the sample, where it is a sample, to the candidates that could be the
/// best in one of them.
fn resample(
    candidates: &[CandidateCounts],
    model: &ContainerModel<'_>,
    all: &mut [(CandidateEstimates, ResampleBasis)],
) {
    if model.draw.scale <= 1.0 || model.kinds.is_empty() {
        return;
    }
    let scores = all.iter().filter(|(estimates, _)| estimates.works());
    let scores = scores.filter_map(|(estimates, _)| estimates.score());
    let least = scores.fold(f64::INFINITY, f64::min);
    let mut rivals: Vec<_> = candidates.iter().zip(all).collect();
    rivals.retain(|(_, (estimates, _))| {
        let is_near = |score: f64| score <= least * MAX_RIVAL_FACTOR;
        estimates.works() && estimates.score().is_some_and(is_near)
    });
    let halves = (0..RESAMPLED_HALVES).into_par_iter().with_max_len(1).map(|half| {
        let model = model.of_half(u64::from(half));
        let cost_of = |(candidate, (estimates, basis)): &(
            &CandidateCounts,
            &mut (CandidateEstimates, ResampleBasis),
        )| {
            let near = Some(&basis.sizes);
            let partitions = Population::new(&candidate.partitions, model.draw, near);
            let hotness = estimates.hotness.as_ref();
            let CandidateCosts { physical, costs, load } =
                CandidateCosts::new(candidate, &partitions, &basis.visits, hotness, &model);
            let risks = risks(candidate, &model, &costs, physical, &load, hotness);
            let request_units = total(&model, &costs);
            let of_risks: f64 = risks.iter().map(|risk| risk.request_units).sum();
            ResampledCost { request_units, score: request_units + of_risks }
        };
        rivals.iter().map(cost_of).collect::<Vec<_>>()
    });
    for half in halves.collect::<Vec<_>>() {
        for ((_, (estimates, _)), cost) in rivals.iter_mut().zip(half) {
            estimates.resampled.push(cost);
        }
    }
    for (_, (estimates, _)) in rivals {
        let mut all: Vec<_> = estimates.resampled.iter().map(|half| half.request_units).collect();
        all.sort_by(f64::total_cmp);
        // The bounds of nine of ten halves.
        if let [.., _, _, _, _, _] = all.as_slice()
            && estimates.request_units_per_day.value > 0.0
        {
            let low = all[all.len() / 20];
            let high = all[all.len() - 1 - all.len() / 20];
            let units = &mut estimates.request_units_per_day;
            units.low = units.low.min(low * (1.0 - MAX_MODEL_ERROR));
            units.high = units.high.max(high * (1.0 + MAX_MODEL_ERROR));
        }
    }
}

/// The costs of the requests under a candidate, and their spread over the partitions.
struct CandidateCosts<'a> {
    physical: f64,
    costs: Vec<RequestCost>,
    load: PartitionLoads<'a>,
}

impl<'a> CandidateCosts<'a> {
    fn new(
        candidate: &'a CandidateCounts,
        partitions: &'a Population<'a, ()>,
        visits: &[RequestVisits],
        hotness: Option<&WriteHotness>,
        model: &'a ContainerModel<'a>,
    ) -> Self {
        let peak = model.options.peak_over_mean.or(hotness.map(|hot| hot.peak_over_mean));
        let bytes = float(candidate.bytes) * model.draw.scale;
        let by_size = (bytes / PHYSICAL_PARTITION_BYTES).ceil().max(1.0);
        let given = model.options.physical_partitions.map(|n| f64::from(n.max(1)));
        let cardinality = partitions.cardinality.value;
        let costs_with = |physical: f64| -> Vec<RequestCost> {
            let of =
                |((kind, matches), visits): (&(&RequestCounts, MatchedItems), &RequestVisits)| {
                    cost(candidate, kind, matches, *visits, physical, cardinality, model)
                };
            model.kinds.iter().zip(visits).map(of).collect()
        };
        let mut physical = given.unwrap_or(by_size);
        let mut costs = costs_with(physical);
        if given.is_none() {
            // The need of the requests at the peak. More partitions make a fan-out dearer, but one more
            // round is near enough.
            let per_second = per_day(model, &costs) / SECONDS_OF_A_DAY * peak.unwrap_or(1.0);
            let needed = (per_second / PARTITION_REQUEST_UNITS).ceil();
            if needed > physical {
                physical = needed;
                costs = costs_with(physical);
            }
        }
        let load = PartitionLoads::new(candidate, &partitions.groups, model, &costs, peak);
        Self { physical, costs, load }
    }
}

fn risks(
    candidate: &CandidateCounts,
    model: &ContainerModel<'_>,
    costs: &[RequestCost],
    physical: f64,
    load: &PartitionLoads<'_>,
    hotness: Option<&WriteHotness>,
) -> Vec<KeyRisk> {
    let growth = &load.growth();
    let busiest = load.busiest();
    risks::RiskBasis { model, costs, physical, growth, busiest, hotness }.risks(candidate)
}

/// Returns the request units of all requests a day; of one of each kind, where no frequency is known.
fn total(model: &ContainerModel<'_>, costs: &[RequestCost]) -> f64 {
    let kinds = model.kinds.iter().zip(costs);
    kinds.map(|((kind, _), cost)| model.weight(kind) * cost.charge).sum()
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
        newest: kind.newest().map(hotness::text),
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
