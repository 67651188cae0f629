//! A local Azure Cosmos DB endpoint for development and tests.
//!
//! It answers the Cosmos DB REST API (NoSQL) on 127.0.0.1, so any Cosmos DB SDK can use it, or
//! serves the Rust SDK within the process, without a socket. The data lives in memory, in the
//! emulator that the Rust SDK's team tests the SDK with. One file names its types, `emulator.rs`: its
//! interface is internal to the SDK and changes without notice.
//!
//! ```no_run
//! # use tributary_local::cosmos::{ContainersFile, CosmosEndpoint, EndpointOptions};
//! # async fn example() -> anyhow::Result<()> {
//! let endpoint = CosmosEndpoint::in_process(EndpointOptions::default())?;
//! let containers = ContainersFile::read("infra/containers.json")?;
//! endpoint.provision("tributary", &containers).await?;
//! let server = endpoint.serve(8081).await?;
//! println!("{}", server.connection_string());
//! server.stop().await;
//! # Ok(())
//! # }
//! ```
//!
//! A request from a socket ([`CosmosEndpoint::serve`]) and one from a client in the process
//! ([`CosmosEndpoint::runtime`]) meet at `EndpointStore::execute`, and behave the same. Only what belongs to
//! a socket is left to the server: the signature of a request, the bound of a body, the advertised address.
//!
//! `docs/local-endpoint.md` has what it models and what it does not, with the versions that it was tried with.

mod account;
mod authorization;
mod changes;
mod charge;
mod containers;
mod containers_file;
mod emulator;
mod endpoint;
mod expiry;
mod faults;
mod feed_order;
mod gateway;
mod key_prefix;
mod operation;
mod pages;
mod refused;
mod replicas;
mod requests;
mod slices;
mod snapshot;
mod store;

pub use charge::Charges;
pub use containers_file::{ContainersFile, provision};
pub use endpoint::{CosmosEndpoint, EndpointOptions, RunningServer};
pub use faults::{Fault, Hold};
pub use operation::RequestKind;
pub use replicas::FrozenReplica;
pub use requests::{StoreAnswer, StoreRequest};
pub(crate) use snapshot::Snapshots;

/// The account key of every Cosmos DB emulator, published by Microsoft: it protects nothing.
///
/// Source: <https://learn.microsoft.com/azure/cosmos-db/emulator#authentication>.
pub const WELL_KNOWN_KEY: &str =
    "C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMsEcaGQy67XIw/Jw==";
