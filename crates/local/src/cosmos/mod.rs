//! A local Azure Cosmos DB endpoint for development and tests.
//!
//! It is the store of the crate `tributary-cosmos-store`, which any Cosmos DB SDK can use, on 127.0.0.1. What
//! this module adds is what tests and chaos need: faults, requests that are held back, reads of old states, a
//! log of the requests, and the containers of an app.
//!
//! `docs/local-endpoint.md` has what it models and what it does not.

mod containers_file;
mod endpoint;
mod faults;
mod replicas;
mod requests;
mod store;

pub use containers_file::{ContainersFile, provision};
pub use cosmos_store::http::{Kind as RequestKind, WELL_KNOWN_KEY};
pub use endpoint::{CosmosEndpoint, EndpointOptions, RunningServer};
pub use faults::{Fault, Hold};
pub use replicas::FrozenReplica;
pub use requests::{StoreAnswer, StoreRequest};
