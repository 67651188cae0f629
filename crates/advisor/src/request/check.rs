//! The check of a request: one without a meaning, or with an ambiguous one, is refused.

use std::cmp::Ordering;

use anyhow::{bail, ensure};
use cosmos_model::partitioning::{
    FilterCondition, KeyValue, filter::ValueRange, path::PropertyPath,
};

use super::{RequestFilter, RequestKind, RequestOperation};

/// Operations of one transaction: a limit of the service.
const MAX_TRANSACTION_OPERATIONS: u64 = 100;

impl RequestKind {
    /// Reads a line of `requests.jsonl`. A request without a meaning is refused.
    pub fn read(line: &str) -> anyhow::Result<Self> {
        let request: Self = serde_json::from_str(line)?;
        request.check()?;
        Ok(request)
    }

    fn check(&self) -> anyhow::Result<()> {
        use RequestOperation::{Patch, Query, Replace, Transaction, Upsert};
        let per_day = self.per_day().unwrap_or_default();
        ensure!(per_day.is_finite() && per_day >= 0.0, "`perDay` is a number from 0 on");
        ensure!(
            self.limit != Some(0),
            "`limit` is 1 or more: a request for no items costs nothing"
        );
        let of_a_query = self.limit.is_some() || self.order_by.is_some() || !self.select.is_items();
        ensure!(
            !of_a_query || self.operation == Query,
            "only a query has `limit`, `orderBy` and `select`"
        );
        ensure!(
            self.set.is_empty() || [Replace, Upsert, Patch].contains(&self.operation),
            "only a replace, upsert or patch has `set`; in a transaction each of `writes` has it"
        );
        ensure!(
            self.writes.is_empty() || self.operation == Transaction,
            "only a transaction has `writes`"
        );
        let is_window = |wanted: &&RequestFilter| matches!(wanted, RequestFilter::Last(_));
        ensure!(
            self.filters.values().filter(is_window).count() <= 1,
            "one property may have a `last`; give the others `from` and `to`"
        );
        for (path, wanted) in &self.filters {
            if let RequestFilter::Fixed(condition) = wanted {
                check_condition(path, condition)?;
            }
        }
        for step in &self.writes {
            ensure!(
                ![Query, Transaction].contains(&step.operation),
                "a transaction writes items by their ids: create, replace, upsert, patch or delete. \
                 Write a query as a request of its own"
            );
            ensure!(step.items > 0, "`items` of a write is 1 or more");
            for (path, condition) in &step.filters {
                check_condition(path, condition)?;
            }
        }
        let operations: u64 = self.writes.iter().map(|step| u64::from(step.items)).sum();
        ensure!(
            operations <= MAX_TRANSACTION_OPERATIONS,
            "a transaction has at most {MAX_TRANSACTION_OPERATIONS} operations, and this one has \
             {operations}: split it"
        );
        Ok(())
    }
}

fn check_condition(path: &PropertyPath, condition: &FilterCondition) -> anyhow::Result<()> {
    let problem = match condition {
        FilterCondition::OneOf(values) if values.is_empty() => {
            "an empty list finds nothing; name the values"
        }
        FilterCondition::Range(ValueRange { from: None, to: None }) => {
            "a range has `from`, `to`, or both"
        }
        FilterCondition::Range(ValueRange { from: Some(from), to: Some(to) }) => {
            match compared(from, to) {
                None => "`from` and `to` are two texts, or two numbers",
                Some(Ordering::Less) => return Ok(()),
                Some(_) => {
                    "`from` is not before `to`, so no item matches; `to` itself is not part of it"
                }
            }
        }
        _ => return Ok(()),
    };
    bail!("{path}: {problem}")
}

/// Compares two values as the service does: texts by their code points, numbers by size.
pub(crate) fn compared(a: &KeyValue, b: &KeyValue) -> Option<Ordering> {
    match (a, b) {
        (KeyValue::Text(a), KeyValue::Text(b)) => Some(a.cmp(b)),
        (KeyValue::Number(a), KeyValue::Number(b)) => a.as_f64()?.partial_cmp(&b.as_f64()?),
        _ => None,
    }
}
