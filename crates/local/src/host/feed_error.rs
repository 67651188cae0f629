//! Errors of a `cosmosDBTrigger`.

use azure_data_cosmos::CosmosError;

use super::failure::Failure;
use super::newtonsoft;

/// Why a pump cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum FeedError {
    /// The function has another trigger.
    #[error("{0} has no cosmosDBTrigger, so there is no change feed to pump")]
    NoCosmosTrigger(String),
    /// A container that the trigger names cannot be opened.
    #[error("the container {container} of the database {database} cannot be opened")]
    Container {
        /// The database.
        database: String,
        /// The container.
        container: String,
        /// Why.
        source: CosmosError,
    },
    /// Another host wrote the lease.
    #[error("the lease {0} was taken by another host")]
    LeaseLost(String),
    /// A physical partition has split, so the leases have to be taken anew.
    #[error("a physical partition has split")]
    Split,
    /// A batch failed in [`FeedPump::drain`](super::FeedPump::drain).
    #[error("a batch for {function} failed {attempts} times: {failure}")]
    BatchFailed {
        /// The function.
        function: String,
        /// How often.
        attempts: i64,
        /// Why the last attempt failed.
        failure: Failure,
    },
    /// The trigger cannot read a page: it does so again and again, and calls no handler.
    #[error(
        "{function}: Lease {lease} encountered an unhandled user exception during processing: \
         {exception}"
    )]
    PageNotRead {
        /// The function.
        function: String,
        /// The lease whose page it is.
        lease: String,
        /// What the reader throws.
        exception: newtonsoft::Exception,
    },
    /// A lease or a token cannot be read or written as JSON.
    #[error("a lease is not as expected")]
    Json(#[from] serde_json::Error),
    /// The store refused a request.
    #[error("the store refused a request of the trigger")]
    Store(#[from] CosmosError),
}

impl FeedError {
    pub(super) fn container(database: &str, container: &str, source: CosmosError) -> Self {
        let (database, container) = (database.to_owned(), container.to_owned());
        Self::Container { database, container, source }
    }
}
