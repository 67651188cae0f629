//! The interface to the store that keeps the data.
//!
//! A backend answers the Cosmos DB REST API. All other modules here use [`Backend::send`]: pages, the
//! change feed, time to live, charges, faults. Four things are not in the REST API, and have methods of
//! their own: the number of physical partitions of a new container, splits, and regions that lag, which
//! stand for replicas.
//!
//! The one backend is [`Emulator`](super::emulator::Emulator). For another store, or for another
//! version of the SDK, change that file.

use std::{fmt::Debug, time::Duration};

use async_trait::async_trait;
use azure_core::{
    Bytes,
    http::{Request, Url, headers::Headers},
};
use azure_data_cosmos::CosmosError;
use serde_json::Value;

use super::operation::ContainerPath;

/// An answer whose body is complete.
pub(super) struct Response {
    pub(super) status: u16,
    pub(super) headers: Headers,
    pub(super) body: Bytes,
    /// Items that were loaded for the answer, if the ledger has counted them.
    pub(super) items_loaded: Option<u32>,
}

/// A region of the account. Requests are sent to a region by its address.
#[derive(Clone, Debug)]
pub(super) struct Region {
    pub(super) name: String,
    pub(super) url: Url,
}

/// A new container, with the properties that the REST API does not set.
pub(super) struct NewContainer<'a> {
    pub(super) path: &'a ContainerPath,
    /// Definition that the client sent.
    pub(super) definition: &'a Value,
    /// Number of its physical partitions.
    pub(super) partitions: u32,
    /// Throughput that the client sent.
    pub(super) throughput: Option<&'a str>,
}

/// An account with its data.
#[async_trait]
pub(super) trait Backend: Debug + Send + Sync {
    /// Answers a request. A region that is paused answers with the state when it was paused, or with
    /// 404 and sub-status 1002 when the session token of the request asks for more.
    async fn send(&self, request: &Request) -> Result<Response, CosmosError>;

    /// Creates a container without its other properties. Returns false if this method cannot create one
    /// with such a definition.
    fn create_container(&self, container: &NewContainer<'_>) -> bool;

    /// Returns the physical partitions of a container.
    fn partitions(&self, container: &ContainerPath) -> Vec<u32>;

    /// Begins to split a physical partition, which answers 410 while it is locked.
    fn split(&self, container: &ContainerPath, partition: u32, locked: Duration);

    /// Waits until a physical partition has split.
    async fn split_done(&self, container: &ContainerPath, partition: u32);

    /// Adds a region with all present data.
    fn add_region(&self, region: &Region) -> Result<(), CosmosError>;

    /// Removes a region that was added.
    fn remove_region(&self, name: &str) -> Result<(), CosmosError>;

    /// Holds back the writes to a region.
    fn pause(&self, region: &str);

    /// Delivers the writes that were held back from a region, and those to come.
    fn resume(&self, region: &str);
}
