//! The known properties of each container: its `_rid` and its partition key.

use std::{
    collections::HashMap,
    sync::{Arc, PoisonError, RwLock},
};

use azure_core::http::{Method, headers::HeaderName};
use serde::Deserialize;

use super::{account::Account, backend::Response, operation::ContainerPath};

const PATH_BY_NAME: HeaderName = HeaderName::from_static("x-ms-alt-content-path");
const PATH_BY_RID: HeaderName = HeaderName::from_static("x-ms-content-path");

/// The containers that were read so far.
#[derive(Debug)]
pub(super) struct KnownContainers {
    account: Account,
    known: RwLock<HashMap<ContainerPath, Arc<ContainerInfo>>>,
}

/// A container.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ContainerInfo {
    #[serde(rename = "_rid")]
    pub(super) rid: String,
    pub(super) partition_key: PartitionKeyInfo,
}

/// A partition key.
#[derive(Debug, Deserialize)]
pub(super) struct PartitionKeyInfo {
    pub(super) paths: Vec<String>,
}

impl KnownContainers {
    pub(super) fn new(account: Account) -> Self {
        Self { account, known: RwLock::default() }
    }

    /// Returns the container at a path; `None` if it does not exist.
    pub(super) async fn get(&self, path: &ContainerPath) -> Option<Arc<ContainerInfo>> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner).get(path).cloned();
        if known.is_some() {
            return known;
        }
        let segments = ["dbs", &path.database, "colls", &path.container];
        let response =
            self.account.send(&self.account.request(Method::Get, &segments)).await.ok()?;
        let container: Arc<ContainerInfo> = Arc::new(serde_json::from_slice(&response.body).ok()?);
        let mut all = self.known.write().unwrap_or_else(PoisonError::into_inner);
        all.insert(path.clone(), Arc::clone(&container));
        Some(container)
    }

    /// Drops the containers that have changed or were deleted.
    pub(super) fn forget(&self, gone: impl Fn(&ContainerPath) -> bool) {
        let mut all = self.known.write().unwrap_or_else(PoisonError::into_inner);
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
