//! The check of a request: one without a meaning, or with an ambiguous one, is refused.

use std::cmp::Ordering;

use cosmos_model::partitioning::{
    FilterCondition, KeyValue, filter::ValueRange, path::PropertyPath,
};

use super::{RequestError, RequestFilter, RequestKind, RequestOperation};

/// Operations of one transaction: a limit of the service.
const MAX_TRANSACTION_OPERATIONS: u64 = 100;

impl RequestKind {
    /// Reads a line of `requests.jsonl`.
    ///
    /// ```
    /// use tributary_partition::RequestKind;
    ///
    /// let line = r#"{"kind": "a", "operation": "query", "filters": {"/n": {"from": 2, "to": 1}}}"#;
    /// let error = RequestKind::read(line).unwrap_err().to_string();
    /// assert!(error.contains("`from` is not before `to`"), "{error}");
    /// ```
    pub fn read(line: &str) -> Result<Self, RequestError> {
        let refused = |error: serde_json::Error| RequestError::Json(error.to_string());
        let request: Self = serde_json::from_str(line).map_err(refused)?;
        request.check()?;
        Ok(request)
    }

    fn check(&self) -> Result<(), RequestError> {
        let is = |operations: &[RequestOperation]| operations.contains(&self.operation);
        let refuse = |what: &str| Err(RequestError::Meaningless(what.to_owned()));
        if self.per_day().is_some_and(|per_day| !per_day.is_finite() || per_day < 0.0) {
            return refuse("`perDay` is a number from 0 on");
        }
        if self.limit == Some(0) {
            return refuse("`limit` is 1 or more: a request for no items costs nothing");
        }
        let of_a_query = self.limit.is_some() || self.order_by.is_some() || !self.select.is_items();
        if of_a_query && !is(&[RequestOperation::Query]) {
            return refuse("only a query has `limit`, `orderBy` and `select`");
        }
        let changes =
            [RequestOperation::Replace, RequestOperation::Upsert, RequestOperation::Patch];
        if !self.set.is_empty() && !is(&changes) {
            return refuse(
                "only a replace, upsert or patch has `set`; in a transaction each of `writes` has it",
            );
        }
        if !self.writes.is_empty() && !is(&[RequestOperation::Transaction]) {
            return refuse("only a transaction has `writes`");
        }
        let windows =
            self.filters.values().filter(|wanted| matches!(wanted, RequestFilter::Last(_)));
        if windows.count() > 1 {
            return refuse("one property may have a `last`; give the others `from` and `to`");
        }
        for (path, wanted) in &self.filters {
            if let RequestFilter::Fixed(condition) = wanted {
                check_condition(path, condition)?;
            }
        }
        self.check_writes()
    }

    fn check_writes(&self) -> Result<(), RequestError> {
        let refuse = |what: String| Err(RequestError::Meaningless(what));
        for step in &self.writes {
            if matches!(step.operation, RequestOperation::Query | RequestOperation::Transaction) {
                let what = "a transaction writes items by their ids: create, replace, upsert, patch or delete. \
                            Write a query as a request of its own";
                return refuse(what.to_owned());
            }
            if step.items == 0 {
                return refuse("`items` of a write is 1 or more".to_owned());
            }
            for (path, condition) in step.filters.iter() {
                check_condition(path, condition)?;
            }
        }
        let operations: u64 = self.writes.iter().map(|step| u64::from(step.items)).sum();
        if operations > MAX_TRANSACTION_OPERATIONS {
            return refuse(format!(
                "a transaction has at most {MAX_TRANSACTION_OPERATIONS} operations, and this one has \
                 {operations}: split it"
            ));
        }
        Ok(())
    }
}

fn check_condition(path: &PropertyPath, condition: &FilterCondition) -> Result<(), RequestError> {
    let refuse = |what: &str| Err(RequestError::Meaningless(format!("{path}: {what}")));
    match condition {
        FilterCondition::OneOf(values) if values.is_empty() => {
            refuse("an empty list finds nothing; name the values")
        }
        FilterCondition::Range(ValueRange { from: None, to: None }) => {
            refuse("a range has `from`, `to`, or both")
        }
        FilterCondition::Range(ValueRange { from: Some(from), to: Some(to) }) => {
            match compared(from, to) {
                None => refuse("`from` and `to` are two texts, or two numbers"),
                Some(Ordering::Less) => Ok(()),
                Some(_) => refuse(
                    "`from` is not before `to`, so no item matches; `to` itself is not part of it",
                ),
            }
        }
        _ => Ok(()),
    }
}

/// Compares two values as the service does: texts by their code points, numbers by size.
pub(crate) fn compared(a: &KeyValue, b: &KeyValue) -> Option<Ordering> {
    match (a, b) {
        (KeyValue::Text(a), KeyValue::Text(b)) => Some(a.cmp(b)),
        (KeyValue::Number(a), KeyValue::Number(b)) => a.as_f64()?.partial_cmp(&b.as_f64()?),
        _ => None,
    }
}
