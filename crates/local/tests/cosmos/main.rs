//! The local Cosmos DB endpoint, through the real SDK. The store behind it has tests of its own.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests fail the test as the tests themselves do"
)]

mod charges;
mod containers_file;
mod items;
mod replicas;
mod world;
