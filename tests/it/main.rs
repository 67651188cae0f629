//! Stories of the app as a whole, told through the front door: the app's router or the handler's process,
//! the real SDK, the local Cosmos DB endpoint. Those of one domain's functions are beside it,
//! in `domains/*/tests`.

#![expect(
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test ends where what it needs is not there"
)]

#[path = "../common/mod.rs"]
mod common;
use common::{budgets, expect, world};
use tributary::program;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

// What the stories of a domain take as given.
#[path = "../../domains/blog/tests/it/given.rs"]
#[allow(dead_code, reason = "the stories of the app use a part")]
mod blog;
#[path = "../../domains/news/tests/it/given.rs"]
#[allow(dead_code, reason = "the stories of the app use a part")]
mod news;
#[path = "../../domains/webstore/tests/it/given.rs"]
#[allow(dead_code, reason = "the stories of the app use a part")]
mod webstore;

mod access;
mod audit;
mod availability;
mod complete;
mod confidentiality;
mod costs;
mod demo;
mod functions;
mod handler;
mod hosted;
mod http;
mod infra;
mod interleavings;
mod openapi;
mod page;
mod process;
mod projections;
mod projections_command;
mod rebuild;
mod settings;
mod shapes;
mod telemetry;
mod verify_password;
