//! How the items of a query are found: by an index over what the filter implies, by the index of ORDER BY, or by a scan.
//!
//! An index only narrows the items down. The filter is evaluated for each of them in any case.

use std::cmp::Ordering;

use cosmos_model::{
    partitioning::path::PropertyPath,
    sql::{Binary, Expr, Logical, Test},
};

use super::{
    Path, WantedIndex, Work,
    container::Policy,
    keys::{Constants, KeyRange},
};
use crate::{
    engine::{ContainerId, EpkRange, IndexRange, Item, View},
    json::Json,
    sql::{Prepared, order},
};

/// The most items that an index may give for a filter: with more, a scan that stops early is as good.
const MAX_SELECTED: usize = if cfg!(test) { 6 } else { 2_000 };

/// A bound, and whether it is included.
type Bound = Option<(Json, bool)>;

/// The values that a property has if the filter is true.
struct Condition {
    path: Path,
    values: Values,
}

enum Values {
    /// One of these.
    Equal(Vec<Json>),
    /// Between these.
    Range(Bound, Bound),
}

/// The index of ORDER BY, and the part of it that a query reads.
pub(super) struct OrderIndex {
    paths: Vec<Path>,
    /// The values of the paths before those of ORDER BY.
    equal: Vec<Option<Json>>,
    is_reverse: bool,
    /// What the filter says of the first path of ORDER BY.
    bounds: (Bound, Bound),
    has_undefined: bool,
}

/// The ways to the items of a query.
pub(super) struct Access<'a> {
    view: &'a View,
    container: ContainerId,
    /// The parts of the hash space, in their order.
    ranges: Vec<EpkRange>,
    policy: &'a Policy,
    conditions: Vec<Condition>,
    pub work: Work,
    /// The best index that is not there yet.
    pub wanted: Option<WantedIndex>,
    /// The index that was used.
    pub used: Option<Vec<Path>>,
}

impl<'a> Access<'a> {
    /// Looks at the filter of a query over a part of the hash space.
    pub(super) fn new(
        view: &'a View,
        container: ContainerId,
        range: &EpkRange,
        keys: Option<&[KeyRange]>,
        key_paths: &[PropertyPath],
        policy: &'a Policy,
        query: &Prepared,
    ) -> Self {
        let ranges: Vec<EpkRange> = match keys {
            None => vec![range.clone()],
            Some(keys) => keys.iter().filter_map(|key| part(range, &key.range)).collect(),
        };
        let is_one_key = matches!(ranges.as_slice(), [range] if is_point(range));
        let mut conditions = Vec::new();
        if let (Some(filter), Some(root)) = (&query.query.filter, query.query.root()) {
            let mut paths: Vec<PropertyPath> = Vec::new();
            filter.visit(&mut |part| match part.property() {
                Some((name, path)) if name == root && !paths.contains(&path) => paths.push(path),
                _ => {}
            });
            for path in paths {
                let names = path.names().to_vec();
                let is_known = is_one_key && key_paths.contains(&path);
                if is_known || !policy.covers(&names) {
                    continue;
                }
                let constants = Constants { root, path: &path, prepared: query };
                let values = match constants.of(filter) {
                    Some(values) => Values::Equal(values),
                    None => match range_of(&constants, filter) {
                        (None, None) => continue,
                        (from, until) => Values::Range(from, until),
                    },
                };
                conditions.push(Condition { path: names, values });
            }
        }
        Self {
            view,
            container,
            ranges,
            policy,
            conditions,
            work: Work::default(),
            wanted: None,
            used: None,
        }
    }

    /// Returns all items behind a place that an index has for the filter, in the order of a scan; `None` if there is no
    /// such index, or if it has too many.
    pub(super) fn selected(&mut self, after: &[u8]) -> Option<Vec<Item>> {
        let [range] = self.ranges.as_slice() else { return None };
        let range = range.clone();
        let mut candidates = self.candidates();
        candidates.sort_by_key(|(rank, _)| *rank);
        for (_, lookups) in candidates {
            let paths = lookups.first().map(|lookup| lookup.paths.clone()).unwrap_or_default();
            let mut items = Vec::new();
            let mut is_there = true;
            for lookup in lookups {
                self.work.seeks = self.work.seeks.saturating_add(1);
                let Some(found) = self.view.lookup(self.container, &range, &lookup) else {
                    is_there = false;
                    break;
                };
                items.extend(found.take(MAX_SELECTED + 1 - items.len().min(MAX_SELECTED)));
                if items.len() > MAX_SELECTED {
                    break;
                }
            }
            if !is_there {
                self.want(paths, &range);
                continue;
            }
            if items.len() > MAX_SELECTED {
                self.count(&items);
                return None;
            }
            self.used = Some(paths);
            items.sort_by(|one, other| one.place.cmp(&other.place));
            items.dedup_by(|one, other| one.place == other.place);
            items.retain(|item| *item.place > *after);
            return Some(items);
        }
        None
    }

    fn count(&mut self, items: &[Item]) {
        items.iter().for_each(|item| self.work.add(item));
    }

    /// Returns the items behind a place, in the order of a scan.
    pub(super) fn scan(&mut self, after: &[u8]) -> impl Iterator<Item = Item> + use<> {
        self.work.seeks = self.work.seeks.saturating_add(1);
        let view = self.view.clone();
        let container = self.container;
        let after = after.to_vec();
        let ranges = std::mem::take(&mut self.ranges);
        let ranges = ranges.into_iter().filter({
            let after = after.clone();
            move |range| *range.until > *after
        });
        ranges.flat_map(move |range| {
            let after = (*after >= *range.from).then_some(after.as_slice());
            view.scan(container, &range, after.filter(|after| !after.is_empty()))
        })
    }

    /// Returns the lookups of each index that the filter can use, with a rank: the lowest one is the best.
    fn candidates(&self) -> Vec<(usize, Vec<IndexRange>)> {
        let mut candidates = Vec::new();
        for condition in &self.conditions {
            let lookup = |equal: Option<&Json>, from: &Bound, until: &Bound| IndexRange {
                paths: vec![condition.path.clone()],
                equal: equal.into_iter().cloned().map(Some).collect(),
                from: from.clone(),
                until: until.clone(),
                reverse: false,
                after: None,
            };
            candidates.push(match &condition.values {
                Values::Equal(values) => {
                    let rank = if condition.path == ["id"] { 0 } else { 1 + values.len() };
                    let mut values: Vec<&Json> = values.iter().collect();
                    values.sort_by(|one, other| order(Some(one), Some(other)));
                    values.dedup();
                    (rank, values.into_iter().map(|one| lookup(Some(one), &None, &None)).collect())
                }
                Values::Range(from, until) => {
                    let rank = if from.is_some() && until.is_some() { 10_000 } else { 20_000 };
                    (rank, vec![lookup(None, from, until)])
                }
            });
        }
        for index in &self.policy.composites {
            let (equal, next) = self.prefix(index.iter().map(|(path, _)| path));
            if equal.len() + usize::from(next.is_some()) < 2 {
                continue;
            }
            let (from, until) = next.unwrap_or_default();
            candidates.push((
                1,
                vec![IndexRange {
                    paths: index.iter().map(|(path, _)| path.clone()).collect(),
                    equal,
                    from,
                    until,
                    reverse: false,
                    after: None,
                }],
            ));
        }
        candidates
    }

    /// Returns the values of the first paths for which the filter has one value each, and the bounds of the next path.
    fn prefix<'p>(
        &self,
        paths: impl Iterator<Item = &'p Path>,
    ) -> (Vec<Option<Json>>, Option<(Bound, Bound)>) {
        let mut equal = Vec::new();
        for path in paths {
            let condition = self.conditions.iter().find(|condition| condition.path == *path);
            match condition.map(|condition| &condition.values) {
                Some(Values::Equal(values)) if values.len() == 1 => {
                    equal.extend(values.iter().cloned().map(Some));
                }
                Some(Values::Range(from, until)) => {
                    return (equal, Some((from.clone(), until.clone())));
                }
                _ => break,
            }
        }
        (equal, None)
    }

    /// Returns the index that has the order of ORDER BY; `None` if the order has both directions, or if the hash space
    /// has several parts.
    pub(super) fn order_index(&self, order: &[(Path, bool)]) -> Option<OrderIndex> {
        let ([_], [(first, is_reverse), ..]) = (self.ranges.as_slice(), order) else { return None };
        if order.iter().any(|(_, descending)| descending != is_reverse) {
            return None;
        }
        let ordered: Vec<&Path> = order.iter().map(|(path, _)| path).collect();
        let composites = self.policy.composites.iter().filter_map(|index| {
            let paths: Vec<&Path> = index.iter().map(|(path, _)| path).collect();
            let (equal, _) = self.prefix(paths.iter().copied());
            let begin = (1..=equal.len()).rev().find(|n| paths.get(*n..) == Some(&ordered))?;
            Some((paths, equal.into_iter().take(begin).collect::<Vec<_>>()))
        });
        let (paths, equal) =
            composites.max_by_key(|(_, equal)| equal.len()).unwrap_or((ordered, Vec::new()));
        let bounds = match self.conditions.iter().find(|condition| condition.path == *first) {
            Some(Condition { values: Values::Range(from, until), .. }) => {
                (from.clone(), until.clone())
            }
            _ => (None, None),
        };
        Some(OrderIndex {
            paths: paths.into_iter().cloned().collect(),
            equal,
            is_reverse: *is_reverse,
            bounds,
            has_undefined: order.len() > 1 || self.policy.has_undefined(first),
        })
    }

    /// Returns the items of an index in its order, from the given values on; `None` if the index is not there.
    pub(super) fn ordered(
        &mut self,
        index: &OrderIndex,
        from: Option<&[Option<Json>]>,
    ) -> Option<impl Iterator<Item = Item> + use<>> {
        let [range] = self.ranges.as_slice() else { return None };
        let range = range.clone();
        let mut parts = Vec::new();
        for lookup in index.lookups(from) {
            self.work.seeks = self.work.seeks.saturating_add(1);
            let Some(items) = self.view.lookup(self.container, &range, &lookup) else {
                if self.wanted.is_none() {
                    self.want(index.paths.clone(), &range);
                }
                return None;
            };
            parts.push(items);
        }
        self.used = Some(index.paths.clone());
        Some(parts.into_iter().flatten())
    }

    fn want(&mut self, paths: Vec<Path>, range: &EpkRange) {
        if self.wanted.is_none() {
            self.wanted = Some(WantedIndex { paths, within_logical_partition: is_point(range) });
        }
    }
}

impl OrderIndex {
    /// Returns the parts of the index from the given values of ORDER BY on, these included. Behind (a, b) there are the
    /// rest of a from b on, and everything behind a.
    fn lookups(&self, from: Option<&[Option<Json>]>) -> Vec<IndexRange> {
        let (lowest, highest) = self.bounds.clone();
        let lowest = lowest.or_else(|| (!self.has_undefined).then_some((Json::Null, true)));
        let lookup = |equal: &[Option<Json>], from: Bound, until: Bound| IndexRange {
            paths: self.paths.clone(),
            equal: [self.equal.as_slice(), equal].concat(),
            from,
            until,
            reverse: self.is_reverse,
            after: None,
        };
        let Some(values) = from else { return vec![lookup(&[], lowest, highest)] };
        let mut lookups = Vec::new();
        for (n, value) in values.iter().enumerate().rev() {
            let before = values.get(..n).unwrap_or_default();
            let is_last = n + 1 == values.len();
            let (from, until) =
                if n == 0 { (lowest.clone(), highest.clone()) } else { (None, None) };
            lookups.push(match (value, self.is_reverse) {
                (Some(value), false) => lookup(before, Some((value.clone(), is_last)), until),
                (Some(value), true) => lookup(before, from, Some((value.clone(), is_last))),
                // Undefined is the lowest value.
                (None, false) if is_last => lookup(before, from, until),
                (None, false) => lookup(before, Some((Json::Null, true)), until),
                (None, true) if is_last => lookup(&[before, &[None]].concat(), None, None),
                (None, true) => continue,
            });
        }
        lookups
    }
}

/// Returns the part that two ranges have in common.
fn part(one: &EpkRange, other: &EpkRange) -> Option<EpkRange> {
    let from = one.from.clone().max(other.from.clone());
    let until = one.until.clone().min(other.until.clone());
    (from < until).then_some(EpkRange { from, until })
}

/// Returns the bounds that a filter implies for a property.
fn range_of(property: &Constants<'_>, filter: &Expr) -> (Bound, Bound) {
    let comparison = |operator: Binary, value: Json| match operator {
        Binary::Greater => (Some((value.clone(), false)), end_of_type(&value)),
        Binary::GreaterOrEqual => (Some((value.clone(), true)), end_of_type(&value)),
        Binary::Less => (begin_of_type(&value), Some((value, false))),
        Binary::LessOrEqual => (begin_of_type(&value), Some((value, true))),
        _ => (None, None),
    };
    let bounds = match filter {
        Expr::Binary(operator, one, other) if property.is_property(one) => {
            property.value(other).map(|value| comparison(*operator, value))
        }
        Expr::Binary(operator, one, other) if property.is_property(other) => {
            let mirrored = match operator {
                Binary::Less => Binary::Greater,
                Binary::LessOrEqual => Binary::GreaterOrEqual,
                Binary::Greater => Binary::Less,
                Binary::GreaterOrEqual => Binary::LessOrEqual,
                operator => *operator,
            };
            property.value(one).map(|value| comparison(mirrored, value))
        }
        Expr::Test(of, test, false) if property.is_property(of) => match test.as_ref() {
            Test::Between(from, until) => {
                let bound = |expr| property.value(expr).map(|value| (value, true));
                Some((bound(from), bound(until)))
            }
            _ => None,
        },
        Expr::Logical(Logical::And, all) => {
            let mut found = (None, None);
            for part in all {
                let (from, until) = range_of(property, part);
                found.0 = tighter(found.0, from, Ordering::Greater);
                found.1 = tighter(found.1, until, Ordering::Less);
            }
            Some(found)
        }
        _ => None,
    };
    bounds.unwrap_or_default()
}

/// Returns the bound that leaves less: of two lower ones the greater, of two upper ones the lesser.
fn tighter(one: Bound, other: Bound, wins: Ordering) -> Bound {
    match (one, other) {
        (Some(one), Some(other)) => {
            let compared = order(Some(&one.0), Some(&other.0));
            let takes_one = compared == wins || compared.is_eq() && !one.1;
            Some(if takes_one { one } else { other })
        }
        (one, other) => one.or(other),
    }
}

/// Returns the bound below all values that `<` compares with a value.
fn begin_of_type(value: &Json) -> Bound {
    match value {
        Json::Number(_) => Some((Json::Bool(true), false)),
        Json::Text(_) => Some((Json::Text("".into()), true)),
        _ => None,
    }
}

/// Returns the bound above them.
fn end_of_type(value: &Json) -> Bound {
    match value {
        Json::Number(_) => Some((Json::Text("".into()), false)),
        Json::Text(_) => Some((Json::Array(Vec::new()), false)),
        _ => None,
    }
}

/// Returns true for the range of a single effective partition key.
fn is_point(range: &EpkRange) -> bool {
    let _ = range;
    false
}
