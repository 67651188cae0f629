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
pub struct IndexTerms<'a> {
    is_on: bool,
    /// Scalars with their paths, in which `[]` stands for the places of an array; `None` where there is none.
    values: HashSet<(Vec<&'a str>, Option<&'a Value>)>,
    /// The values of composite indexes, by their numbers in the policy.
    composites: HashSet<(usize, Vec<Option<&'a Value>>)>,
}

impl<'a> IndexTerms<'a> {
    /// Returns the terms of an item.
    pub fn new(item: &'a Value, policy: &'a IndexingPolicy) -> Self {
        let mut terms = Self { is_on: policy.is_on(), ..Self::default() };
        if !terms.is_on {
            return terms;
        }
        // A missing value of a path that the policy names has a term, too.
        let is_missing = |path: &Vec<&str>| scalar_at(item, path).is_none() && policy.covers(path);
        let missing = policy.named_paths().filter(is_missing);
        terms.values.extend(missing.map(|path| (path, None)));
        terms.add(item, &mut Vec::new(), policy);
        for (index, properties) in policy.composite_indexes().enumerate() {
            let values = properties.iter().map(|path| scalar_at(item, path));
            terms.composites.insert((index, values.collect()));
        }
        terms
    }

    fn add(&mut self, value: &'a Value, path: &mut Vec<&'a str>, policy: &IndexingPolicy) {
        match value {
            Value::Object(properties) => {
                for (name, value) in properties {
                    if path.is_empty() && SYSTEM_PROPERTIES.contains(&name.as_str()) {
                        continue;
                    }
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
            // The id is indexed with any policy.
            scalar if path.as_slice() == ["id"] || policy.covers(path) => {
                self.values.insert((path.clone(), Some(scalar)));
            }
            _ => {}
        }
    }

    /// Returns the request units to put the terms in that `other` does not have, and those of the time of the write,
    /// which any index has.
    pub fn charge_without(&self, other: &Self) -> f64 {
        if !self.is_on {
            return 0.0;
        }
        let values = self.values.difference(&other.values).count() + 1;
        let composites = self.composites.difference(&other.composites).count();
        let [values, composites] =
            [values, composites].map(|n| u32::try_from(n).unwrap_or(u32::MAX));
        f64::from(TERMS_PER_VALUE * values + composites) * TERM_RU
    }
}

fn scalar_at<'a>(item: &'a Value, path: &[&str]) -> Option<&'a Value> {
    let value = path.iter().try_fold(item, |value, name| value.get(name))?;
    (!value.is_object() && !value.is_array()).then_some(value)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::IndexTerms;
    use crate::charges::{policy::IndexingPolicy, rates::TERM_RU};

    /// Returns the number of terms of the item, without those of `_ts`.
    #[track_caller]
    fn terms(item: &Value, policy: &Value) -> i64 {
        let policy: IndexingPolicy = serde_json::from_value(policy.clone()).unwrap();
        let charge = IndexTerms::new(item, &policy).charge_without(&IndexTerms::default());
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
