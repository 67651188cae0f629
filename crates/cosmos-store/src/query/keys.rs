//! The partition keys that a query can be about.

use cosmos_model::{
    partitioning::path::PropertyPath,
    sql::{Binary, Expr, Logical, Query, Test},
};
use serde_json::{Value, json};

use crate::{
    Result,
    engine::{ContainerId, Definition, EpkRange, View, hex},
    json::Json,
    sql::Prepared,
};

/// The most keys that a query is narrowed to: the service's limit is far above what SDKs send.
const MAX_KEYS: usize = 2_000;

/// Returns the partition keys that a query is about, in the order of their ranges: those that the equalities and IN
/// of its filter allow. `None` is any. Errors: as [`View::range_of`].
pub(super) fn of_filter(
    view: &View,
    container: ContainerId,
    query: &Query,
    prepared: &Prepared,
    definition: &Definition,
) -> Result<Option<Vec<EpkRange>>> {
    let mut keys = vec![Vec::new()];
    let mut n_levels = 0;
    if let (Some(filter), Some(root)) = (&query.filter, query.root()) {
        for path in &definition.key_paths {
            let Some(values) = (Constants { root, path, prepared }).of(filter) else { break };
            if keys.len().saturating_mul(values.len()) > MAX_KEYS {
                break;
            }
            let longer = keys.iter().flat_map(|key: &Vec<Json>| {
                values.iter().map(|value| [key.as_slice(), std::slice::from_ref(value)].concat())
            });
            keys = longer.collect();
            n_levels += 1;
        }
    }
    if n_levels == 0 {
        return Ok(None);
    }
    let range = |key| view.range_of(container, &Json::Array(key));
    let mut ranges = keys.into_iter().map(range).collect::<Result<Vec<_>>>()?;
    ranges.sort_by(|one, other| one.from.cmp(&other.from));
    ranges.dedup();
    Ok(Some(ranges))
}

/// Returns the ranges of effective partition keys that a query is about, as a plan has them.
pub(super) fn to_json(keys: Option<&[EpkRange]>) -> Vec<Value> {
    let range = |min: &[u8], max: &[u8], is_max_inclusive: bool| {
        json!({
            "min": hex(min),
            "max": hex(max),
            "isMinInclusive": true,
            "isMaxInclusive": is_max_inclusive,
        })
    };
    match keys {
        None => vec![range(&[], &[0xff], false)],
        // No key fulfils the filter.
        Some([]) => vec![range(&[], &[], true)],
        Some(keys) => {
            let of_key = |key: &EpkRange| {
                let is_point = key.is_point();
                range(&key.from, if is_point { &key.from } else { &key.until }, is_point)
            };
            keys.iter().map(of_key).collect()
        }
    }
}

/// Finds the values that a property has if a filter is true.
pub(super) struct Constants<'a> {
    pub root: &'a str,
    pub path: &'a PropertyPath,
    pub prepared: &'a Prepared,
}

impl Constants<'_> {
    /// Returns the values; `None` for any.
    pub(super) fn of(&self, filter: &Expr) -> Option<Vec<Json>> {
        let values = match filter {
            Expr::Binary(Binary::Equal, one, other) => {
                let constant = if self.is_property(one) {
                    other
                } else if self.is_property(other) {
                    one
                } else {
                    return None;
                };
                vec![self.value(constant)?]
            }
            Expr::Test(of, test, false) if self.is_property(of) => match test.as_ref() {
                Test::In(all) => all.iter().map(|one| self.value(one)).collect::<Option<_>>()?,
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

    pub(super) fn is_property(&self, expr: &Expr) -> bool {
        expr.property().is_some_and(|(root, path)| root == self.root && path == *self.path)
    }

    /// Returns the value of an expression of constants; `None` for an array or object.
    pub(super) fn value(&self, expr: &Expr) -> Option<Json> {
        let value = self.prepared.value_of(expr)?;
        (!matches!(value, Json::Array(_) | Json::Object(_))).then_some(value)
    }
}
