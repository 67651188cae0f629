//! The known properties of each container.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use azure_core::http::headers::{CONTENT_TYPE, HeaderName};
use azure_core::http::{Method, Request};
use azure_data_cosmos::CosmosError;
use cosmos_model::charges::policy::IndexingPolicy;
use serde::Deserialize;
use serde_json::Value;

use super::account::Account;
use super::emulator::Response;
use super::operation::{ContainerPath, body_of};
use crate::lock;

const PATH_BY_NAME: HeaderName = HeaderName::from_static("x-ms-alt-content-path");
const PATH_BY_RID: HeaderName = HeaderName::from_static("x-ms-content-path");

#[derive(Debug)]
pub(super) struct KnownContainers {
    pub(super) account: Account,
    pub(super) known: Mutex<HashMap<ContainerPath, Arc<ContainerInfo>>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ContainerInfo {
    #[serde(rename = "_rid")]
    pub(super) rid: String,
    pub(super) partition_key: PartitionKeyInfo,
    pub(super) default_ttl: Option<i64>,
    pub(super) indexing_policy: Option<IndexingPolicy>,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct PartitionKeyInfo {
    pub(super) paths: Vec<String>,
}

impl KnownContainers {
    pub(super) async fn get(&self, path: &ContainerPath) -> Option<Arc<ContainerInfo>> {
        let known = lock(&self.known).get(path).cloned();
        if known.is_some() {
            return known;
        }
        let segments = ["dbs", &path.database, "colls", &path.container];
        let response =
            self.account.send(&self.account.request(Method::Get, &segments)).await.ok()?;
        let container: Arc<ContainerInfo> = Arc::new(serde_json::from_slice(&response.body).ok()?);
        let mut all = lock(&self.known);
        all.insert(path.clone(), Arc::clone(&container));
        Some(container)
    }

    pub(super) fn forget(&self, gone: impl Fn(&ContainerPath) -> bool) {
        let mut all = lock(&self.known);
        all.retain(|container, _| !gone(container));
    }

    /// Writes the `_rid` of the container into an answer about it or its items. SDKs keep session
    /// tokens by these ids, and keep none without them.
    pub(super) async fn name(&self, path: &ContainerPath, response: &mut Response) {
        let Some(container) = self.get(path).await else {
            return;
        };
        let ContainerPath { database, container: name } = path;
        response.headers.insert(PATH_BY_NAME, format!("dbs/{database}/colls/{name}"));
        response.headers.insert(PATH_BY_RID, container.rid.clone());
    }
}

const THROUGHPUT: HeaderName = HeaderName::from_static("x-ms-offer-throughput");

/// Creates the container of `request`. The backend refuses a faulty request. The caller makes sure that
/// no other container is created meanwhile.
pub(super) async fn create_container(
    account: &Account,
    partitions: u32,
    database: &str,
    request: &Request,
) -> Result<Response, CosmosError> {
    let definition: Value = serde_json::from_slice(&body_of(request)).unwrap_or_default();
    // Unique keys can only be set at creation: such a container has the backend's own number of partitions.
    let has_unique_keys = definition.get("uniqueKeyPolicy").is_some();
    let id = definition["id"].as_str().filter(|id| !id.is_empty() && !has_unique_keys);
    let Some(id) = id else { return account.send(request).await };
    let of_database = account.request(Method::Get, &["dbs", database]);
    let path = ["dbs", database, "colls", id];
    let of_container = account.request(Method::Get, &path);
    if account.send(&of_database).await?.status != 200
        || account.send(&of_container).await?.status == 200
    {
        return account.send(request).await;
    }

    let created = account.backend.create_container(
        &ContainerPath { database: database.to_owned(), container: id.to_owned() },
        &definition,
        partitions,
        request.headers().get_optional_str(&THROUGHPUT),
    );
    if !created {
        return account.send(request).await;
    }
    let mut replace = account.request(Method::Put, &path);
    replace.insert_header(CONTENT_TYPE, "application/json");
    replace.set_body(request.body().clone());
    let mut response = account.send(&replace).await?;
    if response.status == 200 {
        response.status = 201;
    }
    Ok(response)
}
