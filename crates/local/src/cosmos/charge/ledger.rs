//! The charge of each request, computed from reads around the request.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use azure_core::http::headers::HeaderName;
use azure_core::http::{Method, Request};
use azure_data_cosmos::CosmosError;
use cosmos_model::charges::items::ItemVersion;
use cosmos_model::charges::policy::IndexingPolicy;
use cosmos_model::charges::rates::{self, LOOKUP_RU};
use cosmos_model::charges::reads;
use serde::Deserialize;

use super::super::account::Account;
use super::super::backend::Response;
use super::super::operation::{ContainerPath, PARTITION_KEY, RequestKind, body_of};
use super::super::replicas;
use super::queries;
use super::writes::Write;

const REQUEST_CHARGE: HeaderName = HeaderName::from_static("x-ms-request-charge");

/// A ledger of the containers, which replaces the emulator's charges by its own.
#[derive(Debug, Default)]
pub(in crate::cosmos) struct Ledger {
    containers: RwLock<HashMap<ContainerPath, Arc<ChargedContainer>>>,
}

/// The properties of a container that its charges depend on.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ChargedContainer {
    id: String,
    partition_key: PartitionKeyPaths,
    indexing_policy: IndexingPolicy,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct PartitionKeyPaths {
    paths: Vec<String>,
}

impl Ledger {
    /// Notes a container from the request that made or replaced it.
    pub(in crate::cosmos) fn container_written(&self, database: &str, request: &Request) {
        let Ok(container) = serde_json::from_slice::<ChargedContainer>(&body_of(request)) else {
            return;
        };
        let path = ContainerPath { database: database.to_owned(), container: container.id.clone() };
        let mut containers = self.containers.write().unwrap_or_else(PoisonError::into_inner);
        containers.insert(path, Arc::new(container));
    }

    /// Drops the containers that are gone.
    pub(in crate::cosmos) fn forget(&self, gone: impl Fn(&ContainerPath) -> bool) {
        let mut containers = self.containers.write().unwrap_or_else(PoisonError::into_inner);
        containers.retain(|container, _| !gone(container));
    }

    /// Waits for the emulator's answer to a request, and writes the charge into it. If the charge
    /// cannot be computed, the emulator's charge stays.
    pub(in crate::cosmos) async fn charged(
        &self,
        account: &Account,
        kind: RequestKind,
        container: &ContainerPath,
        item: Option<&str>,
        request: &Request,
        answer: impl Future<Output = Result<Response, CosmosError>>,
    ) -> Result<Response, CosmosError> {
        let writes = Write::from_request(kind, item, request);
        let mut before = Vec::with_capacity(writes.len());
        for write in &writes {
            let id = write.id.as_deref().filter(|_| write.follows());
            before.push(stored(account, container, id, request).await);
        }
        let mut response = answer.await?;
        response.items_loaded = Some(0);
        let charge = match response.status {
            200 | 201 | 204 if kind.is_write() => {
                self.writes(account, container, request, writes, before).await
            }
            200 => match kind {
                RequestKind::Read => {
                    response.items_loaded = Some(1);
                    Some(rates::read(response.body.len()))
                }
                RequestKind::Query => {
                    let keys = &self.container(container).partition_key.paths;
                    let work = queries::work(account, container, keys, request, &response).await;
                    response.items_loaded = work.map(|work| work.items_loaded);
                    work.map(reads::query)
                }
                _ => {
                    let n_items = queries::n_items(&response);
                    response.items_loaded = Some(n_items);
                    Some(reads::feed(n_items, response.body.len()))
                }
            },
            // A failed batch, no changes, a missing item, a conflict, another version.
            207 | 304 | 404 | 409 | 412 => Some(LOOKUP_RU),
            _ => None,
        };
        // A read of the latest committed state asks a quorum of replicas.
        let quorum = !kind.is_write() && replicas::demands_newest(request);
        if let Some(charge) = charge.map(|charge| if quorum { 2.0 * charge } else { charge }) {
            response.headers.insert(REQUEST_CHARGE, format!("{charge:.2}"));
        }
        Ok(response)
    }

    /// Returns the sum over the writes of a request that has succeeded.
    async fn writes(
        &self,
        account: &Account,
        container: &ContainerPath,
        request: &Request,
        writes: Vec<Write>,
        before: Vec<Option<ItemVersion>>,
    ) -> Option<f64> {
        let known = self.container(container);
        let mut charge = 0.0;
        for (write, old) in writes.into_iter().zip(before) {
            let id = write.id.as_deref().filter(|_| write.needs_a_look_after());
            let after = stored(account, container, id, request).await;
            charge += write.charge(old, after, &known.indexing_policy)?;
        }
        (charge > 0.0).then_some(charge)
    }

    fn container(&self, path: &ContainerPath) -> Arc<ChargedContainer> {
        let containers = self.containers.read().unwrap_or_else(PoisonError::into_inner);
        containers.get(path).cloned().unwrap_or_default()
    }
}

/// Returns the item in its present state, from the logical partition of the request.
async fn stored(
    account: &Account,
    container: &ContainerPath,
    id: Option<&str>,
    request: &Request,
) -> Option<ItemVersion> {
    let mut get = account.request(Method::Get, &container.item(id?));
    let key = request.headers().get_optional_str(&PARTITION_KEY)?;
    get.insert_header(PARTITION_KEY, key.to_owned());
    let response = account.send(&get).await.ok().filter(|response| response.status == 200)?;
    let item = serde_json::from_slice(&response.body).ok()?;
    Some(ItemVersion { item, bytes: response.body.len() })
}
