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

/// The terms of an item in the index.
#[derive(Debug, Default)]
pub struct IndexTerms {
    /// True when there is an index, which has `_ts`: a term that changes with each write.
    time: bool,
    terms: HashSet<IndexTerm>,
}

#[derive(Debug, PartialEq, Eq, Hash)]
enum IndexTerm {
    /// A scalar, with its path; `None` where there is none.
    Value { path: String, value: Option<String> },
    /// The values of a composite index, by its number in the policy.
    Composite { index: usize, values: Vec<Option<String>> },
}

/// Returns the request units of all terms of an item: those of [`IndexTerms::new`], without a set of them.
///
/// A property outside of arrays is one value of one path, so it is only counted. In arrays a repeated value is
/// one term.
pub fn charge_of(item: &Value, policy: &IndexingPolicy) -> f64 {
    let Value::Object(properties) = item else { return IndexTerms::new(item, policy).charge() };
    if !policy.is_on() {
        return 0.0;
    }
    let mut in_arrays = IndexTerms::default();
    let mut values = 0;
    let mut path = Vec::new();
    for (name, value) in properties {
        if !SYSTEM_PROPERTIES.contains(&name.as_str()) {
            path.push(name.as_str());
            values += count(value, &mut path, policy, &mut in_arrays);
            path.pop();
        }
    }
    let missing = |path: &Vec<&str>| scalar_at(item, path).is_none() && policy.covers(path);
    let named = policy.named_paths().filter(missing).count();
    let values = values + u32::try_from(named + in_arrays.terms.len()).unwrap_or(u32::MAX);
    let composites = u32::try_from(policy.composite_indexes().count()).unwrap_or(u32::MAX);
    // One more for the time of the write.
    f64::from(TERMS_PER_VALUE * (values + 1) + composites) * TERM_RU
}

fn count<'a>(
    value: &'a Value,
    path: &mut Vec<&'a str>,
    policy: &IndexingPolicy,
    in_arrays: &mut IndexTerms,
) -> u32 {
    match value {
        Value::Object(properties) => {
            let mut values = 0;
            for (name, value) in properties {
                path.push(name);
                values += count(value, path, policy, in_arrays);
                path.pop();
            }
            values
        }
        Value::Array(_) => {
            in_arrays.add(value, path, policy);
            0
        }
        _ => u32::from(path.as_slice() == ["id"] || policy.covers(path)),
    }
}

impl IndexTerms {
    /// Returns the terms of an item.
    pub fn new(item: &Value, policy: &IndexingPolicy) -> Self {
        if !policy.is_on() {
            return Self::default();
        }
        let mut found = Self { time: true, terms: HashSet::new() };
        if let Value::Object(properties) = item {
            for (name, value) in properties {
                if !SYSTEM_PROPERTIES.contains(&name.as_str()) {
                    found.add(value, &mut vec![name], policy);
                }
            }
        }
        // A missing value has a term, too, where the policy names its path.
        for path in policy.named_paths() {
            if scalar_at(item, &path).is_none() && policy.covers(&path) {
                found.terms.insert(IndexTerm::Value { path: path.join("/"), value: None });
            }
        }
        for (index, properties) in policy.composite_indexes().enumerate() {
            let values = properties.iter().map(|path| scalar_at(item, path).map(Value::to_string));
            found.terms.insert(IndexTerm::Composite { index, values: values.collect() });
        }
        found
    }

    fn add<'a>(&mut self, value: &'a Value, path: &mut Vec<&'a str>, policy: &IndexingPolicy) {
        match value {
            Value::Object(properties) => {
                for (name, value) in properties {
                    path.push(name);
                    self.add(value, path, policy);
                    path.pop();
                }
            }
            Value::Array(elements) => {
                path.push("[]");
                for element in elements {
                    self.add(element, path, policy);
                }
                path.pop();
            }
            scalar => {
                // The id is indexed with any policy.
                if path.as_slice() == ["id"] || policy.covers(path) {
                    let path = path.join("/");
                    let value = Some(scalar.to_string());
                    self.terms.insert(IndexTerm::Value { path, value });
                }
            }
        }
    }

    /// Returns the request units to put all terms into the index, or to take them out.
    pub fn charge(&self) -> f64 {
        self.charge_without(&Self::default())
    }

    /// Returns the request units to put the terms in that `other` does not have.
    pub fn charge_without(&self, other: &Self) -> f64 {
        let time = if self.time { TERMS_PER_VALUE } else { 0 };
        let others = self.terms.difference(&other.terms).map(|term| match term {
            IndexTerm::Value { .. } => TERMS_PER_VALUE,
            IndexTerm::Composite { .. } => 1,
        });
        f64::from(time + others.sum::<u32>()) * TERM_RU
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

    /// Returns the number of terms of the item, without those of `_ts`.
    #[track_caller]
    fn terms(item: &Value, policy: &Value) -> i64 {
        let policy: IndexingPolicy = serde_json::from_value(policy.clone()).unwrap();
        let terms = IndexTerms::new(item, &policy).charge() / TERM_RU;
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
            "id": "1", "a": 1, "b": { "c": null, "d": [true, "x", "x"] }, "empty": [],
            "_rid": "r", "_self": "s", "_etag": "e", "_attachments": "a", "_ts": 1,
        });
        // id, a, c, true, x
        assert_eq!(terms(&item, &json!({})), 10);
    }

    /// Both computations of the charge, for many items and policies.
    #[test]
    fn counted_terms_cost_the_same_as_a_set_of_terms() {
        let policies = [
            json!({}),
            paths(&["/*"], &["/a/*"]),
            paths(&["/a/b/?", "/missing/?", "/tags/[]/?"], &["/*"]),
            json!({ "indexingMode": "none" }),
            json!({
                "includedPaths": [{ "path": "/a/?" }], "excludedPaths": [{ "path": "/*" }],
                "compositeIndexes": [[{ "path": "/a" }, { "path": "/b" }], [{ "path": "/x" }, { "path": "/a" }]],
            }),
        ];
        let items = [
            json!({}),
            json!({ "id": "1", "a": 1, "b": null, "_ts": 5, "_etag": "e" }),
            json!({ "id": "1", "a": { "b": 1, "c": { "d": true } }, "tags": ["x", "y", "x"] }),
            json!({ "id": "1", "a": [{ "b": 1, "c": [1, 1] }, { "b": 1 }], "empty": [], "o": {} }),
        ];
        for policy in policies {
            let policy: IndexingPolicy = serde_json::from_value(policy).unwrap();
            for item in &items {
                let made = IndexTerms::new(item, &policy).charge();
                let counted = charge_of(item, &policy);
                assert!((made - counted).abs() < 1e-9, "{made} {counted} {item} {policy:?}");
            }
        }
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
