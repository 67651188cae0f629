//! GROUP BY and aggregates.

use std::collections::{BTreeMap, BTreeSet};

use crate::{Refusal, Result, json::Json};

use super::{
    MAX_BYTES, Prepared, Row,
    eval::{Frame, Run},
    functions,
    plan::{Ordered, Plan},
};

/// A function that sums up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Aggregate {
    Count,
    CountIf,
    Sum,
    Avg,
    Min,
    Max,
    MakeList,
    MakeSet,
}

/// The names of the aggregates in the text and in the plans of SDKs.
const AGGREGATES: [(&str, &str, Aggregate); 8] = [
    ("COUNT", "Count", Aggregate::Count),
    ("COUNTIF", "CountIf", Aggregate::CountIf),
    ("SUM", "Sum", Aggregate::Sum),
    ("AVG", "Average", Aggregate::Avg),
    ("MIN", "Min", Aggregate::Min),
    ("MAX", "Max", Aggregate::Max),
    ("MAKELIST", "MakeList", Aggregate::MakeList),
    ("MAKESET", "MakeSet", Aggregate::MakeSet),
];

impl Aggregate {
    /// Returns the aggregate of a name, which is in capital letters.
    pub(super) fn named(name: &str) -> Option<Self> {
        AGGREGATES.iter().find(|(known, ..)| *known == name).map(|(.., aggregate)| *aggregate)
    }
}

/// Returns the name that SDKs have for an aggregate; none for another function.
pub(crate) fn aggregate_type(name: &str) -> Option<&'static str> {
    AGGREGATES.iter().find(|(known, ..)| *known == name).map(|(_, of_sdks, _)| *of_sdks)
}

/// What an aggregate has seen.
#[derive(Default)]
struct State {
    /// The defined values; of COUNTIF the true ones.
    count: u32,
    sum: f64,
    /// Whether a value made the result undefined: of SUM and AVG one that is no number, of MIN and MAX an array or
    /// object.
    is_undefined: bool,
    /// The least or greatest value.
    best: Option<Json>,
    list: Vec<Json>,
    set: BTreeSet<Json>,
}

impl State {
    fn add(&mut self, aggregate: Aggregate, value: Json) {
        match aggregate {
            Aggregate::CountIf if value != Json::Bool(true) => return,
            Aggregate::Count | Aggregate::CountIf => (),
            Aggregate::Sum | Aggregate::Avg => match value {
                Json::Number(number) => self.sum += number,
                _ => self.is_undefined = true,
            },
            Aggregate::Min | Aggregate::Max => {
                self.is_undefined |= matches!(value, Json::Array(_) | Json::Object(_));
                let compared = Some(&value).cmp(&self.best.as_ref());
                let is_better =
                    if aggregate == Aggregate::Min { compared.is_lt() } else { compared.is_gt() };
                if self.best.is_none() || is_better {
                    self.best = Some(value);
                }
            }
            Aggregate::MakeList => self.list.push(value),
            Aggregate::MakeSet => _ = self.set.insert(value),
        }
        self.count = self.count.saturating_add(1);
    }

    fn result(self, aggregate: Aggregate) -> Option<Json> {
        if self.is_undefined {
            return None;
        }
        match aggregate {
            Aggregate::Count | Aggregate::CountIf => Some(Json::Number(self.count.into())),
            Aggregate::Sum => super::operators::number_of(self.sum),
            Aggregate::Avg => super::operators::number_of(self.sum / f64::from(self.count)),
            Aggregate::Min | Aggregate::Max => self.best,
            Aggregate::MakeList => Some(Json::Array(self.list)),
            Aggregate::MakeSet => Some(Json::Array(self.set.into_iter().collect())),
        }
    }
}

/// Sums rows up, for GROUP BY and aggregates: the groups of a query, in the order of their first rows.
#[derive(Default)]
pub(crate) struct Groups {
    places: BTreeMap<Vec<Option<Json>>, usize>,
    states: Vec<Vec<State>>,
    bytes: usize,
}

impl Groups {
    /// Adds a row. Errors: 400 if the groups take more than 64 MB.
    pub(crate) fn add(&mut self, plan: &Plan, row: Row) -> Result<()> {
        let mut size = |values: &[Option<Json>]| {
            self.bytes += values.iter().flatten().map(Json::size).sum::<usize>();
        };
        let keeps = |aggregate| matches!(aggregate, Aggregate::MakeList | Aggregate::MakeSet);
        if plan.aggregates.iter().any(|(aggregate, _)| keeps(*aggregate)) {
            size(&row.aggregates);
        }
        let next = self.states.len();
        let place = self.places.get(&row.group).copied().unwrap_or(next);
        if place == next {
            size(&row.group);
            self.bytes += size_of::<State>() * plan.aggregates.len();
            self.places.insert(row.group, next);
            self.states.push(plan.aggregates.iter().map(|_| State::default()).collect());
        }
        if self.bytes > MAX_BYTES {
            return Err(Refusal::new(
                400,
                "The groups of the query exceeded the limit of this store: 64 MB.",
            ));
        }
        let states = self.states.get_mut(place).into_iter().flatten();
        for ((state, (aggregate, _)), value) in states.zip(&plan.aggregates).zip(row.aggregates) {
            if let Some(value) = value {
                state.add(*aggregate, value);
            }
        }
        Ok(())
    }

    /// Returns the values of ORDER BY and the result of each group; `None` if that has cost too much.
    pub(super) fn rows(mut self, plan: &Plan, at: &Frame<'_>) -> Option<Vec<Ordered>> {
        if plan.group.is_empty() && self.states.is_empty() {
            self.places.insert(Vec::new(), 0);
            self.states.push(plan.aggregates.iter().map(|_| State::default()).collect());
        }
        let mut keys: Vec<_> = self.places.into_iter().collect();
        keys.sort_by_key(|(_, place)| *place);
        let mut rows = Vec::with_capacity(keys.len());
        for ((mut computed, _), states) in keys.into_iter().zip(self.states) {
            let states = states.into_iter().zip(&plan.aggregates);
            computed.extend(states.map(|(state, (aggregate, _))| state.result(*aggregate)));
            let at = at.with_computed(&computed);
            // The limit of an item is that of a group.
            if at.outer.is_none() {
                at.run.restart()?;
            }
            let order = plan.order.iter().map(|(node, _)| Some(node.eval(&at)?.into_owned()));
            let order = order.collect();
            if let Some(result) = plan.result.eval(&at) {
                rows.push((order, at.own(result)?));
            }
        }
        at.run.spend(1).map(|()| rows)
    }

    /// Returns a result for each group, in the order of ORDER BY, or else of their first rows; without GROUP BY one
    /// for all, unless it is undefined. Errors: 400 if they cost too much.
    pub(crate) fn results(self, query: &Prepared) -> Result<Vec<Json>> {
        let run = Run::new(functions::now());
        let rows = self.rows(&query.plan, &Frame::of(&Json::Null, &run));
        let mut rows = run.within_limits(rows)?.unwrap_or_default();
        query.plan.sort(&mut rows);
        Ok(rows.into_iter().map(|(_, result)| result).collect())
    }
}
