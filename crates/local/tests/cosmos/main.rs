//! The local Cosmos DB endpoint, through the real SDK over TCP and in process, and through raw HTTP for
//! requests that no SDK sends.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests fail the test as the tests themselves do"
)]

mod charges;
mod containers_file;
mod dotnet;
mod items;
mod queries;
mod raw;
mod replicas;
mod sockets;
mod time_to_live;
mod world;
