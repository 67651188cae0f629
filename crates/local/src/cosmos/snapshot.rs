//! The items of an account at one moment, and their return into an empty account.

use std::sync::Arc;
use std::time::SystemTime;

use anyhow::{Context as _, ensure};
use azure_data_cosmos::models::{ContainerProperties, TimeToLive};
use azure_data_cosmos::{DatabaseClient, FeedScope, Query};
use futures::TryStreamExt as _;
use serde_json::{Value, json};

use super::CosmosEndpoint;
use super::operation::{ContainerPath, lifetime};
use super::store::EndpointStore;

/// The properties that the store gives to each item.
const SYSTEM_PROPERTIES: [&str; 6] = ["_rid", "_self", "_etag", "_ts", "_attachments", "_lsn"];

pub(crate) struct Snapshots {
    store: Arc<EndpointStore>,
    client: DatabaseClient,
    database: String,
    containers: Vec<ContainerProperties>,
}

impl Snapshots {
    pub(crate) async fn new(
        endpoint: &CosmosEndpoint,
        database: &str,
        containers: Vec<ContainerProperties>,
    ) -> anyhow::Result<Self> {
        let client = endpoint.client().await?.database_client(database.to_owned());
        let (store, database) = (Arc::clone(&endpoint.store), database.to_owned());
        Ok(Self { store, client, database, containers })
    }

    pub(crate) fn container(&self, name: &str) -> Option<&ContainerProperties> {
        self.containers.iter().find(|container| container.id == name)
    }

    /// Returns the number of writes to the containers since the start.
    pub(crate) fn writes(&self) -> u64 {
        let paths = self.containers.iter().map(|container| self.path(container));
        paths.map(|path| self.store.writes_to(&path)).sum()
    }

    /// Returns the items of all containers, and the number of writes that they show. All writes wait meanwhile,
    /// so no copy is there without its source.
    pub(crate) async fn take(&self) -> anyhow::Result<(u64, Vec<(String, Vec<Value>)>)> {
        let _alone = self.store.replicas.alone().await;
        let mut all = Vec::new();
        for container in &self.containers {
            let name = container.id.to_string();
            let items = async {
                let client = self.client.container_client(name.clone(), None).await?;
                let scope = FeedScope::full_container();
                let items = client.query_items(Query::from("SELECT * FROM c"), scope, None);
                items.await?.try_collect::<Vec<Value>>().await
            };
            let items = items.await;
            let items = items
                .with_context(|| format!("the items of the container '{name}' cannot be read"))?;
            all.push((name, items));
        }
        Ok((self.writes(), all))
    }

    /// Stores an item of a snapshot, unless its time to live has ended. Its time begins again. Returns true if it
    /// is stored.
    pub(crate) async fn put(
        &self,
        container: &ContainerProperties,
        mut item: Value,
    ) -> anyhow::Result<bool> {
        if has_expired(container, &item) {
            return Ok(false);
        }
        if let Some(properties) = item.as_object_mut() {
            properties.retain(|name, _| !SYSTEM_PROPERTIES.contains(&name.as_str()));
        }
        // In the header, a value that is missing is an empty object.
        let value = |path: &str| item.pointer(path).cloned().unwrap_or_else(|| json!({}));
        let key: Value = container.partition_key.paths().iter().map(|path| value(path)).collect();
        let path = self.path(container);
        let status = self.store.upsert(&path, &key, &item).await;
        let status = status.map_err(anyhow::Error::from).and_then(|status| {
            ensure!(matches!(status, 200 | 201), "status {status}");
            Ok(true)
        });
        let container = &path.container;
        status.with_context(|| format!("an item of the container '{container}' cannot be stored"))
    }

    fn path(&self, container: &ContainerProperties) -> ContainerPath {
        let database = self.database.clone();
        ContainerPath { database, container: container.id.to_string() }
    }
}

fn has_expired(container: &ContainerProperties, item: &Value) -> bool {
    let default = match container.default_ttl {
        TimeToLive::NoDefault => -1,
        TimeToLive::Seconds(seconds) => i64::from(seconds),
        _ => return false,
    };
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let written = item.get("_ts").and_then(Value::as_u64);
    let lifetime = lifetime(item.get("ttl"), default);
    let end = written.zip(lifetime).map(|(written, lifetime)| written.saturating_add(lifetime));
    end.is_some_and(|end| end < now.as_secs())
}
