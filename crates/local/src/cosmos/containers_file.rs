//! `infra/containers.json`: every container, once, for Bicep, the local stack and the tests.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use azure_data_cosmos::models::ContainerProperties;
use azure_data_cosmos::{CosmosClient, CosmosError, DatabaseClient};
use serde::Deserialize;
use serde_json::Value;

use super::EndpointError;

/// The containers of a file: `{"containers": […]}`, each as ARM takes it in `properties.resource` of a
/// container.
///
/// The SDK reads the same JSON, but accepts a misspelt key in silence and then creates another
/// container. So the text is checked strictly here. Besides the keys, three rules hold: version 2 of
/// the partition key is written out; there is no `conflictResolutionPolicy` (the SDK cannot read ARM's
/// form of it); and there is no null in place of an omitted key.
#[derive(Clone, Debug)]
pub struct ContainersFile {
    containers: Vec<ContainerProperties>,
}

impl ContainersFile {
    /// Reads and checks the text of a file.
    ///
    /// # Errors
    ///
    /// [`EndpointError::Containers`] names the container and the key.
    pub fn parse(text: &str) -> Result<Self, EndpointError> {
        let Root { containers: values } = serde_json::from_str(text).map_err(|error| {
            EndpointError::Containers(format!(
                "this is not a JSON object with a list `containers`: {error}"
            ))
        })?;
        let mut ids = BTreeSet::new();
        let mut containers = Vec::with_capacity(values.len());
        for (index, value) in values.into_iter().enumerate() {
            let name = name_of(index, &value);
            let in_container =
                |reason: String| EndpointError::Containers(format!("{name}: {reason}"));
            check(&value).map_err(in_container)?;
            let properties: ContainerProperties =
                serde_json::from_value(value).map_err(|error| in_container(error.to_string()))?;
            if !ids.insert(properties.id.to_string()) {
                return Err(in_container("a container before it has the same id".into()));
            }
            containers.push(properties);
        }
        Ok(Self { containers })
    }

    /// Reads and checks a file.
    ///
    /// # Errors
    ///
    /// [`EndpointError::ReadFile`], and those of [`ContainersFile::parse`].
    pub fn read(path: impl AsRef<Path>) -> Result<Self, EndpointError> {
        let path = path.as_ref();
        let text = fs::read_to_string(path).map_err(|source| EndpointError::ReadFile {
            path: path.display().to_string(),
            source,
        })?;
        Self::parse(&text)
    }

    /// Returns the containers in the order of the file.
    pub fn containers(&self) -> &[ContainerProperties] {
        &self.containers
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Root {
    containers: Vec<Value>,
}

fn name_of(index: usize, value: &Value) -> String {
    match value.get("id").and_then(Value::as_str) {
        Some(id) => format!("container '{id}'"),
        None => format!("container number {}", index + 1),
    }
}

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

const CONFLICT: u16 = 409;

/// Creates the database and the containers that do not exist yet. An existing container is kept, and
/// only its partition key is checked.
///
/// In Azure, Bicep creates them instead: with Microsoft Entra ID the data plane cannot.
///
/// # Errors
///
/// [`EndpointError::Exists`] if a container exists with another partition key, and
/// [`EndpointError::Cosmos`] if a request fails.
pub async fn provision(
    client: &CosmosClient,
    database: &str,
    containers: &ContainersFile,
) -> Result<(), EndpointError> {
    match client.create_database(database, None).await {
        Err(error) if !is_conflict(&error) => {
            let doing = format!("the database '{database}' cannot be made");
            return Err(EndpointError::cosmos(doing)(error));
        }
        _ => {}
    }
    let database = client.database_client(database.to_owned());
    for container in containers.containers() {
        provision_container(&database, container).await?;
    }
    Ok(())
}

async fn provision_container(
    database: &DatabaseClient,
    container: &ContainerProperties,
) -> Result<(), EndpointError> {
    let id = container.id.to_string();
    match database.create_container(container.clone(), None).await {
        Ok(_) => return Ok(()),
        Err(error) if !is_conflict(&error) => {
            let doing = format!("the container '{id}' cannot be made");
            return Err(EndpointError::cosmos(doing)(error));
        }
        Err(_) => {}
    }

    let cannot_read = format!("the container '{id}' exists but cannot be read");
    let found = async {
        let client = database.container_client(id.clone(), None).await?;
        client.read(None).await?.into_model()
    }
    .await
    .map_err(EndpointError::cosmos(cannot_read))?;
    if found.partition_key.paths() != container.partition_key.paths() {
        return Err(EndpointError::Exists(format!(
            "the container '{id}' is there with the partition key {}, not {}: delete it, or use \
             another database",
            found.partition_key.paths().join(", "),
            container.partition_key.paths().join(", "),
        )));
    }
    Ok(())
}

fn is_conflict(error: &CosmosError) -> bool {
    u16::from(error.status().status_code()) == CONFLICT
}
