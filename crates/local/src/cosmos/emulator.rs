//! The emulator with which the team of the Rust SDK tests the SDK.
//!
//! It answers the Cosmos DB REST API, and all other modules here use [`Emulator::send`]: pages, the change
//! feed, time to live, charges, faults. Four things are not in the REST API, and have methods of their own:
//! the number of physical partitions of a new container, splits, and regions that lag, which stand for
//! replicas.
//!
//! Its interface is internal to the SDK and changes without notice. This file is the only one of the
//! workspace that names its types.

use std::sync::Arc;
use std::time::Duration;

use azure_core::Bytes;
use azure_core::http::headers::{HeaderName, Headers};
use azure_core::http::{Request, Url};
use azure_data_cosmos::CosmosError;
use azure_data_cosmos_driver::in_memory_emulator::{
    ContainerConfig, EmulatorStore, InMemoryEmulatorHttpClient, ReplicationConfig, SeedingPolicy,
    VirtualAccountConfig, VirtualRegion,
};

use serde_json::Value;

use super::operation::ContainerPath;
use super::slices::ITEM_COUNT;

pub(super) struct Response {
    pub(super) status: u16,
    pub(super) headers: Headers,
    pub(super) body: Bytes,
    /// Items that were loaded for the answer, if the ledger has counted them.
    pub(super) items_loaded: Option<u32>,
}

impl Response {
    pub(super) fn header(&self, name: &HeaderName) -> Option<&str> {
        self.headers.get_optional_str(name)
    }

    /// Returns the number of items on a page.
    pub(super) fn n_items(&self) -> u32 {
        self.header(&ITEM_COUNT).and_then(|count| count.parse().ok()).unwrap_or(0)
    }
}

/// A region of the account. Requests are sent to a region by its address.
#[derive(Clone, Debug)]
pub(super) struct Region {
    pub(super) name: String,
    pub(super) url: Url,
}

#[derive(Debug)]
pub(super) struct Emulator {
    http: InMemoryEmulatorHttpClient,
    store: Arc<EmulatorStore>,
}

impl Emulator {
    /// Creates an account with these regions. Writes go to the first one, and from there to the others
    /// at once. While a region is paused, they wait in a queue without a bound.
    pub(super) fn new(regions: &[Region]) -> Result<Self, CosmosError> {
        let replication =
            ReplicationConfig::immediate().with_max_buffered_replications(usize::MAX - 1);
        let regions = regions.iter().map(virtual_region).collect();
        let account = VirtualAccountConfig::new(regions)?.with_replication_config(replication);
        let http = InMemoryEmulatorHttpClient::try_new(account)?;
        Ok(Self { store: http.store(), http })
    }

    /// Answers a request. A region that is paused answers with the state when it was paused, or with
    /// 404 and sub-status 1002 when the session token of the request asks for more.
    pub(super) async fn send(&self, request: &Request) -> Result<Response, CosmosError> {
        let answer = self.http.execute_request(request).await?;
        let (status, headers, body) = answer.deconstruct();
        let body = body.collect().await.map_err(|error| {
            failure(format_args!("the emulator's answer cannot be read: {error}"))
        })?;
        Ok(Response { status: u16::from(status), headers, body, items_loaded: None })
    }

    /// Creates a container without its other properties. Returns false if this method cannot create one
    /// with such a definition.
    pub(super) fn create_container(
        &self,
        ContainerPath { database, container }: &ContainerPath,
        definition: &Value,
        partitions: u32,
        throughput: Option<&str>,
    ) -> bool {
        let created = || {
            let key = serde_json::from_value(definition.get("partitionKey")?.clone()).ok()?;
            let mut config = ContainerConfig::new().with_partition_count(partitions);
            if let Some(throughput) = throughput {
                config = config.with_throughput(throughput.trim().parse().ok()?);
            }
            let config = config.build().ok()?;
            self.store.create_container_with_config(database, container, key, config);
            Some(())
        };
        created().is_some()
    }

    pub(super) fn partitions(&self, path: &ContainerPath) -> Vec<u32> {
        // The children of no parents are all partitions.
        self.store.child_partition_ids(&path.database, &path.container, &[])
    }

    /// Begins to split a physical partition, which answers 410 while it is locked.
    pub(super) fn split(&self, path: &ContainerPath, partition: u32, locked: Duration) {
        let ContainerPath { database, container } = path;
        // A split by storage, or in the middle if there is only one logical partition.
        let by_storage =
            self.store.split_partition_by_storage(database, container, partition, locked);
        if by_storage.is_err() {
            self.store.split_partition(database, container, partition, locked);
        }
    }

    pub(super) async fn split_done(&self, path: &ContainerPath, partition: u32) {
        self.store.wait_for_split(&path.database, &path.container, partition).await;
    }

    pub(super) fn add_region(&self, region: &Region) -> Result<(), CosmosError> {
        self.store.add_region(virtual_region(region), SeedingPolicy::Immediate)
    }

    pub(super) fn remove_region(&self, name: &str) -> Result<(), CosmosError> {
        self.store.remove_region(name)
    }

    /// Holds back the writes to a region.
    pub(super) fn pause(&self, region: &str) {
        self.store.pause_replication(region);
    }

    /// Delivers the writes that were held back from a region, and those to come.
    pub(super) fn resume(&self, region: &str) {
        self.store.resume_replication(region);
    }
}

pub(super) fn failure(reason: impl std::fmt::Display) -> CosmosError {
    CosmosError::builder().with_message(reason.to_string()).build()
}

fn virtual_region(region: &Region) -> VirtualRegion {
    VirtualRegion::new(&region.name, region.url.clone())
}
