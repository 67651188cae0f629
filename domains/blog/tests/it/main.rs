//! Stories of the blog, told through the front door: the domain's router, the real SDK and the local
//! Cosmos DB endpoint.

#![expect(
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test ends where what it needs is not there"
)]

#[path = "../../../../tests/common/mod.rs"]
mod common;
use common::{at_once, budgets, expect};

mod comments;
mod counts;
mod crowds;
mod given;
mod likes;
mod own_writes;
mod posts;
mod proofs;
mod usernames;
mod users;
mod world;
