//! Compiled queries.

use std::{cmp::Ordering, collections::BTreeSet};

use crate::json::Json;

use super::{
    Row,
    eval::{Frame, Node},
    groups::{Aggregate, Groups},
};

pub(crate) struct Plan {
    pub(super) sources: Vec<From>,
    pub(super) filter: Option<Node>,
    pub(super) group: Vec<Node>,
    pub(super) aggregates: Vec<(Aggregate, Node)>,
    /// Whether there are aggregates or GROUP BY: `result` and `order` are then made of their values.
    pub(crate) is_grouped: bool,
    /// The values of ORDER BY, and whether they descend.
    pub(super) order: Vec<(Node, bool)>,
    pub(super) result: Node,
    pub(super) distinct: bool,
    pub(crate) top: Option<u32>,
    pub(crate) offset_limit: Option<(u32, u32)>,
}

pub(super) enum From {
    /// One value, or the elements of an array.
    Node(Node, bool),
    /// The results of a query.
    Plan(Plan),
}

/// What is done with the innermost frame of a combination; false ends it.
type Visit<'v> = &'v mut dyn FnMut(&Frame<'_>) -> bool;

/// The values of ORDER BY, and a result.
pub(super) type Ordered = (Vec<Option<Json>>, Json);

impl Plan {
    /// Calls `visit` with the innermost frame of each combination of the sources that passes the filter, until it
    /// returns false.
    pub(super) fn each(&self, at: &Frame<'_>, visit: Visit<'_>) -> bool {
        self.sources_from(0, at, visit)
    }

    fn sources_from(&self, n: usize, at: &Frame<'_>, visit: Visit<'_>) -> bool {
        if at.run.spend(1).is_none() {
            return false;
        }
        match self.sources.get(n) {
            None => {
                let passes = match &self.filter {
                    Some(filter) => filter.eval(at).is_some_and(|value| *value == Json::Bool(true)),
                    None => true,
                };
                !passes || visit(at)
            }
            Some(From::Node(node, iterates)) => match node.eval(at).as_deref() {
                Some(Json::Array(all)) if *iterates => {
                    all.iter().all(|value| self.sources_from(n + 1, &at.within(value), visit))
                }
                Some(value) if !iterates => self.sources_from(n + 1, &at.within(value), visit),
                _ => true,
            },
            Some(From::Plan(plan)) => {
                let Some(results) = plan.results(at, usize::MAX) else { return false };
                results.iter().all(|value| self.sources_from(n + 1, &at.within(value), visit))
            }
        }
    }

    /// Returns the row of a combination; `None` if the evaluation has cost too much.
    pub(super) fn row(&self, at: &Frame<'_>) -> Option<Row> {
        let values = |nodes: &mut dyn Iterator<Item = &Node>| {
            nodes.map(|node| node.eval(at).and_then(|value| at.own(value))).collect()
        };
        let mut row = Row::default();
        if self.is_grouped {
            row.group = values(&mut self.group.iter());
            row.aggregates = values(&mut self.aggregates.iter().map(|(_, node)| node));
        } else {
            row.order = values(&mut self.order.iter().map(|(node, _)| node));
            row.result = self.result.eval(at).and_then(|value| at.own(value));
        }
        at.run.spend(1).map(|()| row)
    }

    /// Returns the results of a query within a query, but not more than `most`; `None` if the evaluation has cost too
    /// much.
    pub(super) fn results(&self, at: &Frame<'_>, most: usize) -> Option<Vec<Json>> {
        let enough = if self.is_grouped || self.distinct { usize::MAX } else { most };
        let mut gathered = Groups::default();
        let mut results = Vec::new();
        self.each(at, &mut |at| {
            let Some(row) = self.row(at) else { return false };
            if self.is_grouped {
                let added = gathered.add(self, row);
                return added.or_else(|refusal| at.run.refuse(refusal.message).ok_or(())).is_ok();
            }
            results.extend(row.result);
            results.len() < enough
        });
        at.run.spend(1)?;
        if self.is_grouped {
            results = gathered.rows(self, at)?.into_iter().map(|(_, result)| result).collect();
        }
        if self.distinct {
            let mut seen = BTreeSet::new();
            let first: Vec<bool> = results.iter().map(|result| seen.insert(result)).collect();
            let mut first = first.into_iter();
            results.retain(|_| first.next().unwrap_or_default());
        }
        results.truncate(most);
        Some(results)
    }

    /// Sorts results by their values of ORDER BY.
    pub(super) fn sort(&self, rows: &mut [Ordered]) {
        if self.order.is_empty() {
            return;
        }
        rows.sort_by(|(one, _), (other, _)| {
            let by = one.iter().zip(other).zip(&self.order).map(|((one, other), (_, descends))| {
                let order = one.cmp(other);
                if *descends { order.reverse() } else { order }
            });
            by.fold(Ordering::Equal, Ordering::then)
        });
    }
}
