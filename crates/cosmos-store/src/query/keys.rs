//! The partition keys that a query can be about.

use std::fmt::Write;

use cosmos_model::{
    partitioning::path::PropertyPath,
    sql::{Binary, Expr, Logical, Query, Test},
};
use serde_json::{Value, json};

use crate::{
    Refusal,
    engine::{ContainerId, Definition, View},
    json::Json,
    sql::Prepared,
};

/// The most keys that a query is narrowed to: the service's limit is far above what SDKs send.
const MAX_KEYS: usize = 2_000;

/// Returns the ranges of effective partition keys that a query is about, as a plan has them: narrowed by the
/// conditions of its filter that are equalities and IN.
///
/// # Errors
/// As [`View::range_of`].
pub(super) fn ranges(
    view: &View,
    container: ContainerId,
    query: &Query,
    prepared: &Prepared,
    definition: &Definition,
) -> Result<Vec<Value>, Refusal> {
    let range = |min: &[u8], max: &[u8], is_max_inclusive: bool| {
        json!({
            "min": hex(min),
            "max": hex(max),
            "isMinInclusive": true,
            "isMaxInclusive": is_max_inclusive,
        })
    };
    let mut keys = vec![Vec::new()];
    if let (Some(filter), Some(root)) = (&query.filter, query.root()) {
        for path in &definition.key_paths {
            let Some(values) = Constants { root, path, prepared }.of(filter) else { break };
            if keys.len().saturating_mul(values.len()) > MAX_KEYS {
                break;
            }
            let longer = keys.iter().flat_map(|key: &Vec<Json>| {
                values.iter().map(|value| [key.as_slice(), std::slice::from_ref(value)].concat())
            });
            keys = longer.collect();
        }
    }
    let mut ranges = Vec::new();
    for key in keys {
        if key.is_empty() {
            return Ok(vec![range(&[], &[0xff], false)]);
        }
        let is_whole = key.len() == definition.key_paths.len();
        let found = view.range_of(container, &Json::Array(key))?;
        let until = if is_whole { &found.from } else { &found.until };
        ranges.push((found.from.clone(), range(&found.from, until, is_whole)));
    }
    if ranges.is_empty() {
        // No key fulfils the filter.
        return Ok(vec![range(&[], &[], true)]);
    }
    ranges.sort_by(|(one, _), (other, _)| one.cmp(other));
    ranges.dedup();
    Ok(ranges.into_iter().map(|(_, range)| range).collect())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02X}"); // Writing to a text does not fail.
        text
    })
}

/// Finds the values that a property has if a filter is true.
struct Constants<'a> {
    root: &'a str,
    path: &'a PropertyPath,
    prepared: &'a Prepared,
}

impl Constants<'_> {
    /// Returns the values; `None` for any.
    fn of(&self, filter: &Expr) -> Option<Vec<Json>> {
        let values = match filter {
            Expr::Binary(Binary::Equal, one, other) => {
                let constant = if self.is_property(one) {
                    other
                } else if self.is_property(other) {
                    one
                } else {
                    return None;
                };
                vec![self.key_value(constant)?]
            }
            Expr::Test(of, test, false) if self.is_property(of) => match test.as_ref() {
                Test::In(all) => {
                    all.iter().map(|one| self.key_value(one)).collect::<Option<_>>()?
                }
                _ => return None,
            },
            Expr::Logical(Logical::And, all) => {
                let mut found = all.iter().filter_map(|part| self.of(part));
                let mut values = found.next()?;
                for other in found {
                    values.retain(|value| other.contains(value));
                }
                values
            }
            Expr::Logical(Logical::Or, all) => {
                let all: Option<Vec<_>> = all.iter().map(|part| self.of(part)).collect();
                all?.concat()
            }
            _ => return None,
        };
        (values.len() <= MAX_KEYS).then_some(values)
    }

    fn is_property(&self, expr: &Expr) -> bool {
        expr.property().is_some_and(|(root, path)| root == self.root && path == *self.path)
    }

    fn key_value(&self, expr: &Expr) -> Option<Json> {
        let value = super::constant(self.prepared, expr)?;
        (!matches!(value, Json::Array(_) | Json::Object(_))).then_some(value)
    }
}
