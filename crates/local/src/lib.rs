//! Everything that a Functions app on Cosmos DB needs around it on a laptop.
//!
//! - [`cosmos`]: a Cosmos DB endpoint that any SDK can use;
//! - [`host`]: a stand-in for the Azure Functions host.

pub mod cosmos;
pub mod host;
