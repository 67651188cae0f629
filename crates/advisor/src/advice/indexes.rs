//! The queries that reach a container with a key, and the indexes that serve them, as in
//! `docs/adr/0008-an-index-for-each-query.md`. `id` and `_ts` always have an index
//! (<https://learn.microsoft.com/azure/cosmos-db/index-policy>).
//!
//! 1. Each level of the key has an index, but for `/id`: without one, a query in one logical partition searches the whole
//!    physical partition.
//! 2. A list filters by the key, sorts by it first, and has a composite index in that order.
//! 3. A property that is sorted by has an index of its own, too: a query that sorts by it alone is refused
//!    without it. So has a property of a filter, unless a composite index serves the whole filter.
//! 4. A read or write that does not name the key finds its item by a query, which counts as the others do.
//! 5. Nothing else is indexed. Where a query has neither filter nor order, everything is.

use crate::request::{RequestFilter, RequestKind, RequestOperation};
use cosmos_model::partitioning::{FilterCondition, KeyPart, KeyStrategy, path::PropertyPath};

/// Properties of a composite index: a limit of the service.
const MAX_COMPOSITE_PATHS: usize = 8;

pub(super) type SortedPath = (PropertyPath, bool);

#[derive(Debug, Default)]
pub(super) struct IndexPaths {
    pub(super) ranges: Option<Vec<PropertyPath>>,
    pub(super) composites: Vec<Vec<SortedPath>>,
}

#[derive(Debug)]
struct QueryShape<'a> {
    request: &'a RequestKind,
    equal: Vec<PropertyPath>,
    others: Vec<PropertyPath>,
    order: Vec<SortedPath>,
}

pub(super) fn indexes(
    strategy: &KeyStrategy,
    paths: &[PropertyPath],
    requests: &[RequestKind],
) -> IndexPaths {
    let shapes = requests.iter().filter_map(|request| QueryShape::new(strategy, paths, request));
    let shapes: Vec<_> = shapes.collect();
    let mut composites: Vec<Vec<SortedPath>> = Vec::new();
    for index in shapes.iter().filter_map(QueryShape::composite) {
        // An index is read from both ends.
        let reversed = index.iter().map(|(path, down)| (path.clone(), !down)).collect();
        if !composites.contains(&index) && !composites.contains(&reversed) {
            composites.push(index);
        }
    }
    let is_unknown =
        |shape: &QueryShape<'_>| shape.request.filters.is_empty() && shape.order.is_empty();
    if requests.is_empty() || shapes.iter().any(is_unknown) {
        return IndexPaths { ranges: None, composites };
    }
    let ranges = shapes.iter().flat_map(|shape| shape.ranges(&composites));
    let mut ranges: Vec<PropertyPath> = ranges.cloned().collect();
    ranges.extend_from_slice(paths);
    let always = [PropertyPath::from_name("id"), PropertyPath::from_name("_ts")];
    ranges.retain(|path| !always.contains(path));
    // The service takes an empty list for everything.
    if ranges.is_empty() {
        ranges.push(PropertyPath::from_name("id"));
    }
    ranges.sort();
    ranges.dedup();
    IndexPaths { ranges: Some(ranges), composites }
}

impl<'a> QueryShape<'a> {
    /// Returns the query of a request, or `None` for a request by the id within a partition.
    fn new(
        strategy: &KeyStrategy,
        paths: &[PropertyPath],
        request: &'a RequestKind,
    ) -> Option<Self> {
        let names = |level: &&Vec<KeyPart>| level.iter().all(|part| is_named(part, request));
        let named: Vec<_> = strategy.levels().iter().take_while(names).collect();
        let is_point = named.len() == strategy.levels().len();
        match request.operation {
            RequestOperation::Create | RequestOperation::Transaction => return None,
            operation if is_point && operation != RequestOperation::Query => return None,
            _ => {}
        }
        let mut equal: Vec<PropertyPath> = paths[..named.len()].to_vec();
        // A value that is joined into a named key is the same for all items of the partition.
        let is_implied = |path: &PropertyPath| {
            named.iter().any(|level| level.contains(&KeyPart::Value(path.clone())))
        };
        let mut others = Vec::new();
        for (path, wanted) in &request.filters {
            if equal.contains(path) || is_implied(path) {
                continue;
            }
            match wanted {
                RequestFilter::Drawn | RequestFilter::Fixed(FilterCondition::Equals(_)) => {
                    equal.push(path.clone());
                }
                RequestFilter::Last(_) | RequestFilter::Fixed(_) => {
                    others.push(path.clone());
                }
            }
        }
        let sorted = request.order_by.as_ref().filter(|order| !equal.contains(&order.path));
        let order = sorted.map(|order| {
            // A single item needs no order.
            let is_single_item = equal.contains(&PropertyPath::from_name("id"));
            let first = equal.iter().filter(|_| !is_single_item).take(MAX_COMPOSITE_PATHS - 1);
            let last = (order.path.clone(), order.descending);
            first.map(|path| (path.clone(), order.descending)).chain([last]).collect()
        });
        let order = order.unwrap_or_default();
        Some(Self { request, equal, others, order })
    }

    /// A single item and a long list of properties need no composite index.
    fn composite(&self) -> Option<Vec<SortedPath>> {
        if self.order.len() > 1 {
            return Some(self.order.clone());
        }
        let has_room = (1..MAX_COMPOSITE_PATHS).contains(&self.equal.len());
        let is_single_item = self.equal.contains(&PropertyPath::from_name("id"));
        let range =
            self.others.first().filter(|_| has_room && !is_single_item && self.order.is_empty())?;
        let paths = self.equal.iter().chain([range]);
        Some(paths.map(|path| (path.clone(), false)).collect())
    }

    fn ranges<'s>(
        &'s self,
        composites: &'s [Vec<SortedPath>],
    ) -> impl Iterator<Item = &'s PropertyPath> {
        let is_other = |path: &PropertyPath| self.others.contains(path);
        // An index serves a filter that names all its properties, the last of them in any way.
        let fits = |index: &&Vec<SortedPath>| {
            index.iter().enumerate().all(|(n, (path, _))| {
                self.equal.contains(path) || (n + 1 == index.len() && is_other(path))
            })
        };
        let serving = composites.iter().filter(fits);
        let served: Vec<&PropertyPath> = serving.flatten().map(|(path, _)| path).collect();
        let filters =
            self.equal.iter().chain(&self.others).filter(move |path| !served.contains(path));
        filters.chain(self.order.last().map(|(path, _)| path))
    }
}

fn is_named(part: &KeyPart, request: &RequestKind) -> bool {
    let Some(wanted) = request.filters.get(part.path()) else { return false };
    match (part, wanted) {
        (KeyPart::Period(..), RequestFilter::Fixed(FilterCondition::Range(range))) => {
            range.from.is_some() && range.to.is_some()
        }
        (KeyPart::Period(..), _) => true,
        _ => !wanted.is_range(),
    }
}
