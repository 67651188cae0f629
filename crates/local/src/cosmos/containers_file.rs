//! `infra/containers.json`: every container, once, for Bicep, the local stack and the tests.

use std::{collections::BTreeSet, fs, path::Path};

use azure_data_cosmos::models::ContainerProperties;
use serde::Deserialize;
use serde_json::Value;

use super::{EndpointError, resource_shape};

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
            resource_shape::check(&value).map_err(in_container)?;
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
