//! Stories of the blog, told through the front door: the domain's router, the real SDK and the local
//! Cosmos DB endpoint.

#![expect(
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test ends where what it needs is not there"
)]

use tributary_functions::program::Program;

#[path = "../../../../tests/common/mod.rs"]
mod common;
use common::{budgets, expect, world};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// An app with this domain alone.
fn program() -> Program {
    Program::new("tributary", env!("CARGO_PKG_VERSION")).domain(tributary_blog::domain)
}

mod comments;
mod crowds;
mod given;
mod likes;
mod own_writes;
mod posts;
mod proofs;
mod usernames;
mod users;
