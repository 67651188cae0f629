//! How the items of a query are found: by an index over what the filter implies, by the index of ORDER BY, or by a scan.
//!
//! An index only narrows the items down. The filter is evaluated for each of them in any case.

use cosmos_model::partitioning::path::PropertyPath;

use super::{
    Path, WantedIndex, Work,
    conditions::{self, Bound, Condition, Values, is_indexable},
    container::Policy,
    order::Begin,
};
use crate::{
    engine::{ContainerId, EpkRange, IndexRange, Item, View, rid_of},
    json::Json,
    sql::Prepared,
};

/// The most items that are read by their ids: an SDK that reads 300 items asks for 300 ids in 300 partition keys.
const MAX_READS: usize = 100_000;

/// The index of ORDER BY, and the part of it that a query reads.
pub(super) struct OrderIndex {
    paths: Vec<Path>,
    /// The values of the paths before those of ORDER BY.
    equal: Vec<Option<Json>>,
    /// The number of the paths of ORDER BY that it has: the first ones, which have one direction.
    pub n_ordered: usize,
    /// The number of all paths of ORDER BY.
    n_paths: usize,
    is_reverse: bool,
    /// The values that the filter has for the first paths of ORDER BY, but for the last one.
    fixed: Vec<Option<Json>>,
    /// What the filter says of the path after those.
    bounds: (Bound, Bound),
    has_undefined: bool,
}

/// The ways to the items of a query.
pub(super) struct Access<'a> {
    view: &'a View,
    container: ContainerId,
    /// The parts of the hash space, in their order.
    ranges: Vec<EpkRange>,
    policy: &'a Policy<'a>,
    conditions: Vec<Condition>,
    pub work: Work,
    /// The best index that is not there yet.
    pub wanted: Option<WantedIndex>,
}

impl<'a> Access<'a> {
    /// Looks at the filter of a query over a part of the hash space.
    pub(super) fn new(
        view: &'a View,
        container: ContainerId,
        range: &EpkRange,
        keys: Option<&[EpkRange]>,
        key_paths: &[PropertyPath],
        policy: &'a Policy<'a>,
        query: &Prepared,
    ) -> Self {
        let mut ranges: Vec<EpkRange> = match keys {
            None => vec![range.clone()],
            Some(keys) => keys.iter().map(|key| range.intersection(key)).collect(),
        };
        ranges.retain(|range| range.from < range.until);
        let is_one_key = matches!(ranges.as_slice(), [range] if range.is_point());
        let mut conditions = conditions::of(query, policy);
        // A partition key that has one value tells nothing more.
        conditions.retain(|condition| {
            !is_one_key || !key_paths.iter().any(|path| path.names() == condition.path)
        });
        Self { view, container, ranges, policy, conditions, work: Work::default(), wanted: None }
    }

    /// Returns the items behind a place that an index has for one value of a property within a logical partition: these
    /// are in the order of a scan.
    pub(super) fn equal(&self, after: &[u8]) -> Option<impl Iterator<Item = Item> + use<>> {
        let [range] = self.ranges.as_slice() else { return None };
        if *after >= *range.until {
            return None;
        }
        let conditions = self.conditions.iter().filter_map(|condition| match &condition.values {
            Values::Equal(values) if range.is_point() => Some((condition, values.as_slice())),
            _ => None,
        });
        let [(condition, [value])] = conditions.collect::<Vec<_>>()[..] else { return None };
        let lookup = IndexRange {
            paths: vec![condition.path.clone()],
            equal: vec![Some(value.clone())],
            at: range.contains(after).then(|| rid_of(after).saturating_add(1)),
            ..IndexRange::default()
        };
        self.view.lookup(self.container, range, &lookup)
    }

    /// Returns all items behind a place that an index has for the filter, in the order of a scan; `None` if there is no
    /// such index, or if it has more items than `max_items`.
    pub(super) fn selected(&mut self, after: &[u8], max_items: usize) -> Option<Vec<Item>> {
        if let Some(items) = self.by_id(after) {
            return Some(items);
        }
        let [range] = self.ranges.as_slice() else { return None };
        let range = range.clone();
        let mut candidates = self.candidates();
        candidates.sort_by_key(|(rank, _)| *rank);
        'candidates: for (_, lookups) in candidates {
            let mut items = Vec::new();
            for lookup in lookups {
                let Some(found) = self.view.lookup(self.container, &range, &lookup) else {
                    self.want(lookup.paths, &range);
                    continue 'candidates;
                };
                items.extend(found.take((max_items + 1).saturating_sub(items.len())));
                if items.len() > max_items {
                    for item in &items {
                        self.work.load(item);
                    }
                    return None;
                }
            }
            items.sort_by(|one, other| one.place.cmp(&other.place));
            items.retain(|item| *item.place > *after);
            return Some(items);
        }
        None
    }

    /// Returns the items behind a place that have the ids of the filter in the logical partitions of the query.
    fn by_id(&self, after: &[u8]) -> Option<Vec<Item>> {
        let ids = self.conditions.iter().find_map(|condition| match &condition.values {
            Values::Equal(ids) if condition.path == ["id"] => Some(ids),
            _ => None,
        })?;
        let n_reads = ids.len().saturating_mul(self.ranges.len());
        if n_reads > MAX_READS || !self.ranges.iter().all(EpkRange::is_point) {
            return None;
        }
        let reads = self.ranges.iter().flat_map(|range| ids.iter().map(move |id| (range, id)));
        let mut items: Vec<Item> = reads
            .filter_map(|(range, id)| self.view.read_in(self.container, range, id.as_str()?))
            .filter(|item| *item.place > *after)
            .collect();
        items.sort_by(|one, other| one.place.cmp(&other.place));
        Some(items)
    }

    /// Returns the items behind a place, in the order of a scan.
    pub(super) fn scan(&mut self, after: &[u8]) -> impl Iterator<Item = Item> + use<> {
        let (view, container) = (self.view.clone(), self.container);
        let after = Some(after.to_vec()).filter(|after| !after.is_empty());
        let ranges = std::mem::take(&mut self.ranges).into_iter();
        ranges.flat_map(move |range| view.scan(container, &range, after.as_deref()))
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
                ..IndexRange::default()
            };
            candidates.push(match &condition.values {
                Values::Equal(values) => {
                    let rank = if condition.path == ["id"] { 0 } else { 1 + values.len() };
                    let lookups = values.iter().map(|one| lookup(Some(one), &None, &None));
                    (rank, lookups.collect())
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
            let paths = index.iter().map(|(path, _)| path.clone()).collect();
            let lookup = IndexRange { paths, equal, from, until, ..IndexRange::default() };
            candidates.push((1, vec![lookup]));
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

    /// Returns the index that has the order of ORDER BY, or of its first properties: those with the same direction.
    /// `None` if the hash space has several parts.
    pub(super) fn order_index(&self, order: &[(Path, bool)]) -> Option<OrderIndex> {
        let ([_], [(first, is_reverse), ..]) = (self.ranges.as_slice(), order) else { return None };
        let is_same = |(path, by): &&(Path, bool)| by == is_reverse && is_indexable(path);
        let n_ordered = order.iter().take_while(is_same).count();
        if n_ordered == 0 {
            return None;
        }
        let ordered: Vec<&Path> = order.iter().map(|(path, _)| path).collect();
        let composites = self.policy.composites.iter().filter_map(|index| {
            let paths: Vec<&Path> = index.iter().map(|(path, _)| path).collect();
            let (equal, _) = self.prefix(paths.iter().copied());
            let begin = (1..=equal.len()).rev().find(|n| paths.get(*n..) == Some(&ordered))?;
            Some((paths, equal.into_iter().take(begin).collect::<Vec<_>>()))
        });
        let (paths, equal) = composites
            .max_by_key(|(_, equal)| equal.len())
            .unwrap_or_else(|| (ordered.clone(), Vec::new()));
        let (mut fixed, bounds) = self.prefix(ordered.iter().copied().take(n_ordered));
        fixed.truncate(n_ordered - 1);
        Some(OrderIndex {
            paths: paths.into_iter().take(equal.len() + n_ordered).cloned().collect(),
            equal,
            n_ordered,
            n_paths: order.len(),
            is_reverse: *is_reverse,
            fixed,
            bounds: bounds.unwrap_or_default(),
            has_undefined: order.len() > 1 || self.policy.has_undefined(first),
        })
    }

    /// Returns the items of an index in its order, from the begin of a page on; `None` if the index is not there.
    pub(super) fn ordered(
        &mut self,
        index: &OrderIndex,
        begin: Option<&Begin>,
    ) -> Option<impl Iterator<Item = Item> + use<>> {
        let [range] = self.ranges.as_slice() else { return None };
        let range = range.clone();
        let mut parts = Vec::new();
        for lookup in index.lookups(begin) {
            let Some(items) = self.view.lookup(self.container, &range, &lookup) else {
                self.want(index.paths.clone(), &range);
                return None;
            };
            parts.push(items);
        }
        Some(parts.into_iter().flatten())
    }

    fn want(&mut self, paths: Vec<Path>, range: &EpkRange) {
        if self.wanted.is_none() {
            self.wanted = Some(WantedIndex { paths, within_logical_partition: range.is_point() });
        }
    }
}

impl OrderIndex {
    /// Returns true if the index has the items of the filter alone, in their order.
    pub(super) fn is_of_filter(&self) -> bool {
        !self.equal.is_empty() || !self.fixed.is_empty()
    }

    /// Returns the parts of the index from the begin of a page on. From (a, b) on there are the items with these values,
    /// the rest of a behind b, and everything behind a.
    fn lookups(&self, begin: Option<&Begin>) -> Vec<IndexRange> {
        let (lowest, highest) = self.bounds.clone();
        let lowest = lowest.or_else(|| (!self.has_undefined).then_some((Json::Null, true)));
        let lookup = |equal: &[Option<Json>], from: Bound, until: Bound| IndexRange {
            paths: self.paths.clone(),
            equal: [self.equal.as_slice(), equal].concat(),
            from,
            until,
            reverse: self.is_reverse,
            at: None,
        };
        let n_fixed = self.fixed.len();
        let begin = begin.filter(|begin| begin.order.starts_with(&self.fixed));
        let Some(begin) = begin else { return vec![lookup(&self.fixed, lowest, highest)] };
        let values = begin.order.get(..self.n_ordered).unwrap_or_default();
        let next = |number: u64| match (begin.is_included, self.is_reverse) {
            (true, _) => number,
            (false, false) => number.saturating_add(1),
            (false, true) => number.saturating_sub(1),
        };
        let at = begin.rid.filter(|_| self.n_ordered == self.n_paths).map(next);
        let mut lookups = vec![IndexRange { at, ..lookup(values, None, None) }];
        if begin.rid.is_none() && !begin.is_included && self.n_ordered == self.n_paths {
            lookups.clear();
        }
        for (n, value) in values.iter().enumerate().skip(n_fixed).rev() {
            let before = values.get(..n).unwrap_or_default();
            let (from, until) =
                if n == n_fixed { (lowest.clone(), highest.clone()) } else { (None, None) };
            // Undefined is the lowest value.
            match (value, self.is_reverse) {
                (Some(value), false) => {
                    lookups.push(lookup(before, Some((value.clone(), false)), until));
                }
                (Some(value), true) => {
                    lookups.push(lookup(before, from, Some((value.clone(), false))));
                }
                (None, false) => lookups.push(lookup(before, Some((Json::Null, true)), until)),
                (None, true) => {}
            }
        }
        lookups
    }
}
