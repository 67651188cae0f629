//! `infra/containers.json`: every container, once, for Bicep, the local stack and the tests.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, anyhow, ensure};
use azure_data_cosmos::CosmosClient;
use azure_data_cosmos::models::ContainerProperties;
use serde::Deserialize;
use serde_json::Value;

/// The containers of a file: `{"containers": […]}`, each as ARM takes it in `properties.resource` of a
/// container.
///
/// The SDK reads the same JSON, but accepts a misspelt key in silence and then creates another container. So the
/// keys are checked here, and the store checks their values. Besides, version 2 of the partition key is written
/// out; there is no `conflictResolutionPolicy` (the SDK cannot read ARM's form of it); and no null.
#[derive(Clone, Debug)]
pub struct ContainersFile {
    containers: Vec<ContainerProperties>,
}

impl ContainersFile {
    /// Reads and checks the text of a file.
    ///
    /// # Errors
    /// It names the container and the key.
    pub fn parse(text: &str) -> anyhow::Result<Self> {
        let Root { containers: values } = serde_json::from_str(text).map_err(|error| {
            anyhow!("containers file: this is not a JSON object with a list `containers`: {error}")
        })?;
        let mut ids = BTreeSet::new();
        let mut containers = Vec::with_capacity(values.len());
        for (index, value) in values.into_iter().enumerate() {
            let name = name_of(index, &value);
            let in_container = |reason: String| anyhow!("containers file: {name}: {reason}");
            check_keys("", &value).map_err(in_container)?;
            if value["partitionKey"]["version"] != 2 {
                return Err(in_container("`partitionKey.version` must be 2".into()));
            }
            let properties = ContainerProperties::deserialize(&value)
                .map_err(|error| in_container(error.to_string()))?;
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
    /// If the file cannot be read, and those of [`ContainersFile::parse`].
    pub fn read(path: impl AsRef<Path>) -> anyhow::Result<Self> {
        let path = path.as_ref();
        let text = fs::read_to_string(path)
            .with_context(|| format!("cannot read the containers file {}", path.display()))?;
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

/// The keys of a container, of its parts, and of the items of their lists.
const KEYS: [(&str, &str); 8] = [
    ("", "id partitionKey defaultTtl indexingPolicy uniqueKeyPolicy"),
    ("partitionKey", "paths kind version"),
    ("indexingPolicy", "automatic indexingMode includedPaths excludedPaths compositeIndexes"),
    ("includedPaths", "path"),
    ("excludedPaths", "path"),
    ("compositeIndexes", "path order"),
    ("uniqueKeyPolicy", "uniqueKeys"),
    ("uniqueKeys", "paths"),
];

/// Checks the keys of a value and of all that it holds; the error is a sentence about a key.
fn check_keys(key: &str, value: &Value) -> Result<(), String> {
    match value {
        Value::Null => Err(format!(
            "`{key}` is null: leave the key out, since the SDK and ARM take null differently"
        )),
        Value::Array(items) => items.iter().try_for_each(|item| check_keys(key, item)),
        Value::Object(fields) => fields.iter().try_for_each(|(name, value)| {
            let known = KEYS.iter().find(|(known, _)| *known == key);
            let known = known.map_or("", |(_, names)| names);
            if !known.split(' ').any(|known| known == name) {
                return Err(format!("`{name}` is no key here, only {known}"));
            }
            check_keys(name, value)
        }),
        _ => Ok(()),
    }
}

/// Creates the database and the containers that do not exist yet. An existing container is kept, and
/// only its partition key is checked.
///
/// In Azure, Bicep creates them instead: with Microsoft Entra ID the data plane cannot.
///
/// # Errors
/// If a container exists with another partition key, or a request fails.
pub async fn provision(
    client: &CosmosClient,
    database: &str,
    containers: &ContainersFile,
) -> anyhow::Result<()> {
    match client.create_database(database, None).await {
        Err(error) if !error.status().is_conflict() => {
            return Err(error).with_context(|| format!("the database '{database}' cannot be made"));
        }
        _ => {}
    }
    let database = client.database_client(database.to_owned());
    for container in containers.containers() {
        let id = &container.id;
        match database.create_container(container.clone(), None).await {
            Ok(_) => continue,
            Err(error) if !error.status().is_conflict() => {
                return Err(error).with_context(|| format!("the container '{id}' cannot be made"));
            }
            Err(_) => {}
        }
        let found = async {
            let client = database.container_client(id.to_string(), None).await?;
            client.read(None).await?.into_model()
        };
        let found = found.await;
        let found =
            found.with_context(|| format!("the container '{id}' exists but cannot be read"))?;
        check_key(container, &found)?;
    }
    Ok(())
}

/// Checks that a container that is there has the partition key of the file.
pub(super) fn check_key(
    wanted: &ContainerProperties,
    found: &ContainerProperties,
) -> anyhow::Result<()> {
    let [found, paths] = [found, wanted].map(|one| one.partition_key.paths());
    ensure!(
        found == paths,
        "the container '{}' is there with the partition key {}, not {}: delete it, or use another \
         database",
        wanted.id,
        found.join(", "),
        paths.join(", "),
    );
    Ok(())
}
