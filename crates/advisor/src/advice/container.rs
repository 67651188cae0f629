//! The container with a key: as an entry of `infra/containers.json`, and as Bicep.

use serde::Serialize;
use tributary_partitioning::{Condition, KeyStrategy, Part, path::Path};

use super::{
    is_computed,
    layout::{Notation, Tree},
};
use crate::request::{Operation, RequestKind, Wanted};

/// The definition of a container.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Definition {
    /// An entry of `containers.json`, which is the `resource` of the service's own interface, too.
    pub entry: Entry,
    /// The paths that the app computes, each with what it is made of.
    pub computed: Vec<Computed>,
    /// The same as a module of Bicep.
    pub bicep: String,
}

/// An entry of `containers.json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Entry {
    /// The name.
    pub id: String,
    /// The key.
    pub partition_key: PartitionKey,
    /// What is indexed.
    pub indexing_policy: Policy,
}

/// The paths of a key, as the service takes them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PartitionKey {
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
pub struct Policy {
    automatic: bool,
    indexing_mode: &'static str,
    included_paths: Vec<Included>,
    excluded_paths: Vec<Included>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    composite_indexes: Vec<Vec<Ordered>>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct Included {
    path: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct Ordered {
    path: String,
    order: &'static str,
}

/// A property of the key that the app computes and stores.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Computed {
    /// The path of the property.
    pub path: String,
    /// What it is made of.
    pub made_of: String,
}

impl Definition {
    /// Returns the definition of a container with this key, for these requests.
    pub fn new(name: &str, strategy: &KeyStrategy, requests: &[RequestKind]) -> Self {
        let mut computed = Vec::new();
        let n_computed = strategy.levels().iter().filter(|level| is_computed(level)).count();
        let mut paths = Vec::new();
        for (n, level) in strategy.levels().iter().enumerate() {
            paths.push(match level.as_slice() {
                [Part::Value(path)] => path.to_string(),
                parts => {
                    let path = match n_computed {
                        1 => "/partitionKey".to_owned(),
                        _ => format!("/partitionKey{}", n + 1),
                    };
                    let made_of: Vec<_> = parts.iter().map(ToString::to_string).collect();
                    computed.push(Computed { path: path.clone(), made_of: made_of.join("+") });
                    path
                }
            });
        }
        let kind = if paths.len() > 1 { "MultiHash" } else { "Hash" };
        let entry = Entry {
            id: name.to_owned(),
            partition_key: PartitionKey { paths, kind, version: 2 },
            indexing_policy: indexing_policy(strategy, requests),
        };
        Self { bicep: bicep(&entry), entry, computed }
    }
}

/// Returns a policy that indexes what the requests ask for, or everything where that is not known.
fn indexing_policy(strategy: &KeyStrategy, requests: &[RequestKind]) -> Policy {
    let mut included: Vec<Path> = Vec::new();
    let mut composite: Vec<Vec<(Path, bool)>> = Vec::new();
    for request in requests.iter().filter(|request| request.operation == Operation::Query) {
        let is_range =
            |wanted: &Wanted| matches!(wanted, Wanted::Last(_) | Wanted::This(Condition::Range(_)));
        let ordered = request.order_by.as_ref().map(|order| (order.path.clone(), order.descending));
        let ranges = request.filters.iter().filter(|(_, wanted)| is_range(wanted));
        let last: Vec<_> = match ordered {
            Some(order) => vec![order],
            None => ranges.map(|(path, _)| (path.clone(), false)).take(1).collect(),
        };
        let equal = request.filters.iter().filter(|(_, wanted)| !is_range(wanted));
        // An index goes one way: all of it in the direction of the order.
        let descending = last.first().is_some_and(|(_, descending)| *descending);
        let equal: Vec<_> = equal.map(|(path, _)| (path.clone(), descending)).collect();
        for path in request.filters.keys().chain(last.iter().map(|(path, _)| path)) {
            if !included.contains(path) {
                included.push(path.clone());
            }
        }
        if !equal.is_empty() && !last.is_empty() {
            let index: Vec<_> = equal.into_iter().chain(last).collect();
            let reversed = index.iter().map(|(path, down)| (path.clone(), !down)).collect();
            if !composite.contains(&index) && !composite.contains(&reversed) {
                composite.push(index);
            }
        }
    }
    if included.is_empty() {
        return policy(["/*".to_owned()], "/\"_etag\"/?", Vec::new());
    }
    // The partition key itself needs no index: a query that names it is in its partition already.
    included.retain(|path| {
        let is_key =
            |level: &Vec<Part>| matches!(level.as_slice(), [Part::Value(key)] if key == path);
        !strategy.levels().iter().any(is_key)
    });
    included.sort();
    let ordered = |(path, down): &(Path, bool)| Ordered {
        path: path.to_string(),
        order: if *down { "descending" } else { "ascending" },
    };
    let composite = composite.iter().map(|index| index.iter().map(ordered).collect()).collect();
    policy(included.iter().map(|path| format!("{path}/?")), "/*", composite)
}

fn policy(
    included: impl IntoIterator<Item = String>,
    excluded: &str,
    composite_indexes: Vec<Vec<Ordered>>,
) -> Policy {
    Policy {
        automatic: true,
        indexing_mode: "consistent",
        included_paths: included.into_iter().map(|path| Included { path }).collect(),
        excluded_paths: vec![Included { path: excluded.to_owned() }],
        composite_indexes,
    }
}

impl Entry {
    /// Returns the entry as JSON, laid out as in `infra/containers.json`.
    pub fn json(&self) -> String {
        self.tree().written(Notation::Json, 0)
    }

    fn tree(&self) -> Tree {
        let key = &self.partition_key;
        let policy = &self.indexing_policy;
        let text = |text: &str| Tree::Text(text.to_owned());
        let path = |included: &Included| Tree::Object(vec![("path", text(&included.path))]);
        let ordered = |one: &Ordered| {
            Tree::Object(vec![("path", text(&one.path)), ("order", text(one.order))])
        };
        let mut indexing = vec![
            ("automatic", Tree::Word(policy.automatic.to_string())),
            ("indexingMode", text(policy.indexing_mode)),
            ("includedPaths", Tree::List(policy.included_paths.iter().map(path).collect())),
            ("excludedPaths", Tree::List(policy.excluded_paths.iter().map(path).collect())),
        ];
        if !policy.composite_indexes.is_empty() {
            let index = |index: &Vec<Ordered>| Tree::List(index.iter().map(ordered).collect());
            let indexes = policy.composite_indexes.iter().map(index).collect();
            indexing.push(("compositeIndexes", Tree::List(indexes)));
        }
        Tree::Object(vec![
            ("id", text(&self.id)),
            (
                "partitionKey",
                Tree::Object(vec![
                    ("paths", Tree::List(key.paths.iter().map(|path| text(path)).collect())),
                    ("kind", text(key.kind)),
                    ("version", Tree::Word(key.version.to_string())),
                ]),
            ),
            ("indexingPolicy", Tree::Object(indexing)),
        ])
    }
}

fn bicep(entry: &Entry) -> String {
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
        Tree::Text(entry.id.clone()).written(Notation::Bicep, 0),
        entry.tree().written(Notation::Bicep, 2),
    )
}
