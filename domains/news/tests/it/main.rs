//! Stories of the news, told through the front door: the domain's router, the real SDK and the local
//! Cosmos DB endpoint.

#![expect(
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test ends where what it needs is not there"
)]

#[path = "../../../../tests/common/mod.rs"]
mod common;
use common::budgets;

mod audit_news;
mod costs;
mod given;
mod moves;
mod posts;
mod runs;
mod search;
mod world;
