//! A page of a query.
//!
//! The results of a query have one order, whatever the way to its items: without ORDER BY that of a scan, with ORDER BY
//! that of the values and, among equal ones, of the items' numbers, in the direction of the first value. So a page goes
//! on where the one before has ended even if an index was built in between.

use std::{
    collections::HashSet,
    ops::ControlFlow,
    time::{Duration, Instant},
};

use cosmos_model::sql::Select;

use super::{
    Page, PageRequest, ResumeFilter,
    access::{Access, OrderIndex},
    container::{self, Policy},
    continuation::Continuation,
    evaluate::{Evaluator, Output, bytes, canonical},
    keys,
    order::{Begin, Order},
    plan, rank,
};
use crate::{
    Refusal, Result,
    engine::{Item, View, rid_of},
    json::Json,
    sql::{Groups, Prepared, Row},
};

/// The most bytes of the results of a query whose results are made of all items.
const MAX_LIST_BYTES: usize = 256 << 20;

/// A value that takes more has only its begin in an index.
const MAX_INDEXED_BYTES: usize = 1_000;

/// An index is worth its memory for a query that loads more items than this.
const MIN_LOADED_FOR_INDEX: u32 = 200;

/// What a page may cost.
#[derive(Clone, Copy)]
pub(super) struct Limits {
    /// The items that a page loads before it ends without having found enough.
    pub loaded: u32,
    /// The time after which it does.
    pub time: Duration,
    /// The items that an index may give for a page: with more, a scan that stops early is as good.
    pub selected: usize,
    /// The same for a query whose results are made of all items.
    pub selected_of_all: usize,
}

pub(super) const LIMITS: Limits = Limits {
    loaded: 50_000,
    time: Duration::from_millis(100),
    selected: 2_000,
    selected_of_all: 20_000,
};

/// Returns a page: at most 4 MB, and at most what the client asked for. A page may be empty before the end: a query
/// that has to look at many items ends its page after some of them. Errors: 400 for a continuation that is none of
/// this query, and for an ORDER BY that no index of the policy has.
pub(crate) fn page(view: &View, query: &Prepared, request: &PageRequest<'_>) -> Result<Page> {
    page_within(LIMITS, view, query, request)
}

pub(super) fn page_within(
    limits: Limits,
    view: &View,
    query: &Prepared,
    request: &PageRequest<'_>,
) -> Result<Page> {
    let definition = request.definition;
    let start = match request.continuation {
        Some(text) => Continuation::read(text, query, request)?,
        None => beginning(query),
    };
    // Of a count of different results, those are looked for.
    let counted = plan::distinct_count(&query.query);
    let inner = match &counted {
        Some((inner, _)) => Some(Prepared::of((*inner).clone(), query.parameters.clone())?),
        None => None,
    };
    let ranked = rank::with_statistics(limits, view, query, request)?;
    let given = inner.as_ref().or(ranked.as_ref()).unwrap_or(query);
    let policy = Policy::new(definition);
    let resolved = container::resolved(given, definition, &policy)?;
    let evaluated = resolved.as_ref().unwrap_or(given);
    let order = Order::new(given, evaluated, definition, &policy)?;
    let keys = keys::of_filter(view, request.container, &evaluated.query, evaluated, definition)?;
    let key_paths = &definition.key_paths;
    let keys = keys.as_deref();
    let container = request.container;
    let access = Access::new(view, container, &request.range, keys, key_paths, &policy, evaluated);
    let mut pager = Pager {
        evaluator: Evaluator::new(evaluated)?,
        access,
        order,
        weights: &query.weights,
        output: Output::new(request.max_items, &start),
        start,
        ended: None,
        before: Vec::new(),
        limits,
        began: Instant::now(),
    };
    let end = if pager.output.is_over() {
        None
    } else if let Some((_, name)) = counted {
        let n_results = pager.all_results()?.len();
        let result = counted_result(&query.query.select, name, n_results);
        pager.output.push(&mut [result], 0);
        None
    } else if !query.has_source()
        || query.plan.is_grouped
        || query.query.distinct
        || pager.order.is_by_distance
    {
        pager.listed()?
    } else if pager.order.paths.is_empty() {
        pager.scanned()?
    } else {
        pager.ordered(request.resume.as_ref())?
    };
    let Pager { access, output, .. } = pager;
    let is_costly = access.work.items_loaded > MIN_LOADED_FOR_INDEX
        && access.work.items_loaded as usize / 4 > output.results.len();
    Ok(Page {
        results: output.results,
        continuation: end.map(|end| end.write(query, container)).transpose()?,
        work: access.work,
        wanted: access.wanted.filter(|_| is_costly),
    })
}

fn beginning(query: &Prepared) -> Continuation {
    let (skip, limit) = query.plan.offset_limit.unzip();
    let left = match (query.plan.top, limit) {
        (Some(top), Some(limit)) => Some(top.min(limit)),
        (top, limit) => top.or(limit),
    };
    Continuation {
        skip: skip.unwrap_or_default().into(),
        left: left.map(u64::from),
        ..Continuation::default()
    }
}

/// Returns a count as the result of a query with one column.
fn counted_result(select: &Select, name: String, count: usize) -> Vec<u8> {
    #[allow(clippy::cast_precision_loss, reason = "less than 2^53 results fit into memory")]
    let count = Json::Number(count as f64);
    let is_value = matches!(select, Select::Value(_));
    bytes(&if is_value { count } else { Json::Object(vec![(name.into(), count)]) })
}

/// An item that the query has results of, for a sort.
struct Found {
    order: Vec<Option<Json>>,
    item: Item,
    /// True if the item passes the filter.
    is_match: bool,
    results: Vec<Vec<u8>>,
}

struct Pager<'a> {
    evaluator: Evaluator<'a>,
    access: Access<'a>,
    order: Order,
    /// Those of ORDER BY RANK.
    weights: &'a [f64],
    start: Continuation,
    output: Output,
    /// The end of the page, if there are more items.
    ended: Option<Continuation>,
    /// The place of the last item that is done, in the order of a scan.
    before: Vec<u8>,
    limits: Limits,
    began: Instant,
}

impl Pager<'_> {
    /// Returns the end of the page, behind an item or within it.
    fn end(&self, found: Found, n_rows: Option<usize>) -> Continuation {
        Continuation {
            place: found.item.place,
            before: if n_rows.is_some() { self.before.clone() } else { Vec::new() },
            order: found.order.iter().map(|one| one.as_ref().map(ToString::to_string)).collect(),
            n_rows,
            skip: self.output.skip,
            left: self.output.left,
            n_results: 0,
        }
    }

    fn is_out_of_budget(&self) -> bool {
        let n_loaded = self.access.work.items_loaded;
        n_loaded >= self.limits.loaded
            || n_loaded % 256 == 255 && self.began.elapsed() > self.limits.time
    }

    /// Returns the items of the query behind a place, in the order of a scan.
    fn items(&mut self, after: &[u8], max_selected: usize) -> Box<dyn Iterator<Item = Item>> {
        if !self.evaluator.query.has_source() {
            // A query without FROM makes one row, of nothing.
            return Box::new(std::iter::once(Item::default()));
        }
        if let Some(items) = self.access.equal(after) {
            return Box::new(items);
        }
        match self.access.selected(after, max_selected) {
            Some(items) => Box::new(items.into_iter()),
            None => Box::new(self.access.scan(after)),
        }
    }

    /// Loads an item: what the query needs of it, and the rows that it makes of it.
    fn load(&mut self, item: &Item) -> Result<(Json, Vec<Row>)> {
        if !self.evaluator.needs_nothing {
            self.access.work.load(item);
        }
        self.evaluator.rows(item)
    }

    /// Counts an item of the page that passes the filter.
    fn matched(&mut self, item: &Item, is_match: bool) {
        if is_match && !self.evaluator.needs_nothing {
            self.access.work.take(item);
        }
    }

    /// Takes the results of the next item. Breaks at the end of the page, with its continuation.
    fn take(&mut self, mut found: Found, is_last: bool) -> ControlFlow<Option<Continuation>> {
        if let Some(end) = self.ended.take() {
            return ControlFlow::Break(Some(end));
        }
        let Continuation { place, n_rows, .. } = &self.start;
        let n_done = n_rows.filter(|_| *place == found.item.place).unwrap_or_default();
        let n_taken = self.output.push(&mut found.results, n_done);
        self.matched(&found.item, found.is_match && n_taken.is_none_or(|n| n > n_done));
        if let Some(n) = n_taken {
            return ControlFlow::Break(Some(self.end(found, Some(n))));
        }
        if self.output.is_over() {
            return ControlFlow::Break(None);
        }
        // Whether there are more items shows with the next one.
        if is_last || self.output.is_full() {
            self.ended = Some(self.end(found, None));
        } else if self.order.paths.is_empty() {
            self.before = found.item.place;
        }
        ControlFlow::Continue(())
    }

    /// A page in the order of a scan.
    fn scanned(&mut self) -> Result<Option<Continuation>> {
        // An item that was returned in part comes again.
        let Continuation { place, before, n_rows, .. } = &self.start;
        self.before = if n_rows.is_some() { before } else { place }.clone();
        for item in self.items(&self.before.clone(), self.limits.selected) {
            if let Some(end) = self.ended.take() {
                return Ok(Some(end));
            }
            let (_, rows) = self.load(&item)?;
            let results = self.evaluator.results(&rows, &item);
            let is_match = !rows.is_empty();
            let found = Found { order: Vec::new(), item, is_match, results };
            let is_last = self.is_out_of_budget();
            if let ControlFlow::Break(end) = self.take(found, is_last) {
                return Ok(end);
            }
        }
        Ok(None)
    }

    /// A page of a query with ORDER BY.
    fn ordered(&mut self, resume: Option<&ResumeFilter>) -> Result<Option<Continuation>> {
        let begin = self.order.begin(&self.start, resume)?;
        let begin = begin.as_ref();
        let is_computed = self.order.is_computed;
        let index = if is_computed { None } else { self.access.order_index(&self.order.paths) };
        // An index that has the items of the filter alone is better than one of the filter.
        let is_of_filter = index.as_ref().is_some_and(OrderIndex::is_of_filter);
        if !is_of_filter && let Some(items) = self.access.selected(&[], self.limits.selected) {
            return self.sorted(begin, items.into_iter());
        }
        if let Some(index) = index {
            if let Some(items) = self.access.ordered(&index, begin) {
                match self.streamed(begin, items, index.n_ordered)? {
                    ControlFlow::Break(end) => return Ok(end),
                    ControlFlow::Continue(()) => self.output.restart(&self.start),
                }
            } else if is_of_filter
                && let Some(items) = self.access.selected(&[], self.limits.selected)
            {
                return self.sorted(begin, items.into_iter());
            }
        }
        let items = self.access.scan(&[]);
        self.sorted(begin, items)
    }

    /// A page of items in the order of the first values of ORDER BY. Continues without one if the index does not have
    /// that order: it has only the begin of a long value; or if too many items have the same first values.
    fn streamed(
        &mut self,
        begin: Option<&Begin>,
        items: impl Iterator<Item = Item>,
        n_ordered: usize,
    ) -> Result<ControlFlow<Option<Continuation>>> {
        let mut run: Vec<Found> = Vec::new();
        let is_whole = n_ordered == self.order.paths.len();
        for item in items {
            if let Some(end) = self.ended.take() {
                return Ok(ControlFlow::Break(Some(end)));
            }
            let (json, rows) = self.load(&item)?;
            let paths = self.order.paths.iter();
            let order: Vec<_> = paths.map(|(path, _)| json.at(path).cloned()).collect();
            let is_long = order.iter().flatten().any(|value| value.size() > MAX_INDEXED_BYTES);
            if is_long || run.len() > self.limits.selected_of_all {
                return Ok(ControlFlow::Continue(()));
            }
            if self.order.is_before(begin, &order, &item) {
                continue;
            }
            let results = self.evaluator.results(&rows, &item);
            let found = Found { order, item, is_match: !rows.is_empty(), results };
            let is_same = |first: &Found| {
                let mut values = first.order.iter().zip(&found.order).take(n_ordered);
                values.all(|(one, other)| one == other)
            };
            if !run.first().is_none_or(is_same) {
                let end = self.take_run(&mut run);
                if end.is_break() {
                    return Ok(end);
                }
            }
            run.push(found);
            if is_whole {
                let end = self.take_run(&mut run);
                if end.is_break() {
                    return Ok(end);
                }
            }
        }
        let end = self.take_run(&mut run);
        Ok(if end.is_break() { end } else { ControlFlow::Break(None) })
    }

    /// Takes the results of items with the same first values.
    fn take_run(&mut self, run: &mut Vec<Found>) -> ControlFlow<Option<Continuation>> {
        self.sort(run);
        let n_items = run.len();
        let is_out_of_budget = self.is_out_of_budget();
        for (n, found) in run.drain(..).enumerate() {
            self.take(found, is_out_of_budget && n + 1 == n_items)?;
        }
        ControlFlow::Continue(())
    }

    /// A page of items that have another order: only as many of them are kept as the page can have.
    fn sorted(
        &mut self,
        begin: Option<&Begin>,
        items: impl Iterator<Item = Item>,
    ) -> Result<Option<Continuation>> {
        let n_kept = self.output.n_needed().saturating_add(1);
        let mut kept: Vec<Found> = Vec::new();
        for item in items {
            let (_, mut rows) = self.load(&item)?;
            let Some(first) = rows.first_mut() else { continue };
            let order = std::mem::take(&mut first.order);
            if self.order.is_before(begin, &order, &item) {
                continue;
            }
            let results = self.evaluator.results(&rows, &item);
            if results.is_empty() {
                continue;
            }
            kept.push(Found { order, item, is_match: true, results });
            if kept.len() >= n_kept.saturating_mul(2).saturating_add(100) {
                self.sort(&mut kept);
                kept.truncate(n_kept);
            }
        }
        self.sort(&mut kept);
        for found in kept {
            if let ControlFlow::Break(end) = self.take(found, false) {
                return Ok(end);
            }
        }
        Ok(None)
    }

    fn sort(&self, found: &mut [Found]) {
        found.sort_by(|one, other| {
            let place = (other.order.as_slice(), Some(rid_of(&other.item.place)));
            self.order.compare((&one.order, rid_of(&one.item.place)), place)
        });
    }

    /// A page of results that are made of all items: groups, aggregates, DISTINCT, an order by a distance. Each page
    /// makes them again.
    fn listed(&mut self) -> Result<Option<Continuation>> {
        let results = self.all_results()?;
        let Continuation { skip, n_results, .. } = self.start;
        if n_results > 0 {
            // The first page has been charged for them all.
            (self.access.work.items_matched, self.access.work.bytes_matched) = (0, 0);
        }
        let n_before = usize::try_from(skip.saturating_add(n_results)).unwrap_or(usize::MAX);
        self.output.skip = 0;
        let mut results: Vec<_> = results.into_iter().skip(n_before).collect();
        let Some(n) = self.output.push(&mut results, 0) else { return Ok(None) };
        let n_results = n_results.saturating_add(n as u64);
        let left = self.output.left;
        Ok(Some(Continuation { skip, left, n_results, ..Continuation::default() }))
    }

    fn all_results(&mut self) -> Result<Vec<Vec<u8>>> {
        let query = self.evaluator.query;
        let is_distinct = query.query.distinct;
        let is_sorted = !self.order.paths.is_empty();
        // Without an order, the first results are those of the first items.
        let limit = self
            .start
            .left
            .map(|left| left.saturating_add(self.start.skip).saturating_add(self.start.n_results));
        let n_needed = match limit {
            Some(limit) if !is_sorted && !query.plan.is_grouped => {
                usize::try_from(limit).unwrap_or(usize::MAX)
            }
            _ => usize::MAX,
        };
        let mut groups = Groups::default();
        let mut seen = HashSet::new();
        let mut rows_found = Vec::new();
        let mut n_bytes = 0;
        for item in self.items(&[], self.limits.selected_of_all) {
            let (_, rows) = self.load(&item)?;
            self.matched(&item, !rows.is_empty());
            for mut row in rows {
                if query.plan.is_grouped {
                    groups.add(&query.plan, row)?;
                    continue;
                }
                let Some(result) = self.evaluator.result(&row, &item) else { continue };
                if is_distinct && !is_sorted && !seen.insert(canonical(&result)) {
                    continue;
                }
                n_bytes += result.len();
                if n_bytes > MAX_LIST_BYTES {
                    let text = "The results of the query exceeded the limit of this store: 256 MB.";
                    return Err(Refusal::new(400, text));
                }
                rows_found.push((std::mem::take(&mut row.order), rid_of(&item.place), result));
            }
            if rows_found.len() >= n_needed {
                break;
            }
        }
        if query.plan.is_grouped {
            let results = groups.results(query)?.iter().map(bytes).collect::<Vec<_>>();
            let is_new = |result: &Vec<u8>| !is_distinct || seen.insert(canonical(result));
            return Ok(results.into_iter().filter(is_new).collect());
        }
        if query.query.by_rank {
            rows_found = rank::fused(rows_found, &self.order.paths, self.weights);
        } else if is_sorted {
            rows_found.sort_by(|(one, rid, _), (other, other_rid, _)| {
                self.order.compare((one, *rid), (other, Some(*other_rid)))
            });
        }
        let results = rows_found.into_iter().map(|(_, _, result)| result);
        let mut is_old = |it: &Vec<u8>| is_distinct && is_sorted && !seen.insert(canonical(it));
        Ok(results.filter(|result| !is_old(result)).collect())
    }
}
