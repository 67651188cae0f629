//! The costs of a kind of request under a candidate: the steps 2 to 5 of [`super`].

use std::collections::HashMap;

use cosmos_model::charges::{
    policy::IndexingPolicy,
    rates::{
        LOADED_ITEM_RU, LOADED_KB_RU, PATCH_OPERATION_RU, QUERY_START_RU, RETURNED_KB_RU, SEEK_RU,
        TERM_RU, TERMS_PER_VALUE,
    },
};
use cosmos_model::partitioning::{
    Filter, FilterCondition, FilterVisit, Key, KeyPart, KeyStrategy, KeyValue, filter::ValueRange,
    path::PropertyPath,
};

use super::load::period_days;
use crate::{
    checks::{PHYSICAL_PARTITION_BYTES, SECONDS_OF_A_DAY},
    counts::{
        candidate::CandidateCounts,
        request::{FoundItems, MatchedItems, RequestCounts},
    },
    population::KeyGroup,
    report::{NamedLevels, RequestEstimates},
    request::{QuerySelection, RequestFilter, RequestOperation, TransactionStep},
    words::{float, time_text},
};

/// The most store requests that an application sends for one answer. Beyond, it asks all physical partitions
/// at once, where that costs less.
const MAX_KEYED_REQUESTS: f64 = 16.0;

const FEW_DRAWS_DIVISOR: usize = 10;

/// The numbers of drawn requests that visit all, prefixes or named partitions, and the sums of what they name.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RequestVisits {
    draws: f64,
    all: f64,
    prefixes: f64,
    n_prefixes: f64,
    physical_of_prefixes: f64,
    partitions: f64,
    n_partitions: f64,
    names: NamedLevels,
}

pub(super) struct CostBasis<'a> {
    pub(super) candidate: &'a CandidateCounts,
    pub(super) kind: &'a RequestCounts,
    pub(super) visits: RequestVisits,
    pub(super) physical: f64,
    pub(super) cardinality: f64,
    pub(super) policy: &'a IndexingPolicy,
}

fn terms_of(path: &PropertyPath, policy: &IndexingPolicy) -> f64 {
    if !policy.is_on() {
        return 0.0;
    }
    let names: Vec<&str> = path.names().iter().map(String::as_str).collect();
    let value = if policy.covers(&names) { f64::from(TERMS_PER_VALUE) } else { 0.0 };
    let composite = policy.composite_indexes().filter(|index| index.contains(&names)).count();
    2.0 * TERM_RU * (value + float(composite as u64))
}

impl RequestVisits {
    pub(super) fn new(
        strategy: &KeyStrategy,
        kind: &RequestCounts,
        prefix_bytes: &HashMap<&[KeyValue], f64>,
    ) -> Self {
        // Keys with one prefix are neighbours, and the store separates neighbours only where a physical partition
        // would be too large.
        let physical = |prefix: &Key| {
            let bytes = prefix_bytes.get(prefix.values()).copied().unwrap_or(0.0);
            (bytes / PHYSICAL_PARTITION_BYTES).ceil().max(1.0)
        };
        let mut visits = Self::default();
        let mut names_of_draws = Vec::new();
        let none = vec![KeyValue::Text(String::new()); kind.drawn.len()];
        // A kind that finds nothing still has the shape of its visit.
        let nothing = (kind.draws.iter().len() == 0).then_some(&none);
        // A request may come at any time of a period. Shortly after its start, `last` reaches into the period
        // before.
        let period = period_days(strategy).filter(|_| kind.last.is_some());
        let period = period.unwrap_or(0.0) * SECONDS_OF_A_DAY;
        let n_draws = float(kind.draws.iter().len().max(1) as u64);
        for values in kind.draws.iter().chain(nothing) {
            let visit = strategy.visit(&filter(kind, values, 0));
            #[expect(clippy::cast_possible_truncation, reason = "at most a year")]
            let earlier = (period * visits.draws / n_draws) as i64;
            names_of_draws.push(match earlier {
                0 => named(&visit),
                _ => named(&strategy.visit(&filter(kind, values, earlier))),
            });
            visits.draws += 1.0;
            match visit {
                FilterVisit::Partitions(keys) => {
                    visits.partitions += 1.0;
                    visits.n_partitions += float(keys.len() as u64);
                }
                FilterVisit::Prefixes(prefixes) => {
                    visits.prefixes += 1.0;
                    visits.n_prefixes += float(prefixes.len() as u64);
                    visits.physical_of_prefixes += prefixes.iter().map(physical).sum::<f64>();
                }
                FilterVisit::All => visits.all += 1.0,
            }
        }
        names_of_draws.sort_unstable();
        // A write has to name its key each time. A few reads may not, such as those over the end of a month.
        let is_read =
            matches!(kind.request.operation, RequestOperation::Query | RequestOperation::Read);
        let few = if is_read { names_of_draws.len() / FEW_DRAWS_DIVISOR } else { 0 };
        visits.names = names_of_draws.get(few).copied().unwrap_or_default();
        visits
    }
}

fn named(visit: &FilterVisit) -> NamedLevels {
    match visit {
        FilterVisit::Partitions(keys) if keys.len() <= 1 => NamedLevels::Key,
        FilterVisit::Prefixes(prefixes) if prefixes.len() <= 1 => NamedLevels::FirstLevels,
        FilterVisit::Partitions(_) | FilterVisit::Prefixes(_) => NamedLevels::Several,
        FilterVisit::All => NamedLevels::No,
    }
}

fn filter(kind: &RequestCounts, values: &[KeyValue], earlier: i64) -> Filter {
    let mut values = kind.drawn.iter().zip(values);
    let text = |seconds| time_text(seconds).map(KeyValue::Text);
    let conditions = kind.request.filters.iter().filter_map(|(path, wanted)| {
        let condition = match wanted {
            RequestFilter::Drawn => FilterCondition::Equals(values.next()?.1.clone()),
            RequestFilter::Last(seconds) => {
                let newest = kind.newest? - earlier;
                FilterCondition::Range(ValueRange {
                    from: text(newest - seconds),
                    to: text(newest + 1),
                })
            }
            RequestFilter::Fixed(condition) => condition.clone(),
        };
        Some((path.clone(), condition))
    });
    conditions.collect()
}

impl CostBasis<'_> {
    pub(super) fn cost(&self, matches: &MatchedItems) -> RequestEstimates {
        let request = &self.kind.request;
        let found = &self.kind.found;
        let names_key = self.visits.names == NamedLevels::Key;
        let find = || self.query(&MatchedItems::single(), None);
        let here = |request_units: f64| RequestEstimates {
            names: NamedLevels::Key,
            logical_partitions: 1.0,
            physical_partitions: 1.0,
            request_units,
            ..RequestEstimates::default()
        };
        let steps = self.kind.steps.iter().zip(&self.kind.written);
        let written = |alone: bool| steps.map(|(step, found)| self.write(step, found, alone)).sum();
        let mut cost = match request.operation {
            RequestOperation::Query => self.query(matches, request.limit),
            RequestOperation::Create => here(written(true)),
            RequestOperation::Read if names_key => {
                RequestEstimates { items_loaded: 1.0, ..here(found.mean(found.read)) }
            }
            RequestOperation::Read => find(),
            RequestOperation::Transaction if names_key => here(written(false)),
            RequestOperation::Transaction => {
                let items = f64::from(self.kind.steps.iter().map(|step| step.items).sum::<u32>());
                RequestEstimates {
                    names: NamedLevels::No,
                    logical_partitions: items,
                    physical_partitions: items,
                    ..here(written(true))
                }
            }
            _ if names_key => here(written(true)),
            _ => {
                let found = find();
                RequestEstimates { request_units: found.request_units + written(true), ..found }
            }
        };
        cost.kind.clone_from(&request.kind);
        cost.operation = request.operation;
        let is_transaction = request.operation == RequestOperation::Transaction;
        cost.transaction_fits = is_transaction.then_some(names_key);
        let mut paths = self.candidate.strategy.parts().map(KeyPart::path);
        cost.changes = paths.find(|path| request.sets(path)).cloned();
        cost.per_day = request.per_day();
        cost.request_units_per_day = cost.per_day.map(|per_day| per_day * cost.request_units);
        cost
    }

    /// Returns the request units of a write. One that is alone removes the old version of its item.
    fn write(&self, step: &TransactionStep, found: &FoundItems, alone: bool) -> f64 {
        let write = found.mean(found.write);
        let change = || {
            let changed: f64 = step.set.iter().map(|path| terms_of(path, self.policy)).sum();
            // The time of the write changes with each: two terms out, two in.
            let time =
                if self.policy.is_on() { f64::from(2 * TERMS_PER_VALUE) * TERM_RU } else { 0.0 };
            write * if alone { 2.0 } else { 1.0 } + time + changed
        };
        let one = match step.operation {
            RequestOperation::Create | RequestOperation::Delete => found.mean(found.create),
            RequestOperation::Patch => {
                change() + float(step.set.len().max(1) as u64) * PATCH_OPERATION_RU
            }
            RequestOperation::Replace | RequestOperation::Upsert => change(),
            RequestOperation::Read => found.mean(found.read),
            RequestOperation::Query | RequestOperation::Transaction => 0.0,
        };
        one * f64::from(step.items)
    }

    fn query(&self, matches: &MatchedItems, limit: Option<u32>) -> RequestEstimates {
        let found = &self.kind.found;
        let kilobytes = |bytes: u64| found.mean(float(bytes)) / 1_024.0;
        let charge_of_a_load = LOADED_ITEM_RU
            + kilobytes(found.stored_bytes) * LOADED_KB_RU
            + kilobytes(found.returned_bytes) * RETURNED_KB_RU;
        let is_sum = matches!(self.kind.request.select, QuerySelection::Aggregate(_));
        let limit = limit.filter(|_| !is_sum).map_or(f64::INFINITY, f64::from);
        let mut cost = RequestEstimates {
            names: self.visits.names,
            is_query: true,
            fans_out: self.fans_out(),
            charge_of_a_load,
            ..RequestEstimates::default()
        };
        let mut add = |share: f64, logical: f64, physical: f64, loaded: f64, seeks: f64| {
            cost.logical_partitions += share * logical;
            cost.physical_partitions += share * physical;
            cost.items_loaded += share * loaded;
            let starts = physical * (QUERY_START_RU + seeks * SEEK_RU);
            cost.request_units += share * (starts + loaded * charge_of_a_load);
        };
        let RequestVisits { draws, all, prefixes, partitions, .. } = self.visits;
        let everywhere = |requests: f64| matches.mean(|found| found.min(limit * requests));
        if all > 0.0 {
            let loaded = everywhere(self.physical);
            add(all / draws, self.cardinality, self.physical, loaded, self.seeks(false));
        }
        if prefixes > 0.0 {
            let n = self.visits.n_prefixes / prefixes;
            let physical = (self.visits.physical_of_prefixes / prefixes).min(self.physical.max(n));
            let loaded = everywhere(physical);
            let logical = self.cardinality.min(loaded.max(n));
            add(prefixes / draws, logical, physical, loaded, self.seeks(true));
        }
        if partitions > 0.0 {
            let n = self.visits.n_partitions / partitions;
            let share = partitions / draws;
            if self.in_order_of_period() && limit.is_finite() {
                // All partitions of a period are read before the next period.
                let together = self.partitions_of_a_period().min(n.max(1.0));
                let periods = (n / together).max(1.0);
                let read = matches.mean(|found| {
                    let read = (limit * periods / found.max(1e-9)).ceil().clamp(1.0, periods);
                    (read * together).min(n)
                });
                add(share, read, read, everywhere(together), self.seeks(true));
            } else if n > MAX_KEYED_REQUESTS && self.physical < n {
                add(share, n, self.physical, everywhere(self.physical), self.seeks(false));
            } else {
                add(share, n, n, everywhere(n), self.seeks(true));
            }
        }
        cost
    }

    /// Returns true if the query is a fan-out. Its drawn requests name no part of the key, or at least half of
    /// all keys (such as all buckets), or first levels in at least half of the physical partitions.
    fn fans_out(&self) -> bool {
        let RequestVisits { all, prefixes, physical_of_prefixes, partitions, n_partitions, .. } =
            self.visits;
        let is_half = |named: f64, of: f64| named > 1.0 && 2.0 * named >= of;
        all > 0.0
            || is_half(n_partitions / partitions.max(1.0), self.cardinality)
            || is_half(physical_of_prefixes / prefixes.max(1.0), self.physical)
    }

    fn in_order_of_period(&self) -> bool {
        self.kind.request.order_by.as_ref().is_some_and(|order| {
            let mut parts = self.candidate.strategy.parts();
            parts.any(|part| matches!(part, KeyPart::Period(path, _) if *path == order.path))
        })
    }

    /// Such as buckets of an unknown value, and values of a list.
    fn partitions_of_a_period(&self) -> f64 {
        let filters = &self.kind.request.filters;
        let of_part = |part: &KeyPart| match (part, filters.get(part.path())) {
            (_, Some(RequestFilter::Fixed(FilterCondition::OneOf(values)))) => {
                float(values.len() as u64)
            }
            (KeyPart::Bucket(_, n_buckets), None | Some(RequestFilter::Last(_))) => {
                f64::from(n_buckets.get())
            }
            _ => 1.0,
        };
        self.candidate.strategy.parts().map(of_part).product()
    }

    /// Of the filter, the order, and a named key that is no property of the filter.
    fn seeks(&self, names_key: bool) -> f64 {
        let request = &self.kind.request;
        let filter = request.filters.values().map(|wanted| match wanted {
            RequestFilter::Drawn
            | RequestFilter::Last(_)
            | RequestFilter::Fixed(FilterCondition::Equals(_)) => 1,
            RequestFilter::Fixed(FilterCondition::OneOf(values)) => values.len() as u64,
            RequestFilter::Fixed(FilterCondition::Range(ValueRange { from, to })) => {
                u64::from(from.is_some()) + u64::from(to.is_some())
            }
        });
        let by_key = names_key && self.candidate.strategy.is_computed();
        let others = u64::from(request.order_by.is_some()) + u64::from(by_key);
        float(filter.sum::<u64>() + others)
    }
}

pub(super) fn prefix_bytes<'a>(
    n_levels: usize,
    partitions: &[KeyGroup<'a>],
) -> HashMap<&'a [KeyValue], f64> {
    let mut bytes = HashMap::new();
    for group in partitions.iter().filter(|_| n_levels > 1) {
        let values = group.row.key.values();
        for length in 1..n_levels.min(values.len()) {
            *bytes.entry(&values[..length]).or_insert(0.0) += group.all_bytes;
        }
    }
    bytes
}
