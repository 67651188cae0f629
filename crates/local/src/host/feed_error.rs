//! Errors of a `cosmosDBTrigger`.

use azure_data_cosmos::CosmosError;

use super::failure::InvocationFailure;
use super::newtonsoft;

/// The reason why a pump ends.
#[derive(Debug, thiserror::Error)]
pub enum FeedError {
    /// The function has another trigger.
    #[error("{0} has no cosmosDBTrigger, so there is no change feed to pump")]
    NoCosmosTrigger(String),
    /// A container of the trigger cannot be opened.
    #[error("the container {container} of the database {database} cannot be opened")]
    Container {
        /// The database.
        database: String,
        /// The container.
        container: String,
        /// Error of the SDK.
        source: CosmosError,
    },
    /// Another host wrote the lease.
    #[error("the lease {0} was taken by another host")]
    LeaseLost(String),
    /// A lease has no range: an old version of the trigger wrote it.
    #[error("the lease {0} has no FeedRange: delete it, or let the real trigger acquire it once")]
    LeaseWithoutRange(String),
    /// The store has given the monitored container no `_rid`.
    #[error("the container {0} has no _rid that names its leases")]
    NoRid(String),
    /// A physical partition has split, so the leases have to be acquired again.
    #[error("a physical partition has split")]
    Split,
    /// A batch failed in [`FeedPump::drain`](super::FeedPump::drain).
    #[error("a batch for {function} failed {attempts} times: {failure}")]
    BatchFailed {
        /// The function.
        function: String,
        /// Number of attempts.
        attempts: i64,
        /// Failure of the last attempt.
        failure: InvocationFailure,
    },
    /// The trigger cannot read a page: it retries the page for ever, and calls no handler.
    #[error(
        "{function}: Lease {lease} encountered an unhandled user exception during processing: \
         {exception}"
    )]
    PageNotRead {
        /// The function.
        function: String,
        /// The lease of the page.
        lease: String,
        /// The exception of the reader.
        exception: newtonsoft::Exception,
    },
    /// A lease or a token cannot be read or written as JSON.
    #[error("a lease has an unexpected form")]
    Json(#[from] serde_json::Error),
    /// The store refused a request.
    #[error("the store refused a request of the trigger")]
    Store(#[from] CosmosError),
}

impl FeedError {
    pub(super) fn container(database: &str, container: &str, source: CosmosError) -> Self {
        let database = database.to_owned();
        let container = container.to_owned();
        Self::Container { database, container, source }
    }
}
