//! A page of a query.
//!
//! The results of a query have one order, whatever the way to its items: without ORDER BY that of a scan, with ORDER BY
//! that of the values and, among equal ones, of the items' numbers, in the direction of the first value. So a page goes
//! on where the one before has ended even if an index was built in between.

use std::{
    cmp::Ordering,
    collections::HashSet,
    time::{Duration, Instant},
};

use base64::{Engine, prelude::BASE64_STANDARD};
use cosmos_model::sql::{Expr, Query, Select};

use super::{
    Page, PageRequest, Path, ResumeFilter,
    access::Access,
    container::{self, Policy},
    continuation::Continuation,
    keys, plan,
};
use crate::{
    Refusal,
    engine::{Definition, Item, View},
    json::Json,
    sql::{Groups, Prepared, Row, order},
};

/// The most bytes of a page: the service's limit.
const MAX_PAGE_BYTES: usize = 4 << 20;

/// The results of a page if the client leaves the number to the store.
const DEFAULT_RESULTS: usize = 1_000;

/// The items that a page loads before it ends without having found enough.
const MAX_ITEMS: u32 = 50_000;

/// The time after which it does.
const MAX_TIME: Duration = Duration::from_millis(100);

/// The most bytes of the results of a query whose results are made of all items.
const MAX_LIST_BYTES: usize = 256 << 20;

/// An index is worth its memory for a query that loads more items than this.
const MIN_LOADED_FOR_INDEX: u32 = 200;

/// Returns a page: at most 4 MB, and at most what the client asked for. A page may be empty before the end: a query that
/// has to look at many items ends its page after some of them.
///
/// # Errors
/// 400 for a continuation that is none of this query, and for an ORDER BY that no index of the policy has.
pub fn page(view: &View, query: &Prepared, request: &PageRequest<'_>) -> Result<Page, Refusal> {
    let definition = request.definition;
    let start = match request.continuation {
        Some(text) => Continuation::read(text, query)?,
        None => beginning(query),
    };
    // Of a count of different results, those are looked for.
    let counted = plan::distinct_count(&query.query);
    let inner = match &counted {
        Some((inner, _)) => Some(Prepared::new(&inner.to_string(), query.parameters.clone())?),
        None => None,
    };
    let given = inner.as_ref().unwrap_or(query);
    let computed = container::with_computed(given, definition)?;
    let evaluated = computed.as_ref().unwrap_or(given);
    let policy = Policy::new(definition);
    let order = Order::new(given, definition, &policy)?;
    let keys = keys::of_filter(view, request.container, &evaluated.query, evaluated, definition)?;
    let key_paths = &definition.key_paths;
    let keys = keys.as_deref();
    let container = request.container;
    let access = Access::new(view, container, &request.range, keys, key_paths, &policy, evaluated);
    let mut pager = Pager {
        evaluator: Evaluator::new(evaluated)?,
        access,
        order,
        output: Output::new(request.max_items, &start),
        start,
        began: Instant::now(),
    };
    let end = if let Some((_, name)) = counted {
        let n_results = pager.all_results()?.len();
        let result = counted_result(&query.query.select, name, n_results);
        pager.output.push(&mut vec![result], 0);
        None
    } else if !query.has_source() {
        let mut results = pager.without_source()?;
        pager.output.push(&mut results, 0);
        None
    } else if query.is_grouped() || query.query.distinct || pager.order.is_by_distance {
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
        continuation: end.map(|end| end.write(query)).transpose()?,
        work: access.work,
        wanted: access.wanted.filter(|_| is_costly),
        used_index: access.used,
    })
}

fn beginning(query: &Prepared) -> Continuation {
    let (skip, limit) = query.offset_limit().unzip();
    let left = match (query.top(), limit) {
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
    bytes(&match select {
        Select::Value(_) => count,
        _ => Json::Object(vec![(name.into(), count)]),
    })
}

fn bytes(value: &Json) -> Vec<u8> {
    let mut bytes = Vec::new();
    value.write(&mut bytes);
    bytes
}

/// The order of a query.
#[derive(Default)]
struct Order {
    /// The paths of ORDER BY, and true for those in descending order.
    paths: Vec<(Path, bool)>,
    /// True for a computed property, which no index has.
    is_computed: bool,
    /// True if the items without the property are left out.
    drops_undefined: bool,
    is_by_distance: bool,
}

impl Order {
    fn new(query: &Prepared, definition: &Definition, policy: &Policy) -> Result<Self, Refusal> {
        let tree = &query.query;
        if query.is_grouped() {
            return Ok(Self::default());
        }
        if container::is_by_distance(tree) {
            let directions = tree
                .order_by
                .iter()
                .map(|order| (Path::new(), container::is_descending(order, definition)));
            return Ok(Self {
                paths: directions.collect(),
                is_by_distance: true,
                ..Self::default()
            });
        }
        let paths = container::order_paths(tree)?;
        let is_computed = paths.iter().any(|(path, _)| container::is_computed(path, definition));
        if !is_computed {
            policy.check_order(&paths)?;
        }
        let drops_undefined = match paths.as_slice() {
            [(path, _)] => !is_computed && !policy.has_undefined(path),
            _ => false,
        };
        Ok(Self { paths, is_computed, drops_undefined, is_by_distance: false })
    }

    /// Compares the places of two items; without a number, those of their values.
    fn compare(
        &self,
        one: (&[Option<Json>], u64),
        other: (&[Option<Json>], Option<u64>),
    ) -> Ordering {
        let direct = |n: usize, compared: Ordering| match self.paths.get(n) {
            Some((_, true)) => compared.reverse(),
            _ => compared,
        };
        let values = one.0.iter().zip(other.0).enumerate();
        let values = values.map(|(n, (one, other))| direct(n, order(one.as_ref(), other.as_ref())));
        let rids = other.1.map_or(Ordering::Equal, |rid| direct(0, one.1.cmp(&rid)));
        values.fold(Ordering::Equal, Ordering::then).then(rids)
    }
}

/// Evaluates a query for items.
struct Evaluator<'a> {
    query: &'a Prepared,
    /// For a query whose results are whole items: the query that only tests them. The results are copies of the stored
    /// bytes.
    test: Option<Prepared>,
}

impl<'a> Evaluator<'a> {
    fn new(query: &'a Prepared) -> Result<Self, Refusal> {
        let tree = &query.query;
        let is_whole = tree.from.len() == 1
            && match (&tree.select, tree.root()) {
                (Select::All, Some(_)) => true,
                (Select::Value(Expr::Name(name)), Some(root)) => name == root,
                _ => false,
            };
        let test = if is_whole {
            let select = Select::Value(Expr::Literal(1.into()));
            let tree = Query { select, ..tree.clone() };
            Some(Prepared::new(&tree.to_string(), query.parameters.clone())?)
        } else {
            None
        };
        Ok(Self { query, test })
    }

    /// Returns the properties of an item that the query needs, and what it makes of them.
    fn rows(&self, item: &Item) -> Result<(Json, Vec<Row>), Refusal> {
        let query = self.test.as_ref().unwrap_or(self.query);
        let json = match query.needed() {
            Some(names) if names.is_empty() => Json::Object(Vec::new()),
            Some(names) => Json::parse_only(&item.body, &names)?,
            None => Json::parse(&item.body)?,
        };
        let rows = query.rows(&json)?;
        Ok((json, rows))
    }

    /// Returns the result of a row as text; `None` if it is undefined.
    fn result(&self, row: &Row, item: &Item) -> Option<Vec<u8>> {
        match self.test {
            Some(_) => Some(item.body.to_vec()),
            None => row.result.as_ref().map(bytes),
        }
    }

    fn results(&self, rows: &[Row], item: &Item) -> Vec<Vec<u8>> {
        rows.iter().filter_map(|row| self.result(row, item)).collect()
    }
}

/// The results of a page.
struct Output {
    results: Vec<Vec<u8>>,
    n_bytes: usize,
    max_results: usize,
    skip: u64,
    left: Option<u64>,
}

impl Output {
    fn new(max_items: Option<u32>, start: &Continuation) -> Self {
        Self {
            results: Vec::new(),
            n_bytes: 0,
            max_results: max_items.map_or(DEFAULT_RESULTS, |max| max.max(1) as usize),
            skip: start.skip,
            left: start.left,
        }
    }

    fn is_over(&self) -> bool {
        self.left == Some(0)
    }

    fn is_full(&self) -> bool {
        self.results.len() >= self.max_results || self.n_bytes >= MAX_PAGE_BYTES
    }

    /// Takes results from one on. Returns how many of them are done if the page is full before the last one.
    fn push(&mut self, results: &mut [Vec<u8>], n_done: usize) -> Option<usize> {
        for (n, result) in results.iter_mut().enumerate().skip(n_done) {
            if self.is_over() {
                return None;
            }
            if self.skip > 0 {
                self.skip -= 1;
                continue;
            }
            let is_too_much = self.n_bytes + result.len() > MAX_PAGE_BYTES;
            if self.is_full() || is_too_much && !self.results.is_empty() {
                return Some(n);
            }
            self.n_bytes += result.len() + 1;
            self.left = self.left.map(|left| left.saturating_sub(1));
            self.results.push(std::mem::take(result));
        }
        None
    }
}

/// An item that the query has results of, for a sort.
struct Found {
    order: Vec<Option<Json>>,
    item: Item,
    results: Vec<Vec<u8>>,
}

/// Where an ordered query goes on.
struct Begin {
    order: Vec<Option<Json>>,
    /// The number of the last item; `None` for all with these values.
    rid: Option<u64>,
    /// True if that item, or those items, still belong to the page.
    is_included: bool,
}

struct Pager<'a> {
    evaluator: Evaluator<'a>,
    access: Access<'a>,
    order: Order,
    start: Continuation,
    output: Output,
    began: Instant,
}

impl Pager<'_> {
    /// Returns the end of the page, behind an item or within it.
    fn end(&self, item: &Item, order: Vec<Option<Json>>, n_rows: Option<usize>) -> Continuation {
        Continuation {
            place: item.place.clone(),
            order,
            n_rows,
            skip: self.output.skip,
            left: self.output.left,
            ..Continuation::default()
        }
    }

    fn is_out_of_budget(&self) -> bool {
        let n_loaded = self.access.work.items_loaded;
        n_loaded >= MAX_ITEMS || n_loaded % 256 == 255 && self.began.elapsed() > MAX_TIME
    }

    /// Returns the items of the query behind a place, in the order of a scan.
    fn items(&mut self, after: &[u8]) -> Box<dyn Iterator<Item = Item>> {
        match self.access.selected(after) {
            Some(items) => Box::new(items.into_iter()),
            None => Box::new(self.access.scan(after)),
        }
    }

    /// Loads an item: what the query needs of it, and the rows that it makes of it.
    fn load(&mut self, item: &Item) -> Result<(Json, Vec<Row>), Refusal> {
        self.access.work.add(item);
        self.evaluator.rows(item)
    }

    /// A page in the order of a scan.
    fn scanned(&mut self) -> Result<Option<Continuation>, Refusal> {
        let Continuation { place, before, n_rows, .. } = self.start.clone();
        // An item that was returned in part comes again.
        let after = if n_rows.is_some() { &before } else { &place };
        if self.output.is_over() {
            return Ok(None);
        }
        let mut last = after.clone();
        let mut items = self.items(after);
        let mut ended = None;
        while let Some(item) = items.next() {
            if let Some(end) = ended {
                return Ok(Some(end));
            }
            let (_, rows) = self.load(&item)?;
            let mut results = self.evaluator.results(&rows, &item);
            let n_done = if item.place == place { n_rows.unwrap_or_default() } else { 0 };
            if let Some(n) = self.output.push(&mut results, n_done) {
                let end = self.end(&item, Vec::new(), Some(n));
                return Ok(Some(Continuation { before: last, ..end }));
            }
            if self.output.is_over() {
                return Ok(None);
            }
            let is_done = self.output.is_full() || self.is_out_of_budget();
            ended = is_done.then(|| self.end(&item, Vec::new(), None));
            last = item.place;
        }
        Ok(None)
    }

    /// A page of a query with ORDER BY.
    fn ordered(&mut self, resume: Option<&ResumeFilter>) -> Result<Option<Continuation>, Refusal> {
        if self.output.is_over() {
            return Ok(None);
        }
        let from = self.from(resume)?;
        if let Some(items) = self.access.selected(&[]) {
            return self.sorted(from.as_ref(), items.into_iter());
        }
        let index = match self.order.is_computed {
            true => None,
            false => self.access.order_index(&self.order.paths),
        };
        let values = from.as_ref().map(|from| from.order.as_slice());
        let items = index.and_then(|index| self.access.ordered(&index, values));
        let Some(mut items) = items else {
            let items = self.access.scan(&[]);
            return self.sorted(from.as_ref(), items);
        };
        let mut ended = None;
        while let Some(item) = items.next() {
            if let Some(end) = ended {
                return Ok(Some(end));
            }
            let (json, rows) = self.load(&item)?;
            let order: Vec<Option<Json>> =
                self.order.paths.iter().map(|(path, _)| find(&json, path).cloned()).collect();
            if self.is_before(from.as_ref(), &order, &item) {
                continue;
            }
            let mut results = self.evaluator.results(&rows, &item);
            let n_done = self.n_done(&item);
            if let Some(n) = self.output.push(&mut results, n_done) {
                return Ok(Some(self.end(&item, order, Some(n))));
            }
            if self.output.is_over() {
                return Ok(None);
            }
            let is_done = self.output.is_full() || self.is_out_of_budget();
            ended = is_done.then(|| self.end(&item, order, None));
        }
        Ok(None)
    }

    /// A page of items that have another order: only as many of them are kept as the page can have.
    fn sorted(
        &mut self,
        from: Option<&Begin>,
        items: impl Iterator<Item = Item>,
    ) -> Result<Option<Continuation>, Refusal> {
        let left = self.output.left.unwrap_or(u64::MAX).min(self.output.max_results as u64);
        let n_kept = usize::try_from(left.saturating_add(self.output.skip)).unwrap_or(usize::MAX);
        let n_kept = n_kept.saturating_add(1);
        let mut kept: Vec<Found> = Vec::new();
        for item in items {
            let (_, mut rows) = self.load(&item)?;
            let Some(first) = rows.first_mut() else { continue };
            let order = std::mem::take(&mut first.order);
            if self.is_left_out(&order) || self.is_before(from, &order, &item) {
                continue;
            }
            let results = self.evaluator.results(&rows, &item);
            if results.is_empty() {
                continue;
            }
            kept.push(Found { order, item, results });
            if kept.len() >= n_kept.saturating_mul(2).saturating_add(100) {
                self.sort(&mut kept);
                kept.truncate(n_kept);
            }
        }
        self.sort(&mut kept);
        let mut ended = None;
        for mut found in kept {
            if let Some(end) = ended {
                return Ok(Some(end));
            }
            let n_done = self.n_done(&found.item);
            if let Some(n) = self.output.push(&mut found.results, n_done) {
                return Ok(Some(self.end(&found.item, found.order, Some(n))));
            }
            if self.output.is_over() {
                return Ok(None);
            }
            ended = self.output.is_full().then(|| self.end(&found.item, found.order, None));
        }
        Ok(None)
    }

    fn sort(&self, found: &mut [Found]) {
        found.sort_by(|one, other| {
            let place = (other.order.as_slice(), Some(number(&other.item.place)));
            self.order.compare((&one.order, number(&one.item.place)), place)
        });
    }

    /// Returns true if ORDER BY leaves an item out, as it has not the property.
    fn is_left_out(&self, order: &[Option<Json>]) -> bool {
        self.order.drops_undefined && order.first().is_some_and(Option::is_none)
    }

    /// Returns the results of an item that were on the page before.
    fn n_done(&self, item: &Item) -> usize {
        match self.start.n_rows {
            Some(n_rows) if number(&self.start.place) == number(&item.place) => n_rows,
            _ => 0,
        }
    }

    fn is_before(&self, from: Option<&Begin>, order: &[Option<Json>], item: &Item) -> bool {
        from.is_some_and(|from| {
            match self.order.compare((order, number(&item.place)), (&from.order, from.rid)) {
                Ordering::Less => true,
                Ordering::Equal => !from.is_included,
                Ordering::Greater => false,
            }
        })
    }

    fn from(&self, resume: Option<&ResumeFilter>) -> Result<Option<Begin>, Refusal> {
        let invalid = || Refusal::new(400, "Invalid Continuation Token");
        let from = if self.start.place.is_empty() {
            let Some(resume) = resume else { return Ok(None) };
            // An empty array stands for undefined; a hash of an object or array is not supported.
            let value = |value: &Json| match value {
                Json::Array(values) if values.is_empty() => Ok(None),
                Json::Array(_) | Json::Object(_) => Err(invalid()),
                value => Ok(Some(value.clone())),
            };
            let rid = match &resume.rid {
                Some(rid) => Some(rid_number(rid).ok_or_else(invalid)?),
                None => None,
            };
            Begin {
                order: resume.value.iter().map(value).collect::<Result<_, _>>()?,
                rid,
                is_included: !resume.exclude,
            }
        } else {
            Begin {
                order: self.start.order.clone(),
                rid: Some(number(&self.start.place)),
                is_included: self.start.n_rows.is_some(),
            }
        };
        if from.order.len() != self.order.paths.len() {
            return Err(invalid());
        }
        Ok(Some(from))
    }

    /// A page of results that are made of all items: groups, aggregates, DISTINCT, an order by a distance. Each page
    /// makes them again.
    fn listed(&mut self) -> Result<Option<Continuation>, Refusal> {
        let results = self.all_results()?;
        let Continuation { skip, n_results, .. } = self.start;
        let n_before = usize::try_from(skip.saturating_add(n_results)).unwrap_or(usize::MAX);
        self.output.skip = 0;
        let mut results: Vec<_> = results.into_iter().skip(n_before).collect();
        let Some(n) = self.output.push(&mut results, 0) else { return Ok(None) };
        let n_results = n_results.saturating_add(n as u64);
        let left = self.output.left;
        Ok(Some(Continuation { skip, left, n_results, ..Continuation::default() }))
    }

    fn all_results(&mut self) -> Result<Vec<Vec<u8>>, Refusal> {
        let query = self.evaluator.query;
        let is_distinct = query.query.distinct;
        let is_sorted = !self.order.paths.is_empty();
        // Without an order, the first results are those of the first items.
        let limit = self
            .start
            .left
            .map(|left| left.saturating_add(self.start.skip).saturating_add(self.start.n_results));
        let n_needed = match limit {
            Some(limit) if !is_sorted && !query.is_grouped() => {
                usize::try_from(limit).unwrap_or(usize::MAX)
            }
            _ => usize::MAX,
        };
        let mut groups = Groups::new(query);
        let mut seen = HashSet::new();
        let mut rows_found = Vec::new();
        let mut n_bytes = 0;
        for item in self.items(&[]) {
            let (_, rows) = self.load(&item)?;
            for mut row in rows {
                if query.is_grouped() {
                    groups.add(query, row)?;
                    continue;
                }
                let Some(result) = self.evaluator.result(&row, &item) else { continue };
                if self.is_left_out(&row.order)
                    || is_distinct && !is_sorted && !seen.insert(canonical(&result))
                {
                    continue;
                }
                n_bytes += result.len();
                if n_bytes > MAX_LIST_BYTES {
                    let message =
                        "The results of the query exceeded the limit of this store: 256 MB.";
                    return Err(Refusal::new(400, message));
                }
                rows_found.push((std::mem::take(&mut row.order), number(&item.place), result));
            }
            if rows_found.len() >= n_needed {
                break;
            }
        }
        if query.is_grouped() {
            let results = groups.results(query)?.iter().map(bytes).collect::<Vec<_>>();
            let is_new = |result: &Vec<u8>| !is_distinct || seen.insert(canonical(result));
            return Ok(results.into_iter().filter(is_new).collect());
        }
        if is_sorted {
            rows_found.sort_by(|(one, rid, _), (other, other_rid, _)| {
                self.order.compare((one, *rid), (other, Some(*other_rid)))
            });
        }
        let results = rows_found.into_iter().map(|(_, _, result)| result);
        let is_new =
            |result: &Vec<u8>| !is_distinct || !is_sorted || seen.insert(canonical(result));
        Ok(results.filter(is_new).collect())
    }

    /// Returns the result of a query without FROM.
    fn without_source(&mut self) -> Result<Vec<Vec<u8>>, Refusal> {
        let query = self.evaluator.query;
        let rows = query.rows(&Json::Null)?;
        if !query.is_grouped() {
            return Ok(rows.iter().filter_map(|row| row.result.as_ref().map(bytes)).collect());
        }
        let mut groups = Groups::new(query);
        for row in rows {
            groups.add(query, row)?;
        }
        Ok(groups.results(query)?.iter().map(bytes).collect())
    }
}

/// Returns the value at a path of an item.
fn find<'a>(item: &'a Json, path: &[String]) -> Option<&'a Json> {
    path.iter().try_fold(item, |value, name| value.get(name))
}

/// Returns the same bytes for equal results: the order of an object's properties does not count.
fn canonical(result: &[u8]) -> Vec<u8> {
    fn sort(value: &mut Json) {
        match value {
            Json::Array(all) => all.iter_mut().for_each(sort),
            Json::Object(all) => {
                all.sort_by(|(one, _), (other, _)| one.cmp(other));
                all.iter_mut().for_each(|(_, value)| sort(value));
            }
            _ => {}
        }
    }
    match Json::parse(result) {
        Ok(mut value) if result.contains(&b'{') => {
            sort(&mut value);
            bytes(&value)
        }
        _ => result.to_vec(),
    }
}

/// Returns the number of the item at a place.
fn number(place: &[u8]) -> u64 {
    place.last_chunk().map_or(0, |bytes| u64::from_be_bytes(*bytes))
}

/// Returns the number in the `_rid` of an item.
fn rid_number(rid: &str) -> Option<u64> {
    let bytes = BASE64_STANDARD.decode(rid.replace('-', "/")).ok()?;
    bytes.last_chunk().map(|bytes| u64::from_le_bytes(*bytes))
}
