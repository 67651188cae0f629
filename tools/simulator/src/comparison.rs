//! The queries of a comparison.

use serde_json::Value;
use tributary_local::client::Call;

use crate::{Api, Reply};

/// A comparison of an API with a model, and the differences, a sentence each.
pub(crate) struct Comparison<'a> {
    api: &'a dyn Api,
    divergences: Vec<String>,
}

impl<'a> Comparison<'a> {
    /// Creates a comparison without differences.
    pub(crate) fn new(api: &'a dyn Api) -> Self {
        Self { api, divergences: Vec::new() }
    }

    /// Returns the differences.
    pub(crate) fn end(self) -> Vec<String> {
        self.divergences
    }

    /// Adds a difference.
    pub(crate) fn differs(&mut self, what: String) {
        self.divergences.push(what);
    }

    /// Adds a difference if two values differ.
    pub(crate) fn same<T: PartialEq + std::fmt::Debug>(
        &mut self,
        what: &str,
        shown: &T,
        expected: &T,
    ) {
        if shown != expected {
            self.differs(format!("{what}: {shown:?} instead of {expected:?}"));
        }
    }

    /// Returns all items of a list, following `nextCursor`: in pages of 100, unless `path` has a query.
    pub(crate) async fn list(&mut self, path: &str) -> Vec<Value> {
        let mut items = Vec::new();
        let mut cursor = String::new();
        let query = if path.contains('?') { "" } else { "?limit=100" };
        while let Some(page) = self.get(&format!("{path}{query}{cursor}")).await {
            items.extend_from_slice(page["items"].as_array().map_or(&[][..], Vec::as_slice));
            match page["nextCursor"].as_str() {
                Some(next) => cursor = format!("&cursor={next}"),
                None => break,
            }
        }
        items
    }

    /// Returns the answer to a query; `None` for a 404.
    pub(crate) async fn get(&mut self, path: &str) -> Option<Value> {
        match self.api.send(Call::get(path)).await {
            Some(Reply { status: 200, body, .. }) => Some(body),
            Some(Reply { status: 404, .. }) => None,
            other => {
                self.differs(format!("GET {path} was answered {other:?}"));
                None
            }
        }
    }
}
