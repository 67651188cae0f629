//! What this module needs of a store: the one door to whatever keeps the data.
//!
//! A backend answers the Cosmos DB REST API. Everything else here stands on [`Backend::send`]: pages,
//! the change feed, time to live, charges, faults. Four things cannot be asked over the REST API, and
//! are methods of their own: the number of physical partitions of a new container, splits, and regions
//! that are behind, which stand for replicas.
//!
//! The one backend is [`Emulator`](super::emulator::Emulator). For another store, or for another version
//! of the SDK, that file is the one to change.

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
    /// Items that were loaded for it, where the ledger has found that out.
    pub(super) items_loaded: Option<u32>,
}

/// A region of the account. Requests are sent to a region by its address.
#[derive(Clone, Debug)]
pub(super) struct Region {
    pub(super) name: String,
    pub(super) url: Url,
}

/// A new container, as far as it is made past the REST API.
pub(super) struct NewContainer<'a> {
    pub(super) path: &'a ContainerPath,
    /// Its definition, as a client sent it.
    pub(super) definition: &'a Value,
    /// How many physical partitions it gets.
    pub(super) partitions: u32,
    /// Its throughput, as a client sent it.
    pub(super) throughput: Option<&'a str>,
}

/// An account that is kept somewhere.
#[async_trait]
pub(super) trait Backend: Debug + Send + Sync {
    /// Answers a request. A region that is paused answers with the state when it was paused, or with
    /// 404 and sub-status 1002 when the session token of the request asks for more.
    async fn send(&self, request: &Request) -> Result<Response, CosmosError>;

    /// Creates a container; false when its definition is not one that can be created so. Its other
    /// properties are not set.
    fn create_container(&self, container: &NewContainer<'_>) -> bool;

    /// Returns the physical partitions of a container.
    fn partitions(&self, container: &ContainerPath) -> Vec<u32>;

    /// Begins to split a physical partition, which answers 410 for so long.
    fn split(&self, container: &ContainerPath, partition: u32, locked: Duration);

    /// Waits until a physical partition has split.
    async fn split_done(&self, container: &ContainerPath, partition: u32);

    /// Adds a region with all data of now.
    fn add_region(&self, region: &Region) -> Result<(), CosmosError>;

    /// Removes a region that was added.
    fn remove_region(&self, name: &str) -> Result<(), CosmosError>;

    /// Lets a region get no more writes.
    fn pause(&self, region: &str);

    /// Lets a region get the writes that it has missed, and those to come.
    fn resume(&self, region: &str);
}
