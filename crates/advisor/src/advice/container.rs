//! The container with a key: as an entry of `infra/containers.json`, and as Bicep.

use cosmos_model::partitioning::{KeyPart, KeyStrategy, path::PropertyPath};
use serde::Serialize;

use super::{
    indexes::{IndexPaths, IndexedQuery, indexes, queries},
    is_computed,
    layout::{LayoutNotation, LayoutTree},
    unique::UniquenessPlan,
};
use crate::request::RequestKind;

/// The definition of a container.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ContainerDefinition {
    /// The entry of `containers.json`, which is the `resource` of the service's own interface, too.
    pub entry: ContainerEntry,
    /// The paths that the app computes.
    pub computed: Vec<ComputedProperty>,
    /// The queries that its indexes serve.
    pub queries: Vec<IndexedQuery>,
    /// The same as a module of Bicep.
    pub bicep: String,
}

/// An entry of `containers.json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ContainerEntry {
    /// The name.
    pub id: String,
    /// The key.
    pub partition_key: KeyDefinition,
    /// The indexes.
    pub indexing_policy: IndexingEntry,
    /// The properties that are unique within a logical partition.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unique_key_policy: Option<UniqueKeys>,
}

/// The paths of a key, as the service takes them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct KeyDefinition {
    /// One for each level.
    pub paths: Vec<String>,
    /// `Hash` for one level, `MultiHash` for several.
    pub kind: &'static str,
    /// 2: keys of up to 2,048 bytes.
    pub version: u32,
}

/// An indexing policy, as the service takes it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct IndexingEntry {
    automatic: bool,
    indexing_mode: &'static str,
    included_paths: Vec<IndexedPath>,
    excluded_paths: Vec<IndexedPath>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    composite_indexes: Vec<Vec<OrderedPath>>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct IndexedPath {
    path: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct OrderedPath {
    path: String,
    order: &'static str,
}

/// The unique keys of a container, as the service takes them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct UniqueKeys {
    unique_keys: Vec<UniqueKey>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct UniqueKey {
    paths: Vec<String>,
}

/// A property of the key that the app computes and stores.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ComputedProperty {
    /// The path of the property.
    pub path: String,
    /// The parts of the key in it.
    pub made_of: String,
}

impl ContainerDefinition {
    /// Returns the definition of a container with this key, for these requests.
    pub fn new(
        name: &str,
        strategy: &KeyStrategy,
        requests: &[RequestKind],
        unique: &[UniquenessPlan],
    ) -> Self {
        let mut computed = Vec::new();
        let n_computed = strategy.levels().iter().filter(|level| is_computed(level)).count();
        let mut paths = Vec::new();
        for (n, level) in strategy.levels().iter().enumerate() {
            paths.push(match level.as_slice() {
                [KeyPart::Value(path)] => path.clone(),
                parts => {
                    let path = match n_computed {
                        1 => PropertyPath::from_name("partitionKey"),
                        _ => PropertyPath::from_name(&format!("partitionKey{}", n + 1)),
                    };
                    let made_of: Vec<_> = parts.iter().map(ToString::to_string).collect();
                    computed.push(ComputedProperty {
                        path: path.to_string(),
                        made_of: made_of.join("+"),
                    });
                    path
                }
            });
        }
        let indexes = indexes(strategy, &paths, requests);
        let queries = queries(strategy, &paths, requests);
        let paths: Vec<_> = paths.iter().map(ToString::to_string).collect();
        let kind = if paths.len() > 1 { "MultiHash" } else { "Hash" };
        let entry = ContainerEntry {
            id: name.to_owned(),
            partition_key: KeyDefinition { paths, kind, version: 2 },
            indexing_policy: indexing_policy(indexes),
            unique_key_policy: unique_keys(unique),
        };
        Self { bicep: bicep(&entry), entry, computed, queries }
    }
}

/// Returns a policy with these indexes.
fn indexing_policy(indexes: IndexPaths) -> IndexingEntry {
    let ordered = |(path, down): &(PropertyPath, bool)| OrderedPath {
        path: path.to_string(),
        order: if *down { "descending" } else { "ascending" },
    };
    let composite = indexes.composites.iter().map(|index| index.iter().map(ordered).collect());
    let (included, excluded) = match indexes.ranges {
        Some(ranges) => (ranges.iter().map(|path| format!("{path}/?")).collect(), "/*"),
        None => (vec!["/*".to_owned()], "/\"_etag\"/?"),
    };
    IndexingEntry {
        automatic: true,
        indexing_mode: "consistent",
        included_paths: included.into_iter().map(|path| IndexedPath { path }).collect(),
        excluded_paths: vec![IndexedPath { path: excluded.to_owned() }],
        composite_indexes: composite.collect(),
    }
}

fn unique_keys(unique: &[UniquenessPlan]) -> Option<UniqueKeys> {
    let paths = |paths: &Vec<PropertyPath>| paths.iter().map(ToString::to_string).collect();
    let keys = unique.iter().filter_map(|one| one.unique_key.as_ref());
    let unique_keys: Vec<_> = keys.map(|key| UniqueKey { paths: paths(key) }).collect();
    (!unique_keys.is_empty()).then_some(UniqueKeys { unique_keys })
}

impl ContainerEntry {
    /// Returns the number of paths with an index of their own, and that of composite indexes.
    pub(super) fn indexes(&self) -> (usize, usize) {
        let policy = &self.indexing_policy;
        (policy.included_paths.len(), policy.composite_indexes.len())
    }

    /// Returns the entry as JSON, laid out as in `infra/containers.json`.
    pub fn json(&self) -> String {
        self.tree().written(LayoutNotation::Json, 0)
    }

    fn tree(&self) -> LayoutTree {
        let key = &self.partition_key;
        let policy = &self.indexing_policy;
        let text = |text: &str| LayoutTree::Text(text.to_owned());
        let path =
            |included: &IndexedPath| LayoutTree::Object(vec![("path", text(&included.path))]);
        let ordered = |one: &OrderedPath| {
            LayoutTree::Object(vec![("path", text(&one.path)), ("order", text(one.order))])
        };
        let mut indexing = vec![
            ("automatic", LayoutTree::Word(policy.automatic.to_string())),
            ("indexingMode", text(policy.indexing_mode)),
            ("includedPaths", LayoutTree::List(policy.included_paths.iter().map(path).collect())),
            ("excludedPaths", LayoutTree::List(policy.excluded_paths.iter().map(path).collect())),
        ];
        if !policy.composite_indexes.is_empty() {
            let index =
                |index: &Vec<OrderedPath>| LayoutTree::List(index.iter().map(ordered).collect());
            let indexes = policy.composite_indexes.iter().map(index).collect();
            indexing.push(("compositeIndexes", LayoutTree::List(indexes)));
        }
        let mut entry = vec![
            ("id", text(&self.id)),
            (
                "partitionKey",
                LayoutTree::Object(vec![
                    ("paths", LayoutTree::List(key.paths.iter().map(|path| text(path)).collect())),
                    ("kind", text(key.kind)),
                    ("version", LayoutTree::Word(key.version.to_string())),
                ]),
            ),
            ("indexingPolicy", LayoutTree::Object(indexing)),
        ];
        if let Some(UniqueKeys { unique_keys }) = &self.unique_key_policy {
            let paths = |key: &UniqueKey| {
                LayoutTree::List(key.paths.iter().map(|path| text(path)).collect())
            };
            let keys =
                unique_keys.iter().map(|key| LayoutTree::Object(vec![("paths", paths(key))]));
            let keys = LayoutTree::Object(vec![("uniqueKeys", LayoutTree::List(keys.collect()))]);
            entry.push(("uniqueKeyPolicy", keys));
        }
        LayoutTree::Object(entry)
    }
}

fn bicep(entry: &ContainerEntry) -> String {
    format!(
        "param accountName string\n\
         param databaseName string\n\
         param maxThroughput int = 1000\n\n\
         resource account 'Microsoft.DocumentDB/databaseAccounts@2025-10-15' existing = {{\n  name: accountName\n}}\n\n\
         resource database 'Microsoft.DocumentDB/databaseAccounts/sqlDatabases@2025-10-15' existing = {{\n  \
           parent: account\n  name: databaseName\n}}\n\n\
         resource container 'Microsoft.DocumentDB/databaseAccounts/sqlDatabases/containers@2025-10-15' = {{\n  \
           parent: database\n  name: {}\n  properties: {{\n    resource: {}\n    \
           options: {{ autoscaleSettings: {{ maxThroughput: maxThroughput }} }}\n  }}\n}}\n",
        LayoutTree::Text(entry.id.clone()).written(LayoutNotation::Bicep, 0),
        entry.tree().written(LayoutNotation::Bicep, 2),
    )
}
