//! The comparison of the API with a model.

use std::fmt::Debug;

use serde_json::Value;
use tributary_local::client::Call;

use crate::api::{Api, Reply};

/// The differences of an API from a model, a sentence each.
pub(crate) struct Comparison<'a> {
    pub(crate) api: &'a Api,
    pub(crate) divergences: Vec<String>,
}

impl<'a> Comparison<'a> {
    pub(crate) fn new(api: &'a Api) -> Self {
        Self { api, divergences: Vec::new() }
    }

    pub(crate) fn differs(&mut self, what: String) {
        self.divergences.push(what);
    }

    /// Adds a difference if two values differ.
    pub(crate) fn same<T: PartialEq + Debug>(&mut self, what: &str, shown: T, expected: T) {
        if shown != expected {
            self.differs(format!("{what}: {shown:?} instead of {expected:?}"));
        }
    }

    /// Adds a difference unless `holds`.
    pub(crate) fn is(&mut self, what: &str, holds: bool) {
        if !holds {
            self.differs(format!("it is not true that {what}"));
        }
    }

    /// Returns all items of a list.
    pub(crate) async fn list(&mut self, path: &str) -> Vec<Value> {
        let list = self.api.list(path).await;
        list.unwrap_or_else(|error| {
            self.differs(format!("{error:#}"));
            Vec::new()
        })
    }

    /// Returns the answer to a query; `None` for a 404.
    pub(crate) async fn get(&mut self, path: &str) -> Option<Value> {
        match self.api.send(&Call::get(path)).await {
            Some(Reply { status: 200, body, .. }) => Some(body),
            Some(Reply { status: 404, .. }) => None,
            other => {
                self.differs(format!("GET {path} was answered {other:?}"));
                None
            }
        }
    }
}
