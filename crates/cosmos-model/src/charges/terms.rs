//! The terms of an item in the index of its container: a pure function of the item and the indexing
//! policy.

use std::collections::HashSet;

use serde_json::Value;

use crate::charges::{
    policy::IndexingPolicy,
    rates::{TERM_RU, TERMS_PER_VALUE},
};

/// The properties that the store adds to an item. Only `_ts` is indexed, in any container with an index.
const SYSTEM_PROPERTIES: [&str; 5] = ["_rid", "_self", "_etag", "_attachments", "_ts"];

/// The terms of an item in the index; none without an index.
#[derive(Debug, Default)]
pub struct IndexTerms {
    is_on: bool,
    /// Scalars with their paths; `None` where there is none.
    values: HashSet<(String, Option<String>)>,
    /// The values of composite indexes, by their numbers in the policy.
    composites: HashSet<(usize, Vec<Option<String>>)>,
}

/// Returns the request units to put all terms of an item into the index, or to take them out: those of
/// [`IndexTerms`], without a set of them.
///
/// A property outside of arrays is one value of one path, so it is only counted. In arrays a repeated value is
/// one term.
pub fn charge_of(item: &Value, policy: &IndexingPolicy) -> f64 {
    if !policy.is_on() {
        return 0.0;
    }
    let mut n_values = missing(item, policy).count();
    let mut in_arrays = HashSet::new();
    indexed(item, &mut Vec::new(), policy, &mut |path, value| {
        if path.contains(&"[]") {
            in_arrays.insert((path.join("/"), value.to_string()));
        } else {
            n_values += 1;
        }
    });
    charge(n_values + in_arrays.len(), policy.composite_indexes().count())
}

/// Returns the request units of the terms of some values and composite indexes, and of the time of the write,
/// which any index has.
fn charge(n_values: usize, n_composites: usize) -> f64 {
    let n_values = u32::try_from(n_values + 1).unwrap_or(u32::MAX);
    let n_composites = u32::try_from(n_composites).unwrap_or(u32::MAX);
    f64::from(TERMS_PER_VALUE * n_values + n_composites) * TERM_RU
}

/// Calls `found` with each indexed scalar and its path, in which `[]` stands for the places of an array.
fn indexed<'a>(
    value: &'a Value,
    path: &mut Vec<&'a str>,
    policy: &IndexingPolicy,
    found: &mut impl FnMut(&[&'a str], &'a Value),
) {
    match value {
        Value::Object(properties) => {
            for (name, value) in properties {
                if path.is_empty() && SYSTEM_PROPERTIES.contains(&name.as_str()) {
                    continue;
                }
                path.push(name);
                indexed(value, path, policy, found);
                path.pop();
            }
        }
        Value::Array(elements) => {
            path.push("[]");
            for element in elements {
                indexed(element, path, policy, found);
            }
            path.pop();
        }
        // The id is indexed with any policy.
        scalar if path.as_slice() == ["id"] || policy.covers(path) => found(path, scalar),
        _ => {}
    }
}

/// Returns the paths that the policy names and the item lacks: a missing value has a term, too.
fn missing<'a>(item: &'a Value, policy: &'a IndexingPolicy) -> impl Iterator<Item = Vec<&'a str>> {
    let is_missing = |path: &Vec<&str>| scalar_at(item, path).is_none() && policy.covers(path);
    policy.named_paths().filter(is_missing)
}

impl IndexTerms {
    /// Returns the terms of an item.
    pub fn new(item: &Value, policy: &IndexingPolicy) -> Self {
        let mut found = Self { is_on: policy.is_on(), ..Self::default() };
        if !found.is_on {
            return found;
        }
        for path in missing(item, policy) {
            found.values.insert((path.join("/"), None));
        }
        indexed(item, &mut Vec::new(), policy, &mut |path, value| {
            found.values.insert((path.join("/"), Some(value.to_string())));
        });
        for (index, properties) in policy.composite_indexes().enumerate() {
            let values = properties.iter().map(|path| scalar_at(item, path).map(Value::to_string));
            found.composites.insert((index, values.collect()));
        }
        found
    }

    /// Returns the request units to put the terms in that `other` does not have.
    pub fn charge_without(&self, other: &Self) -> f64 {
        if !self.is_on {
            return 0.0;
        }
        let values = self.values.difference(&other.values).count();
        charge(values, self.composites.difference(&other.composites).count())
    }
}

fn scalar_at<'a>(item: &'a Value, path: &[&str]) -> Option<&'a Value> {
    let value = path.iter().try_fold(item, |value, name| value.get(name))?;
    (!value.is_object() && !value.is_array()).then_some(value)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{IndexTerms, charge_of};
    use crate::charges::{policy::IndexingPolicy, rates::TERM_RU};

    /// Returns the number of terms of the item, without those of `_ts`. Both computations give the same.
    #[track_caller]
    fn terms(item: &Value, policy: &Value) -> i64 {
        let policy: IndexingPolicy = serde_json::from_value(policy.clone()).unwrap();
        let charge = IndexTerms::new(item, &policy).charge_without(&IndexTerms::default());
        let counted = charge_of(item, &policy);
        assert!((charge - counted).abs() < 1e-9, "{charge} {counted} {item} {policy:?}");
        let terms = charge / TERM_RU;
        #[expect(clippy::cast_possible_truncation, reason = "a handful")]
        let terms = terms.round() as i64;
        terms - 2
    }

    fn paths(included: &[&str], excluded: &[&str]) -> Value {
        let paths = |paths: &[&str]| -> Vec<Value> {
            paths.iter().map(|path| json!({ "path": path })).collect()
        };
        json!({ "includedPaths": paths(included), "excludedPaths": paths(excluded) })
    }

    #[test]
    fn without_a_policy_all_but_system_properties_is_indexed() {
        let item = json!({
            "id": "1", "a": 1, "b": { "c": null, "d": [true, "x", { "e": 1 }, "x", { "e": 1 }] }, "empty": [],
            "_rid": "r", "_self": "s", "_etag": "e", "_attachments": "a", "_ts": 1,
        });
        // id, a, c, true, x, e
        assert_eq!(terms(&item, &json!({})), 12);
    }

    #[test]
    fn the_most_precise_path_decides() {
        let item = json!({ "id": "1", "a": { "b": 1, "c": 2 }, "d": [{ "e": 3 }], "f/g": 4 });
        for (included, excluded, values) in [
            (&["/a/b/?"] as &[&str], &["/*"] as &[&str], 2),
            (&["/a/*"], &["/*"], 3),
            (&["/a/?"], &["/*"], 2),
            (&["/*"], &["/a/*"], 3),
            (&["/*", "/a/b/?"], &["/a/*"], 4),
            (&["/a/*"], &["/*", "/a/c/?"], 2),
            (&["/d/[]/e/?"], &["/*"], 2),
            (&["/d/e/?"], &["/*"], 2),
            (&["/missing/?", "/missing/[]/?", "/missing/*"], &["/*"], 2),
            (&["/\"f/g\"/?"], &["/*"], 2),
            (&["/\"f/g\"/?"], &["/*", "/\"f/g\"/*"], 2),
            (&["/\"f/g\"/*"], &["/*", "/\"f/g\"/?"], 1),
            (&["/*"], &["/id/?"], 5),
            (&[], &["/*"], 1),
        ] {
            let found = terms(&item, &paths(included, excluded));
            assert_eq!(found, 2 * values, "{included:?} without {excluded:?}");
        }
    }

    #[test]
    fn a_composite_index_has_a_term_for_every_item() {
        let mut policy = paths(&[], &["/*"]);
        policy["compositeIndexes"] = json!([
            [{ "path": "/a", "order": "ascending" }, { "path": "/b/c", "order": "descending" }],
            [{ "path": "/a", "order": "ascending" }, { "path": "/d", "order": "ascending" }],
        ]);
        assert_eq!(terms(&json!({ "id": "1", "a": 1, "b": { "c": 2 } }), &policy), 4);
        assert_eq!(terms(&json!({ "id": "1", "a": 1, "b": {}, "d": [] }), &policy), 4);
    }

    #[test]
    fn a_container_without_an_index_has_no_terms() {
        for policy in [json!({ "indexingMode": "none" }), json!({ "automatic": false })] {
            assert_eq!(terms(&json!({ "id": "1" }), &policy), -2);
        }
    }
}
