//! Request units and fan-out of each kind of request under a candidate.
//!
//! The formulas are those of the local endpoint's ledger ([`tributary_charges`]). What goes into them:
//!
//! 1. A request is drawn from the sample: of the items that its fixed conditions let through, one is
//!    taken, and its values are asked for. So what many items have is asked for often.
//! 2. The candidate says which logical partitions the request visits. Each that is named is a store
//!    request in one physical partition; one that names none goes to all physical partitions. The first
//!    levels of a hierarchical key are a request in each physical partition that their data needs.
//! 3. Each of these store requests costs a start and its look-ups in the index. Each loads the
//!    matching items that it has, up to the limit. How many items match was counted over the whole
//!    sample; in which of several partitions they are was not, so they are spread evenly.
//! 4. In the order of a period that is part of the key, partitions are read one after the other until
//!    the limit is reached.
//! 5. A write is charged by the size and the indexed values of the items of the sample. One that does
//!    not name its key must first find the item: a query.

use rayon::prelude::*;
use tributary_charges::ERROR;

use crate::{
    counts::{
        candidate::Candidate,
        kind::{Kind, Matches},
    },
    limits::{PARTITION_REQUEST_UNITS, PHYSICAL_PARTITION_BYTES, SECONDS_OF_A_DAY},
    population::Population,
    report::{Estimate, Hotness, Named, Report, RequestReport, Resample, Risk},
    request::Operation,
    sketch::float,
    unseen::Sizes,
    world::World,
};

mod cost;
mod hotness;
mod load;
mod prefixes;
mod risks;
mod unknown;

use cost::{Visits, cost};
use load::Load;
use prefixes::Prefixes;

/// Random halves of a sample that say how sure an answer is.
const RESAMPLES: u32 = 100;

/// A key that costs more times as much as the cheapest is the best in no half.
const RIVAL: f64 = 4.0;

/// What a kind of request costs under a candidate.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Cost {
    pub(crate) names: Named,
    pub(crate) is_query: bool,
    /// Whether some of the drawn requests visit all partitions.
    pub(crate) fans_out: bool,
    pub(crate) logical: f64,
    pub(crate) physical: f64,
    pub(crate) loaded: f64,
    pub(crate) charge: f64,
    /// The part of the charge for the beginning in each physical partition.
    pub(crate) charge_of_starts: f64,
    /// The part of the charge for each item that is loaded.
    pub(crate) charge_of_a_load: f64,
}

/// What the halves of a sample need of a candidate: the same in each.
pub(crate) struct Basis {
    sizes: Sizes,
    visits: Vec<Visits>,
}

/// Returns a report on a candidate, and what the halves of the sample need of it.
pub(crate) fn report(candidate: &Candidate, world: &World<'_>) -> (Report, Basis) {
    let partitions = Population::of(&candidate.partitions, world.draw, None);
    let times = hotness::times(candidate, world.time);
    let hotness = hotness::hotness(candidate, times.as_ref());
    let prefixes = Prefixes::of(candidate, &partitions.groups);
    let visits = world.kinds.iter();
    let visits: Vec<_> =
        visits.map(|(kind, _)| Visits::of(&candidate.strategy, kind, &prefixes)).collect();
    let Measured { physical, costs, load } =
        Measured::new(candidate, &partitions, &visits, hotness.as_ref(), world);
    let requests: Vec<_> = world
        .kinds
        .iter()
        .zip(&costs)
        .map(|((kind, _), cost)| request_report(kind, cost))
        .collect();
    let (repeated_ids, changed_ids) = candidate.repeated_ids();
    let growth = load.growth();
    let risks = risks(candidate, world, &costs, physical, &load, hotness.as_ref());
    let mut report = Report {
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
        request_units_per_day: Estimate::within(per_day(world, &costs), ERROR),
        aligned: share(
            world,
            &costs,
            |kind, _| kind.request.operation != Operation::Create,
            |cost| cost.names.is_one_place(),
        ),
        cross_partition: share(world, &costs, |_, cost| cost.is_query, |cost| cost.fans_out),
        requests,
        times,
        hotness,
        keys: crate::report::Keys { repeated_ids, changed_ids, ..candidate.keys.clone() },
        physical_partitions: physical,
        findings: Vec::new(),
        unknown: Vec::new(),
    };
    report.findings = crate::findings::findings(&report, world);
    report.unknown = unknown::unknown(&report, world);
    (report, Basis { sizes: partitions.sizes, visits })
}

/// Adds to the reports what random halves of the sample say, where it is a sample: to those that could be
/// the best in one of them.
pub(crate) fn resample(
    candidates: &[Candidate],
    world: &World<'_>,
    reports: &mut [(Report, Basis)],
) {
    if world.draw.scale <= 1.0 || world.kinds.is_empty() {
        return;
    }
    let least = reports.iter().filter_map(|(report, _)| report.score().filter(|_| report.works()));
    let least = least.fold(f64::INFINITY, f64::min);
    let mut rivals: Vec<_> = candidates.iter().zip(reports).collect();
    rivals.retain(|(_, (report, _))| {
        report.works() && report.score().is_some_and(|score| score <= least * RIVAL)
    });
    let halves = (0..RESAMPLES).into_par_iter().with_max_len(1).map(|half| {
        let world = world.of_half(u64::from(half));
        let of = |(candidate, (report, basis)): &(&Candidate, &mut (Report, Basis))| {
            let near = Some(&basis.sizes);
            let partitions = Population::of(&candidate.partitions, world.draw, near);
            let hotness = report.hotness.as_ref();
            let Measured { physical, costs, load } =
                Measured::new(candidate, &partitions, &basis.visits, hotness, &world);
            let risks = risks(candidate, &world, &costs, physical, &load, hotness);
            let request_units = total(&world, &costs);
            let of_risks: f64 = risks.iter().map(|risk| risk.request_units).sum();
            Resample { request_units, score: request_units + of_risks }
        };
        rivals.iter().map(of).collect::<Vec<_>>()
    });
    for half in halves.collect::<Vec<_>>() {
        for ((_, (report, _)), resample) in rivals.iter_mut().zip(half) {
            report.resampled.push(resample);
        }
    }
    for (_, (report, _)) in rivals {
        let mut all: Vec<_> = report.resampled.iter().map(|half| half.request_units).collect();
        all.sort_by(f64::total_cmp);
        // Nine of ten halves are between them.
        if let [.., _, _, _, _, _] = all.as_slice()
            && report.request_units_per_day.value > 0.0
        {
            let (low, high) = (all[all.len() / 20], all[all.len() - 1 - all.len() / 20]);
            let units = &mut report.request_units_per_day;
            units.low = units.low.min(low * (1.0 - ERROR));
            units.high = units.high.max(high * (1.0 + ERROR));
        }
    }
}

/// What the requests cost under a candidate, and how that is spread.
struct Measured<'a> {
    physical: f64,
    costs: Vec<Cost>,
    load: Load<'a>,
}

impl<'a> Measured<'a> {
    fn new(
        candidate: &'a Candidate,
        partitions: &'a Population<'a, ()>,
        visits: &[Visits],
        hotness: Option<&Hotness>,
        world: &'a World<'a>,
    ) -> Self {
        let peak = world.options.peak_over_mean.or(hotness.map(|hot| hot.peak_over_mean));
        let bytes = float(candidate.bytes) * world.draw.scale;
        let by_size = (bytes / PHYSICAL_PARTITION_BYTES).ceil().max(1.0);
        let given = world.options.physical_partitions.map(|n| f64::from(n.max(1)));
        let cardinality = partitions.cardinality.value;
        let costs_with = |physical: f64| -> Vec<Cost> {
            let of = |((kind, matches), visits): (&(&Kind, Matches), &Visits)| {
                cost(candidate, kind, matches, *visits, physical, cardinality, world)
            };
            world.kinds.iter().zip(visits).map(of).collect()
        };
        let mut physical = given.unwrap_or(by_size);
        let mut costs = costs_with(physical);
        if given.is_none() {
            // What the requests need at the peak; more partitions make a fan-out dearer, but one more
            // round is near enough.
            let per_second = per_day(world, &costs) / SECONDS_OF_A_DAY * peak.unwrap_or(1.0);
            let needed = (per_second / PARTITION_REQUEST_UNITS).ceil();
            if needed > physical {
                physical = needed;
                costs = costs_with(physical);
            }
        }
        let load = Load::new(candidate, &partitions.groups, world, &costs, peak);
        Self { physical, costs, load }
    }
}

fn risks(
    candidate: &Candidate,
    world: &World<'_>,
    costs: &[Cost],
    physical: f64,
    load: &Load<'_>,
    hotness: Option<&Hotness>,
) -> Vec<Risk> {
    let (growth, busiest) = (&load.growth(), load.busiest());
    risks::Basis { world, costs, physical, growth, busiest, hotness }.risks(candidate)
}

/// Returns the request units of all requests a day; of one of each kind, where no frequency is known.
fn total(world: &World<'_>, costs: &[Cost]) -> f64 {
    let kinds = world.kinds.iter().zip(costs);
    kinds.map(|((kind, _), cost)| world.weight(kind) * cost.charge).sum()
}

fn request_report(kind: &Kind, cost: &Cost) -> RequestReport {
    let is_transaction = kind.request.operation == Operation::Transaction;
    RequestReport {
        kind: kind.request.kind.clone(),
        per_day: kind.request.per_day(),
        names: cost.names,
        logical_partitions: cost.logical,
        physical_partitions: cost.physical,
        items_loaded: cost.loaded,
        request_units: cost.charge,
        request_units_of_starts: cost.charge_of_starts,
        request_units_per_day: kind.request.per_day().map(|per_day| per_day * cost.charge),
        newest: kind.newest().map(hotness::text),
        transaction_fits: is_transaction.then_some(cost.names == Named::Key),
    }
}

fn per_day(world: &World<'_>, costs: &[Cost]) -> f64 {
    world
        .kinds
        .iter()
        .zip(costs)
        .map(|((kind, _), cost)| kind.request.per_day().unwrap_or(0.0) * cost.charge)
        .sum()
}

/// Returns the share of the requests among `of`, weighted by frequency, for which `is` holds. Without
/// any frequency all kinds weigh the same.
fn share(
    world: &World<'_>,
    costs: &[Cost],
    of: impl Fn(&Kind, &Cost) -> bool,
    is: impl Fn(&Cost) -> bool,
) -> Option<f64> {
    let (mut sum, mut all) = (0.0, 0.0);
    for ((kind, _), cost) in world.kinds.iter().zip(costs) {
        if of(kind, cost) {
            let weight = world.weight(kind);
            all += weight;
            sum += if is(cost) { weight } else { 0.0 };
        }
    }
    (all > 0.0).then(|| sum / all)
}
