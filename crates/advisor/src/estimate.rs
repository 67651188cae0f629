//! Request units and fan-out of each kind of request under a candidate.
//!
//! The formulas are those of the local endpoint's ledger ([`tributary_charges`]). What goes into them:
//!
//! 1. A request is drawn from the sample: of the items that its fixed conditions let through, one is
//!    taken, and its values are asked for. So what many items have is asked for often.
//! 2. The candidate says which logical partitions the request visits. Each that is named is a store
//!    request in one physical partition; one that names none goes to all physical partitions.
//! 3. Each of these store requests costs a start and its look-ups in the index. Each loads the
//!    matching items that it has, up to the limit. How many items match was counted over the whole
//!    sample; in which of several partitions they are was not, so they are spread evenly.
//! 4. In the order of a period that is part of the key, partitions are read one after the other until
//!    the limit is reached.
//! 5. A write is charged by the size and the indexed values of the items of the sample. One that does
//!    not name its key must first find the item: a query.

use tributary_charges::{
    ERROR,
    policy::IndexingPolicy,
    rates::{LOAD, LOAD_KB, PATCH_OPERATION, QUERY, RETURN_KB, SEEK, TERM, TERMS_OF_A_VALUE},
};
use tributary_partitioning::{
    Condition, Filter, KeyStrategy, KeyValue, Part, Visit, filter::Range, path::Path,
};

use crate::{
    analysis::{
        Options,
        candidate::Candidate,
        kind::{Found, Kind, Matches},
    },
    report::{Estimate, Report, RequestReport},
    request::{Operation, Select, Step, Wanted},
    sketch::float,
};

mod hotness;
pub(crate) mod load;
mod unknown;

use load::Load;

/// An application sends no more requests than this for one answer: beyond, it asks all physical
/// partitions at once, where that costs less.
const MOST_REQUESTS: f64 = 16.0;

/// The data of a physical partition, in bytes: 50 GB, a limit of the service.
const PHYSICAL_PARTITION_BYTES: f64 = 50.0 * GB;
pub(crate) const GB: f64 = 1_073_741_824.0;
/// Request units a second of a physical partition, and so of a logical one: a limit of the service.
pub(crate) const PARTITION_REQUEST_UNITS: f64 = 10_000.0;
pub(crate) const SECONDS_OF_A_DAY: f64 = 86_400.0;

/// What is the same for all candidates.
#[derive(Debug)]
pub(crate) struct World<'a> {
    pub(crate) kinds: Vec<(&'a Kind, Matches)>,
    pub(crate) options: &'a Options,
    pub(crate) n_items: f64,
    /// Items in the container over those in the sample, at least 1.
    pub(crate) scale: f64,
}

/// What a kind of request costs under a candidate.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Cost {
    pub(crate) names_key: bool,
    pub(crate) is_query: bool,
    /// Whether some of the drawn requests visit all partitions.
    pub(crate) fans_out: bool,
    pub(crate) logical: f64,
    pub(crate) physical: f64,
    pub(crate) loaded: f64,
    pub(crate) charge: f64,
    /// The part of the charge for each item that is loaded.
    pub(crate) charge_of_a_load: f64,
}

/// The ways in which the drawn requests of a kind visit partitions, as shares, and the mean number of
/// keys that are named.
#[derive(Clone, Copy, Debug, Default)]
struct Visits {
    draws: f64,
    all: f64,
    prefixes: f64,
    n_prefixes: f64,
    partitions: f64,
    n_partitions: f64,
    names_key: bool,
}

impl<'a> World<'a> {
    pub(crate) fn new(kinds: &'a [Kind], options: &'a Options, n_items: u64) -> Self {
        let n_items = float(n_items);
        let in_container = options.items_in_container.map_or(n_items, float);
        let scale = if n_items > 0.0 { (in_container / n_items).max(1.0) } else { 1.0 };
        let kinds = kinds.iter().map(|kind| (kind, kind.matches(scale))).collect();
        Self { kinds, options, n_items, scale }
    }

    /// Returns by how many items the container grows in a day, as far as that is known: what is created
    /// without what is deleted.
    pub(crate) fn items_per_day(&self) -> Option<f64> {
        let created = self.kinds.iter().filter_map(|(kind, _)| {
            let steps = match kind.request.operation {
                Operation::Transaction => steps(kind),
                operation => vec![Step::of(operation)],
            };
            let grows = steps.iter().any(|step| step.operation == Operation::Create);
            let change: f64 = steps.iter().map(change).sum();
            Some((grows, change * kind.request.per_day()?))
        });
        // Who only deletes has not said what comes.
        let sum = created.reduce(|(a, sum), (b, one)| (a || b, sum + one));
        let stated = sum.filter(|(grows, _)| *grows).map(|(_, sum)| sum.max(0.0));
        self.options.items_per_day.or(stated)
    }
}

/// Returns the least number of writes that tell how they come together.
pub(crate) fn hotness_needs() -> u64 {
    hotness::ENOUGH_WRITES
}

/// Returns by how many items a step changes the container.
fn change(step: &Step) -> f64 {
    match step.operation {
        Operation::Create => f64::from(step.items),
        Operation::Delete => -f64::from(step.items),
        _ => 0.0,
    }
}

/// Returns all that is known of a candidate.
pub(crate) fn report(candidate: &Candidate, world: &World<'_>) -> Report {
    let cardinality = candidate.partitions.cardinality();
    let hotness = hotness::hotness(candidate);
    let peak = world.options.peak_over_mean.or(hotness.as_ref().map(|hot| hot.peak_over_mean));
    let bytes = float(candidate.bytes) * world.scale;
    let by_size = (bytes / PHYSICAL_PARTITION_BYTES).ceil().max(1.0);
    let given = world.options.physical_partitions.map(|n| f64::from(n.max(1)));
    let costs_with = |physical: f64| -> Vec<Cost> {
        world
            .kinds
            .iter()
            .map(|(kind, matches)| {
                cost(candidate, kind, matches, physical, cardinality.value, world)
            })
            .collect()
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
    let load = Load::new(candidate, world, &costs, peak);
    let requests: Vec<_> = world
        .kinds
        .iter()
        .zip(&costs)
        .map(|((kind, _), cost)| request_report(kind, cost))
        .collect();
    let (repeated_ids, changed_ids) = candidate.repeated_ids();
    let mut report = Report {
        strategy: candidate.strategy.clone(),
        items: candidate.n_items,
        bytes: candidate.bytes,
        cardinality,
        by_items: load.by_items(),
        by_bytes: load.by_bytes(),
        by_request_units: load.by_request_units(),
        growth: load.growth(),
        request_units_per_day: Estimate::within(per_day(world, &costs), ERROR),
        aligned: share(
            world,
            &costs,
            |kind, _| kind.request.operation != Operation::Create,
            |cost| cost.names_key,
        ),
        cross_partition: share(world, &costs, |_, cost| cost.is_query, |cost| cost.fans_out),
        requests,
        hotness,
        keys: crate::report::Keys { repeated_ids, changed_ids, ..candidate.keys.clone() },
        physical_partitions: physical,
        findings: Vec::new(),
        unknown: Vec::new(),
    };
    report.findings = crate::findings::findings(&report, world);
    report.unknown = unknown::unknown(&report, world);
    report
}

fn request_report(kind: &Kind, cost: &Cost) -> RequestReport {
    let is_transaction = kind.request.operation == Operation::Transaction;
    RequestReport {
        kind: kind.request.kind.clone(),
        per_day: kind.request.per_day(),
        names_key: cost.names_key,
        logical_partitions: cost.logical,
        physical_partitions: cost.physical,
        items_loaded: cost.loaded,
        request_units: cost.charge,
        request_units_per_day: kind.request.per_day().map(|per_day| per_day * cost.charge),
        transaction_fits: is_transaction.then_some(cost.names_key),
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
    let any = world.kinds.iter().any(|(kind, _)| kind.request.frequency.is_some());
    let (mut sum, mut all) = (0.0, 0.0);
    for ((kind, _), cost) in world.kinds.iter().zip(costs) {
        if of(kind, cost) {
            let weight = if any { kind.request.per_day().unwrap_or(0.0) } else { 1.0 };
            all += weight;
            sum += if is(cost) { weight } else { 0.0 };
        }
    }
    (all > 0.0).then(|| sum / all)
}

fn cost(
    candidate: &Candidate,
    kind: &Kind,
    matches: &Matches,
    physical: f64,
    cardinality: f64,
    world: &World<'_>,
) -> Cost {
    let visits = Visits::of(&candidate.strategy, kind);
    let found = &kind.found;
    let items = float(found.items).max(1.0);
    let policy = &world.options.indexing_policy;
    let query = |matches: &Matches, limit: Option<u32>| {
        Query { strategy: &candidate.strategy, kind, visits, physical, cardinality }
            .cost(matches, limit)
    };
    let find = || query(&Matches::one(), None);
    let here = |charge: f64| Cost {
        names_key: true,
        is_query: false,
        fans_out: false,
        logical: 1.0,
        physical: 1.0,
        loaded: 0.0,
        charge,
        charge_of_a_load: 0.0,
    };
    let write = |step: &Step, found: &Found, alone: bool| -> f64 {
        let items = float(found.items).max(1.0);
        let changed = step.set.iter().map(|path| terms_of(path, policy)).sum::<f64>();
        // The time of the write changes with each: two terms out, two in.
        let time = if policy.is_on() { f64::from(2 * TERMS_OF_A_VALUE) * TERM } else { 0.0 };
        let n_set = f64::from(u32::try_from(step.set.len().max(1)).unwrap_or(u32::MAX));
        let mean_write = found.write / items;
        let removal = if alone { mean_write } else { 0.0 };
        let one = match step.operation {
            Operation::Create | Operation::Delete => found.create / items,
            Operation::Patch => removal + mean_write + time + changed + n_set * PATCH_OPERATION,
            Operation::Replace | Operation::Upsert => removal + mean_write + time + changed,
            Operation::Read => found.read / items,
            Operation::Query | Operation::Transaction => 0.0,
        };
        one * f64::from(step.items)
    };
    let operation = kind.request.operation;
    match operation {
        Operation::Query => query(matches, kind.request.limit),
        Operation::Create => here(found.create / items),
        Operation::Read if visits.names_key => Cost { loaded: 1.0, ..here(found.read / items) },
        Operation::Read => find(),
        Operation::Replace | Operation::Upsert | Operation::Patch | Operation::Delete => {
            let step = Step { set: kind.request.set.clone(), ..Step::of(operation) };
            let charge = write(&step, found, true);
            if visits.names_key {
                here(charge)
            } else {
                let find = find();
                Cost { charge: find.charge + charge, ..find }
            }
        }
        Operation::Transaction => {
            let alone = !visits.names_key;
            let charge = if kind.request.writes.is_empty() {
                found.create / items
            } else {
                let steps = kind.request.writes.iter().zip(&kind.written);
                steps.map(|(step, found)| write(step, found, alone)).sum()
            };
            if visits.names_key {
                return here(charge);
            }
            let items: u32 = steps(kind).iter().map(|step| step.items).sum();
            Cost {
                names_key: false,
                is_query: false,
                fans_out: false,
                logical: f64::from(items),
                physical: f64::from(items),
                ..here(charge)
            }
        }
    }
}

/// Returns the writes of a transaction: one create when none is given.
fn steps(kind: &Kind) -> Vec<Step> {
    if kind.request.writes.is_empty() {
        return vec![Step::of(Operation::Create)];
    }
    kind.request.writes.clone()
}

/// Returns the request units of a changed value: its old terms out of the index, the new ones in.
fn terms_of(path: &Path, policy: &IndexingPolicy) -> f64 {
    if !policy.is_on() {
        return 0.0;
    }
    let names: Vec<&str> = path.names().iter().map(String::as_str).collect();
    let value = if policy.covers(&names) { f64::from(TERMS_OF_A_VALUE) } else { 0.0 };
    let composite = policy.composite_indexes().filter(|index| index.contains(&names)).count();
    2.0 * TERM * (value + float(composite as u64))
}

impl Visits {
    fn of(strategy: &KeyStrategy, kind: &Kind) -> Self {
        let mut visits = Self { names_key: true, ..Self::default() };
        let none = vec![KeyValue::Text(String::new()); kind.drawn.len()];
        // Of a kind that finds nothing, at least the shape of the visit is known.
        let nothing = (kind.draws.iter().len() == 0).then_some(&none);
        for values in kind.draws.iter().chain(nothing) {
            visits.draws += 1.0;
            let n = match strategy.visit(&filter(kind, values)) {
                Visit::Partitions(keys) => {
                    visits.partitions += 1.0;
                    visits.n_partitions += float(keys.len() as u64);
                    keys.len()
                }
                Visit::Prefixes(prefixes) => {
                    visits.prefixes += 1.0;
                    visits.n_prefixes += float(prefixes.len() as u64);
                    usize::MAX
                }
                Visit::All => {
                    visits.all += 1.0;
                    usize::MAX
                }
            };
            visits.names_key &= n <= 1;
        }
        visits
    }
}

/// Returns the filter of a drawn request.
fn filter(kind: &Kind, values: &[KeyValue]) -> Filter {
    let mut values = kind.drawn.iter().zip(values);
    let text = |seconds: i64| {
        let time = time::OffsetDateTime::from_unix_timestamp(seconds).ok()?;
        let text = time.format(&time::format_description::well_known::Rfc3339).ok()?;
        Some(KeyValue::Text(text))
    };
    let conditions = kind.request.filters.iter().filter_map(|(path, wanted)| {
        let condition = match wanted {
            Wanted::Drawn => Condition::Equals(values.next()?.1.clone()),
            Wanted::Last(seconds) => {
                let newest = kind.newest()?;
                Condition::Range(Range { from: text(newest - seconds), to: text(newest + 1) })
            }
            Wanted::This(condition) => condition.clone(),
        };
        Some((path.clone(), condition))
    });
    conditions.collect()
}

/// A query of a kind under a candidate.
struct Query<'a> {
    strategy: &'a KeyStrategy,
    kind: &'a Kind,
    visits: Visits,
    physical: f64,
    cardinality: f64,
}

impl Query<'_> {
    fn cost(&self, matches: &Matches, limit: Option<u32>) -> Cost {
        let found = &self.kind.found;
        let items = float(found.items).max(1.0);
        let kilobytes = |bytes: u64| float(bytes) / items / 1_024.0;
        let charge_of_a_load = LOAD
            + kilobytes(found.stored_bytes) * LOAD_KB
            + kilobytes(found.returned_bytes) * RETURN_KB;
        let is_sum = matches!(self.kind.request.select, Select::Aggregate(_));
        let limit = limit.filter(|_| !is_sum).map_or(f64::INFINITY, f64::from);
        let mut cost = Cost {
            names_key: self.visits.names_key,
            is_query: true,
            fans_out: self.fans_out(),
            charge_of_a_load,
            ..Cost::default()
        };
        let mut add = |share: f64, logical: f64, physical: f64, loaded: f64, seeks: f64| {
            cost.logical += share * logical;
            cost.physical += share * physical;
            cost.loaded += share * loaded;
            cost.charge += share * (physical * (QUERY + seeks * SEEK) + loaded * charge_of_a_load);
        };
        let Visits { draws, all, prefixes, n_prefixes, partitions, n_partitions, .. } = self.visits;
        let everywhere = |requests: f64| matches.mean(|found| found.min(limit * requests));
        if all > 0.0 {
            let loaded = everywhere(self.physical);
            add(all / draws, self.cardinality, self.physical, loaded, self.seeks(false));
        }
        if prefixes > 0.0 {
            let n = n_prefixes / prefixes;
            let logical = self.cardinality.min(everywhere(n).max(n));
            add(prefixes / draws, logical, n, everywhere(n), self.seeks(true));
        }
        if partitions > 0.0 {
            let n = n_partitions / partitions;
            let share = partitions / draws;
            if self.in_order_of_period() && limit.is_finite() {
                let read = matches.mean(|found| {
                    if found > 0.0 { (limit * n / found).ceil().clamp(n.min(1.0), n) } else { n }
                });
                add(share, read, read, everywhere(1.0), self.seeks(true));
            } else if n > MOST_REQUESTS && self.physical < n {
                add(share, n, self.physical, everywhere(self.physical), self.seeks(false));
            } else {
                add(share, n, n, everywhere(n), self.seeks(true));
            }
        }
        cost
    }

    /// Whether some of the drawn requests visit all partitions: they name nothing of the key, or half of
    /// all keys and more, as a query does that names all buckets.
    fn fans_out(&self) -> bool {
        let Visits { all, partitions, n_partitions, .. } = self.visits;
        let named = n_partitions / partitions.max(1.0);
        all > 0.0 || (named > 1.0 && 2.0 * named >= self.cardinality)
    }

    /// Whether the order of the answer is that of a period in the key.
    fn in_order_of_period(&self) -> bool {
        self.kind.request.order_by.as_ref().is_some_and(|order| {
            let mut parts = self.strategy.levels().iter().flatten();
            parts.any(|part| matches!(part, Part::Period(path, _) if *path == order.path))
        })
    }

    /// Returns the values and ranges that a query looks up: of the filter, the order, and the key when
    /// it is named and is no property of the filter.
    fn seeks(&self, names_key: bool) -> f64 {
        let request = &self.kind.request;
        let filter: u32 = request
            .filters
            .values()
            .map(|wanted| match wanted {
                Wanted::Drawn | Wanted::Last(_) | Wanted::This(Condition::Equals(_)) => 1,
                Wanted::This(Condition::OneOf(values)) => {
                    u32::try_from(values.len()).unwrap_or(u32::MAX)
                }
                Wanted::This(Condition::Range(Range { from, to })) => {
                    u32::from(from.is_some()) + u32::from(to.is_some())
                }
            })
            .fold(0, u32::saturating_add);
        let is_stored = |level: &Vec<Part>| matches!(level.as_slice(), [Part::Value(_)]);
        let by_key = names_key && !self.strategy.levels().iter().all(is_stored);
        f64::from(filter) + f64::from(request.order_by.is_some()) + f64::from(by_key)
    }
}
