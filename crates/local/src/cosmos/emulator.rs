//! The emulator with which the team of the Rust SDK tests the SDK, as a [`Backend`].
//!
//! Its interface is internal to the SDK and changes without notice. This file is the only one of the
//! workspace that names its types.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use azure_core::http::Request;
use azure_data_cosmos::CosmosError;
use azure_data_cosmos_driver::in_memory_emulator::{
    ContainerConfig, EmulatorStore, InMemoryEmulatorHttpClient, ReplicationConfig, SeedingPolicy,
    VirtualAccountConfig, VirtualRegion,
};

use super::backend::{Backend, NewContainer, Region, Response};
use super::operation::ContainerPath;

/// An account in the memory of this process.
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
}

fn virtual_region(region: &Region) -> VirtualRegion {
    VirtualRegion::new(&region.name, region.url.clone())
}

#[async_trait]
impl Backend for Emulator {
    async fn send(&self, request: &Request) -> Result<Response, CosmosError> {
        let answer = self.http.execute_request(request).await?;
        let (status, headers, body) = answer.deconstruct();
        let body = body.collect().await.map_err(|error| {
            CosmosError::builder()
                .with_message(format!("the emulator's answer cannot be read: {error}"))
                .build()
        })?;
        Ok(Response { status: u16::from(status), headers, body, items_loaded: None })
    }

    fn create_container(&self, container: &NewContainer<'_>) -> bool {
        let NewContainer { path, definition, partitions, throughput } = container;
        let created = || {
            let key = serde_json::from_value(definition.get("partitionKey")?.clone()).ok()?;
            let mut config = ContainerConfig::new().with_partition_count(*partitions);
            if let Some(throughput) = throughput {
                config = config.with_throughput(throughput.trim().parse().ok()?);
            }
            let config = config.build().ok()?;
            let ContainerPath { database, container } = path;
            self.store.create_container_with_config(database, container, key, config);
            Some(())
        };
        created().is_some()
    }

    fn partitions(&self, path: &ContainerPath) -> Vec<u32> {
        // The children of no parents are all partitions.
        self.store.child_partition_ids(&path.database, &path.container, &[])
    }

    fn split(&self, path: &ContainerPath, partition: u32, locked: Duration) {
        let ContainerPath { database, container } = path;
        // A split by storage, or in the middle if there is only one logical partition.
        let by_storage =
            self.store.split_partition_by_storage(database, container, partition, locked);
        if by_storage.is_err() {
            self.store.split_partition(database, container, partition, locked);
        }
    }

    async fn split_done(&self, path: &ContainerPath, partition: u32) {
        self.store.wait_for_split(&path.database, &path.container, partition).await;
    }

    fn add_region(&self, region: &Region) -> Result<(), CosmosError> {
        self.store.add_region(virtual_region(region), SeedingPolicy::Immediate)
    }

    fn remove_region(&self, name: &str) -> Result<(), CosmosError> {
        self.store.remove_region(name)
    }

    fn pause(&self, region: &str) {
        self.store.pause_replication(region);
    }

    fn resume(&self, region: &str) {
        self.store.resume_replication(region);
    }
}
