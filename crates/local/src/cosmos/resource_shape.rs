//! The keys that a container in `containers.json` may have.
//!
//! Source:
//! <https://learn.microsoft.com/azure/templates/microsoft.documentdb/databaseaccounts/sqldatabases/containers>.
//! It lacks the keys that the project does not use (vectors, full text, spatial indexes, computed
//! properties, conflict resolution). To allow one, add its key here.

use serde::Deserialize;
use serde_json::Value;

/// Checks one container; the error is a sentence about a key.
pub(super) fn check(container: &Value) -> Result<(), String> {
    if let Some(key) = find_null(container, "") {
        return Err(format!(
            "`{key}` is null: leave the key out, since the SDK and ARM take null differently"
        ));
    }
    let resource: Resource = Resource::deserialize(container).map_err(|error| error.to_string())?;
    resource.check()
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Resource {
    id: String,
    partition_key: PartitionKeyShape,
    default_ttl: Option<i64>,
    indexing_policy: Option<IndexingPolicy>,
    unique_key_policy: Option<UniqueKeyPolicy>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PartitionKeyShape {
    paths: Vec<String>,
    kind: PartitionKeyKind,
    version: u8,
}

#[derive(Deserialize, PartialEq)]
enum PartitionKeyKind {
    Hash,
    MultiHash,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct IndexingPolicy {
    #[serde(rename = "automatic")]
    _automatic: Option<bool>,
    #[serde(rename = "indexingMode")]
    _indexing_mode: Option<IndexingMode>,
    #[serde(default)]
    included_paths: Vec<IndexedPath>,
    #[serde(default)]
    excluded_paths: Vec<IndexedPath>,
    #[serde(default)]
    composite_indexes: Vec<Vec<CompositePath>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
enum IndexingMode {
    Consistent,
    None,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct IndexedPath {
    path: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CompositePath {
    path: String,
    #[serde(rename = "order")]
    _order: Option<Order>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
enum Order {
    Ascending,
    Descending,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct UniqueKeyPolicy {
    unique_keys: Vec<UniqueKey>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct UniqueKey {
    paths: Vec<String>,
}

impl Resource {
    fn check(&self) -> Result<(), String> {
        if self.id.is_empty() || self.id.contains(['/', '\\', '?', '#']) {
            return Err("`id` must have characters, and none of / \\ ? #".into());
        }
        if self.partition_key.version != 2 {
            return Err("`partitionKey.version` must be 2".into());
        }
        let n_paths = self.partition_key.paths.len();
        let (fits, rule) = match self.partition_key.kind {
            PartitionKeyKind::Hash => (n_paths == 1, "one path with the kind Hash"),
            PartitionKeyKind::MultiHash => {
                ((1..=3).contains(&n_paths), "one to three with MultiHash")
            }
        };
        if !fits {
            return Err(format!("`partitionKey.paths` must have {rule}"));
        }
        if self.default_ttl.is_some_and(|ttl| ttl != -1 && ttl < 1) {
            return Err("`defaultTtl` must be -1 or a number of seconds above 0".into());
        }
        match self.paths().find(|path| !path.starts_with('/')) {
            Some(path) => Err(format!("the path `{path}` must start with /")),
            None => Ok(()),
        }
    }

    fn paths(&self) -> impl Iterator<Item = &str> {
        let indexing = self.indexing_policy.iter().flat_map(|policy| {
            let composite = policy.composite_indexes.iter().flatten();
            policy
                .included_paths
                .iter()
                .chain(&policy.excluded_paths)
                .map(|indexed| &indexed.path)
                .chain(composite.map(|composite| &composite.path))
        });
        let unique = self.unique_key_policy.iter();
        let unique = unique.flat_map(|policy| &policy.unique_keys).flat_map(|key| &key.paths);
        let keys = self.partition_key.paths.iter();
        keys.chain(indexing).chain(unique).map(String::as_str)
    }
}

fn find_null(value: &Value, path: &str) -> Option<String> {
    match value {
        Value::Null => Some(path.trim_start_matches('.').to_owned()),
        Value::Object(entries) => {
            entries.iter().find_map(|(key, value)| find_null(value, &format!("{path}.{key}")))
        }
        Value::Array(items) => items.iter().find_map(|value| find_null(value, path)),
        _ => None,
    }
}
