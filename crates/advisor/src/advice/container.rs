//! The container with a key, as an entry of `infra/containers.json`, which is the `resource` of the service's
//! own interface, too, and as Bicep.

use cosmos_model::partitioning::{KeyPart, KeyStrategy, path::PropertyPath};
use serde::Serialize;
use serde_json::{Value, json};

use super::indexes::{IndexPaths, SortedPath, indexes};
use crate::request::RequestKind;

const MAX_LINE_BYTES: usize = 70;

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct ContainerDefinition {
    pub(crate) entry: Value,
    pub(crate) bicep: String,
    pub(crate) computed: Vec<ComputedProperty>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ComputedProperty {
    pub(crate) path: String,
    pub(crate) made_of: String,
}

impl ContainerDefinition {
    pub(crate) fn new(
        name: &str,
        strategy: &KeyStrategy,
        requests: &[RequestKind],
        unique: &[Vec<PropertyPath>],
    ) -> Self {
        let levels = strategy.levels();
        let n_computed =
            levels.iter().filter(|level| !matches!(level[..], [KeyPart::Value(_)])).count();
        let mut computed = Vec::new();
        let paths = levels.iter().enumerate().map(|(n, level)| {
            if let [KeyPart::Value(path)] = level.as_slice() {
                return path.clone();
            }
            let number = if n_computed == 1 { String::new() } else { (n + 1).to_string() };
            let path = PropertyPath::from_name(&format!("partitionKey{number}"));
            let parts: Vec<_> = level.iter().map(ToString::to_string).collect();
            let made_of = if levels.len() == 1 { strategy.to_string() } else { parts.join("+") };
            computed.push(ComputedProperty { path: path.to_string(), made_of });
            path
        });
        let paths: Vec<_> = paths.collect();
        let indexes = indexes(strategy, &paths, requests);
        let kind = if paths.len() > 1 { "MultiHash" } else { "Hash" };
        let mut entry = json!({
            "id": name,
            "partitionKey": {"paths": paths, "kind": kind, "version": 2},
            "indexingPolicy": indexing_policy(indexes),
        });
        let unique: Vec<_> = unique.iter().map(|paths| json!({"paths": paths})).collect();
        if !unique.is_empty() {
            entry["uniqueKeyPolicy"] = json!({"uniqueKeys": unique});
        }
        Self { bicep: resource(&entry), entry, computed }
    }

    pub(super) fn n_indexes(&self) -> (usize, usize) {
        let policy = &self.entry["indexingPolicy"];
        let length = |name: &str| policy[name].as_array().map_or(0, Vec::len);
        (length("includedPaths"), length("compositeIndexes"))
    }
}

fn resource(entry: &Value) -> String {
    const TYPE: &str = "Microsoft.DocumentDB/databaseAccounts";
    format!(
        "param accountName string\nparam databaseName string\nparam maxThroughput int = 1000\n\n\
         resource account '{TYPE}@2025-10-15' existing = {{\n  name: accountName\n}}\n\n\
         resource database '{TYPE}/sqlDatabases@2025-10-15' existing = {{\n  parent: account\n  \
         name: databaseName\n}}\n\n\
         resource container '{TYPE}/sqlDatabases/containers@2025-10-15' = {{\n  parent: database\n  \
         name: {}\n  properties: {{\n    resource: {}\n    \
         options: {{ autoscaleSettings: {{ maxThroughput: maxThroughput }} }}\n  }}\n}}",
        bicep(&entry["id"], 0),
        bicep(entry, 2),
    )
}

/// Returns a value as Bicep, within `depth` steps of indentation. A short value stands in one line.
fn bicep(value: &Value, depth: usize) -> String {
    let (parts, is_list): (Vec<String>, bool) = match value {
        Value::String(text) => {
            let text = text.replace('\\', "\\\\").replace('\'', "\\'").replace("${", "\\${");
            let text = text.replace('\n', "\\n").replace('\r', "\\r").replace('\t', "\\t");
            return format!("'{text}'");
        }
        Value::Array(list) => (list.iter().map(|value| bicep(value, depth + 1)).collect(), true),
        Value::Object(map) => {
            let property =
                |(name, value): (&String, &Value)| format!("{name}: {}", bicep(value, depth + 1));
            (map.iter().map(property).collect(), false)
        }
        other => return other.to_string(),
    };
    let one_line = parts.join(", ");
    let (open, close) = if is_list { ("[", "]") } else { ("{", "}") };
    if one_line.len() + 2 * depth <= MAX_LINE_BYTES && !one_line.contains('\n') {
        let space = if is_list { "" } else { " " };
        return format!("{open}{space}{one_line}{space}{close}");
    }
    let indent = "  ".repeat(depth);
    let line = |part: &String| format!("{indent}  {part}\n");
    let lines: String = parts.iter().map(line).collect();
    format!("{open}\n{lines}{indent}{close}")
}

fn indexing_policy(indexes: IndexPaths) -> Value {
    let path = |path: String| json!({"path": path});
    let (included, excluded) = match indexes.ranges {
        Some(ranges) => (ranges.iter().map(|range| path(format!("{range}/?"))).collect(), "/*"),
        None => (vec![path("/*".to_owned())], "/\"_etag\"/?"),
    };
    let mut policy = json!({
        "automatic": true,
        "indexingMode": "consistent",
        "includedPaths": included,
        "excludedPaths": [{"path": excluded}],
    });
    let ordered = |(path, down): &SortedPath| json!({"path": path, "order": if *down { "descending" } else { "ascending" }});
    let composites: Vec<Vec<Value>> =
        indexes.composites.iter().map(|index| index.iter().map(ordered).collect()).collect();
    if !composites.is_empty() {
        policy["compositeIndexes"] = json!(composites);
    }
    policy
}
