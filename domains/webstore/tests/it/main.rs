//! Stories of the WebStore, told through the front door: the domain's router, the real SDK and the local
//! Cosmos DB endpoint.

#![expect(
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test ends where what it needs is not there"
)]

#[path = "../../../../tests/common/mod.rs"]
mod common;
use common::{at_once, budgets, expect};

mod audit;
mod costs;
mod customers;
mod given;
mod labels;
mod move_product;
mod orders;
mod own_writes;
mod products;
mod proofs;
mod renames;
mod reports;
mod world;
