//! What a query makes of an item, and the results of a page.

use cosmos_model::sql::{Expr, Query, Select};

use super::continuation::Continuation;
use crate::{
    Result,
    engine::Item,
    json::{self, Json},
    sql::{Prepared, Row},
};

/// The most bytes of a page: the service's limit.
const MAX_PAGE_BYTES: usize = 4 << 20;

/// The results of a page if the client leaves the number to the store.
const DEFAULT_RESULTS: usize = 1_000;

/// Evaluates a query for items.
pub(super) struct Evaluator<'a> {
    pub query: &'a Prepared,
    copies: Option<Copies>,
    /// True for a query that needs no property of an item: it counts rows of an index, and loads no item.
    pub needs_nothing: bool,
}

/// The results of a query are copies of the stored bytes, which are not made of values again.
struct Copies {
    /// The query that only tests an item.
    test: Prepared,
    /// The names of the results and the properties of the item; `None` copies the item.
    properties: Option<Vec<(String, String)>>,
}

impl Copies {
    fn new(query: &Prepared) -> Result<Option<Self>> {
        let tree = &query.query;
        let (Some(root), 1, false) = (tree.root(), tree.from.len(), query.plan.is_grouped) else {
            return Ok(None);
        };
        let property = |(value, alias): &(Expr, Option<String>)| {
            let (name, path) = value.property()?;
            let [property] = path.names() else { return None };
            let alias = alias.as_ref().unwrap_or(property);
            (name == root).then(|| (alias.clone(), property.clone()))
        };
        let properties = match &tree.select {
            Select::All => None,
            Select::Value(Expr::Name(name)) if name == root => None,
            Select::List(all) => match all.iter().map(property).collect() {
                Some(properties) => Some(properties),
                None => return Ok(None),
            },
            Select::Value(_) => return Ok(None),
        };
        let select = Select::Value(Expr::Literal(1.into()));
        let test = Prepared::of(Query { select, ..tree.clone() }, query.parameters.clone())?;
        Ok(Some(Self { test, properties }))
    }

    fn of(&self, item: &Item) -> Option<Vec<u8>> {
        let Some(wanted) = &self.properties else { return Some(item.body.to_vec()) };
        let names: Vec<&str> = wanted.iter().map(|(_, property)| &**property).collect();
        // What is stored can be read.
        let found = json::texts(&item.body, &names).ok()?;
        let texts = found.iter().map(|(_, value)| value.len());
        let aliases = wanted.iter().map(|(alias, _)| alias.len() + 4);
        let mut result = Vec::with_capacity(texts.chain(aliases).sum::<usize>() + 2);
        for (alias, property) in wanted {
            // Of two with one name, the last one counts.
            let value = found.iter().rfind(|(name, _)| name == property);
            let Some((_, value)) = value else { continue };
            result.push(if result.is_empty() { b'{' } else { b',' });
            json::write_text(&mut result, alias);
            result.push(b':');
            result.extend_from_slice(value);
        }
        if result.is_empty() {
            result.push(b'{');
        }
        result.push(b'}');
        Some(result)
    }
}

impl<'a> Evaluator<'a> {
    pub(super) fn new(query: &'a Prepared) -> Result<Self> {
        let copies = Copies::new(query)?;
        let needs_nothing =
            copies.is_none() && query.needed().is_some_and(|names| names.is_empty());
        Ok(Self { query, copies, needs_nothing })
    }

    /// Returns the properties of an item that the query needs, and what it makes of them.
    pub(super) fn rows(&self, item: &Item) -> Result<(Json, Vec<Row>)> {
        let query = self.copies.as_ref().map_or(self.query, |copies| &copies.test);
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
        match &self.copies {
            Some(copies) => copies.of(item),
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

pub(super) fn bytes(value: &Json) -> Vec<u8> {
    let mut bytes = Vec::new();
    value.write(&mut bytes);
    bytes
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copied_results_are_those_that_are_made_of_values() {
        let body = br#"{"id":"a","a\"b":[1,{"x":"\n"}],"n":0.5,"n":{"m":null},"t":"\u0000\u00e9"}"#;
        let mut stored = Vec::new();
        Json::parse(body).unwrap().write(&mut stored);
        let item = Item { body: stored.into(), etag: String::new(), lsn: 1, place: Vec::new() };
        let json = Json::parse(&item.body).unwrap();
        for text in [
            "SELECT c.t, c.id, c.none, c.n FROM c",
            r#"SELECT c["a\"b"], c.n AS x, c.id AS n FROM c WHERE c.id = "a""#,
            "SELECT c.none FROM c",
            "SELECT x.n FROM root x ORDER BY x.t",
            "SELECT * FROM c",
            "SELECT VALUE c FROM c",
        ] {
            let query = Prepared::new(text, Vec::new()).unwrap();
            let evaluator = Evaluator::new(&query).unwrap();
            assert!(evaluator.copies.is_some(), "{text}");
            let (_, rows) = evaluator.rows(&item).unwrap();
            let made = query.rows(&json).unwrap();
            let made: Vec<_> =
                made.iter().filter_map(|row| row.result.as_ref().map(bytes)).collect();
            assert_eq!(evaluator.results(&rows, &item), made, "{text}");
        }
        for text in [
            "SELECT c.n.m FROM c",
            "SELECT c.n, 1 FROM c",
            "SELECT c.n FROM c GROUP BY c.n",
            "SELECT c.n FROM c JOIN d IN c.list",
            "SELECT d.x FROM d IN c.list",
        ] {
            let query = Prepared::new(text, Vec::new()).unwrap();
            assert!(Evaluator::new(&query).unwrap().copies.is_none(), "{text}");
        }
    }
}
