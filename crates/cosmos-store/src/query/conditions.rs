//! What a filter says of the properties of an item.

use std::cmp::Ordering;

use cosmos_model::{
    partitioning::path::PropertyPath,
    sql::{Binary, Expr, Logical, Test},
};

use super::{Path, container::Policy, keys::Constants};
use crate::{json::Json, sql::Prepared};

/// The properties that no index has, though they can be asked for.
const NOT_INDEXED: [&str; 4] = ["_rid", "_self", "_etag", "_attachments"];

/// A bound, and whether it is included.
pub(super) type Bound = Option<(Json, bool)>;

/// The values that a property has if the filter is true.
pub(super) struct Condition {
    pub path: Path,
    pub values: Values,
}

pub(super) enum Values {
    /// One of these.
    Equal(Vec<Json>),
    /// Between these.
    Range(Bound, Bound),
}

/// Returns the conditions that a filter certainly implies, for properties that can have an index.
pub(super) fn of(query: &Prepared, policy: &Policy<'_>) -> Vec<Condition> {
    let (Some(filter), Some(root)) = (&query.query.filter, query.query.root()) else {
        return Vec::new();
    };
    let mut paths: Vec<PropertyPath> = Vec::new();
    filter.visit(&mut |part| match part.property() {
        Some((name, path)) if name == root && !paths.contains(&path) => paths.push(path),
        _ => {}
    });
    let condition = |path: PropertyPath| {
        let names = path.names().to_vec();
        if !is_indexable(&names) || !policy.covers(&names) {
            return None;
        }
        let constants = Constants { root, path: &path, prepared: query };
        let values = match constants.of(filter) {
            Some(mut values) => {
                values.sort();
                values.dedup();
                Values::Equal(values)
            }
            None => match range_of(&constants, filter) {
                (None, None) => return None,
                (from, until) => Values::Range(from, until),
            },
        };
        Some(Condition { path: names, values })
    };
    paths.into_iter().filter_map(condition).collect()
}

pub(super) fn is_indexable(path: &[String]) -> bool {
    path.first().is_some_and(|name| !NOT_INDEXED.contains(&name.as_str()))
}

fn range_of(property: &Constants<'_>, filter: &Expr) -> (Bound, Bound) {
    let comparison = |operator: Binary, value: Json| match operator {
        Binary::Greater => (Some((value.clone(), false)), end_of_type(&value)),
        Binary::GreaterOrEqual => (Some((value.clone(), true)), end_of_type(&value)),
        Binary::Less => (begin_of_type(&value), Some((value, false))),
        Binary::LessOrEqual => (begin_of_type(&value), Some((value, true))),
        _ => (None, None),
    };
    let bounds = match filter {
        Expr::Binary(operator, one, other) if property.is_property(one) => {
            property.value(other).map(|value| comparison(*operator, value))
        }
        Expr::Binary(operator, one, other) if property.is_property(other) => {
            let mirrored = match operator {
                Binary::Less => Binary::Greater,
                Binary::LessOrEqual => Binary::GreaterOrEqual,
                Binary::Greater => Binary::Less,
                Binary::GreaterOrEqual => Binary::LessOrEqual,
                operator => *operator,
            };
            property.value(one).map(|value| comparison(mirrored, value))
        }
        Expr::Test(of, test, false) if property.is_property(of) => match test.as_ref() {
            Test::Between(from, until) => {
                let bound = |expr| property.value(expr).map(|value| (value, true));
                Some((bound(from), bound(until)))
            }
            _ => None,
        },
        Expr::Logical(Logical::And, all) => {
            let mut found = (None, None);
            for part in all {
                let (from, until) = range_of(property, part);
                found.0 = tighter(found.0, from, Ordering::Greater);
                found.1 = tighter(found.1, until, Ordering::Less);
            }
            Some(found)
        }
        _ => None,
    };
    bounds.unwrap_or_default()
}

/// Returns the bound that leaves less: of two lower ones the greater, of two upper ones the lesser.
fn tighter(one: Bound, other: Bound, wins: Ordering) -> Bound {
    match (one, other) {
        (Some(one), Some(other)) => {
            let compared = one.0.cmp(&other.0);
            let takes_one = compared == wins || compared.is_eq() && !one.1;
            Some(if takes_one { one } else { other })
        }
        (one, other) => one.or(other),
    }
}

/// Returns the bound below all values that `<` compares with a value.
fn begin_of_type(value: &Json) -> Bound {
    match value {
        Json::Number(_) => Some((Json::Bool(true), false)),
        Json::Text(_) => Some((Json::Text("".into()), true)),
        _ => None,
    }
}

fn end_of_type(value: &Json) -> Bound {
    match value {
        Json::Number(_) => Some((Json::Text("".into()), false)),
        Json::Text(_) => Some((Json::Array(Vec::new()), false)),
        _ => None,
    }
}
