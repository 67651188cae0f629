//! The local Cosmos DB endpoint through its front doors: the real SDK over TCP and in process,
//! and raw HTTP where an SDK would not go.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests fail the test as the tests themselves do"
)]

mod change_feed;
mod charges;
mod containers_file;
mod dotnet;
mod items;
mod provisioning;
mod queries;
mod raw;
mod replicas;
mod requests;
mod sockets;
mod time_to_live;
mod world;
