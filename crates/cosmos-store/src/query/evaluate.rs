//! What a query makes of an item, and the results of a page.

use cosmos_model::sql::{Expr, Query, Select};

use super::continuation::Continuation;
use crate::{
    Refusal,
    engine::Item,
    json::Json,
    sql::{Prepared, Row},
};

/// The most bytes of a page: the service's limit.
const MAX_PAGE_BYTES: usize = 4 << 20;

/// The results of a page if the client leaves the number to the store.
const DEFAULT_RESULTS: usize = 1_000;

/// Evaluates a query for items.
pub(super) struct Evaluator<'a> {
    pub query: &'a Prepared,
    /// For a query whose results are whole items: the query that only tests them. The results are copies of the stored
    /// bytes.
    test: Option<Prepared>,
    /// True for a query that needs no property of an item: it counts rows of an index, and loads no item.
    pub needs_nothing: bool,
}

impl<'a> Evaluator<'a> {
    pub(super) fn new(query: &'a Prepared) -> Result<Self, Refusal> {
        let tree = &query.query;
        let is_whole = tree.from.len() == 1
            && match (&tree.select, tree.root()) {
                (Select::All, Some(_)) => true,
                (Select::Value(Expr::Name(name)), Some(root)) => name == root,
                _ => false,
            };
        let test = if is_whole {
            let select = Select::Value(Expr::Literal(1.into()));
            Some(Prepared::of(Query { select, ..tree.clone() }, query.parameters.clone())?)
        } else {
            None
        };
        let needs_nothing = test.is_none() && query.needed().is_some_and(|names| names.is_empty());
        Ok(Self { query, test, needs_nothing })
    }

    /// Returns the properties of an item that the query needs, and what it makes of them.
    pub(super) fn rows(&self, item: &Item) -> Result<(Json, Vec<Row>), Refusal> {
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
    pub(super) fn result(&self, row: &Row, item: &Item) -> Option<Vec<u8>> {
        match self.test {
            Some(_) => Some(item.body.to_vec()),
            None => row.result.as_ref().map(bytes),
        }
    }

    pub(super) fn results(&self, rows: &[Row], item: &Item) -> Vec<Vec<u8>> {
        rows.iter().filter_map(|row| self.result(row, item)).collect()
    }
}

/// The results of a page.
pub(super) struct Output {
    pub results: Vec<Vec<u8>>,
    n_bytes: usize,
    max_results: usize,
    /// The results that OFFSET still skips.
    pub skip: u64,
    /// The results that TOP and LIMIT still allow.
    pub left: Option<u64>,
}

impl Output {
    pub(super) fn new(max_items: Option<u32>, start: &Continuation) -> Self {
        Self {
            results: Vec::new(),
            n_bytes: 0,
            max_results: max_items.map_or(DEFAULT_RESULTS, |max| max.max(1) as usize),
            skip: start.skip,
            left: start.left,
        }
    }

    /// Begins the page again.
    pub(super) fn restart(&mut self, start: &Continuation) {
        *self = Self { max_results: self.max_results, ..Self::new(None, start) };
    }

    /// Returns the items that are enough for the page.
    pub(super) fn n_needed(&self) -> usize {
        let left = self.left.unwrap_or(u64::MAX).min(self.max_results as u64);
        usize::try_from(left.saturating_add(self.skip)).unwrap_or(usize::MAX)
    }

    pub(super) fn is_over(&self) -> bool {
        self.left == Some(0)
    }

    pub(super) fn is_full(&self) -> bool {
        self.results.len() >= self.max_results || self.n_bytes >= MAX_PAGE_BYTES
    }

    /// Takes results from one on. Returns how many of them are done if the page is full before the last one.
    pub(super) fn push(&mut self, results: &mut [Vec<u8>], n_done: usize) -> Option<usize> {
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

/// Returns a value as text.
pub(super) fn bytes(value: &Json) -> Vec<u8> {
    let mut bytes = Vec::new();
    value.write(&mut bytes);
    bytes
}

/// Returns the value at a path of an item.
pub(super) fn find<'a>(item: &'a Json, path: &[String]) -> Option<&'a Json> {
    path.iter().try_fold(item, |value, name| value.get(name))
}

/// Returns the same bytes for equal results: the order of an object's properties does not count.
pub(super) fn canonical(result: &[u8]) -> Vec<u8> {
    fn sort(value: &mut Json) {
        match value {
            Json::Array(all) => all.iter_mut().for_each(sort),
            Json::Object(all) => {
                all.sort_by(|(one, _), (other, _)| one.cmp(other));
                all.iter_mut().map(|(_, value)| value).for_each(sort);
            }
            _ => {}
        }
    }
    let parsed = if result.contains(&b'{') { Json::parse(result).ok() } else { None };
    let Some(mut value) = parsed else { return result.to_vec() };
    sort(&mut value);
    bytes(&value)
}
