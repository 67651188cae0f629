//! Stories of the app as a whole, told through the front door: the app's router or the handler's process,
//! the real SDK, the local Cosmos DB endpoint. Those of one domain's functions are in `tests/blog`,
//! `tests/webstore` and `tests/news`.

#![expect(
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test ends where what it needs is not there"
)]

#[path = "../common/mod.rs"]
mod common;
use common::blog;
use common::budgets;
use common::callers;
use common::expect;
use common::handler;
use common::news;
use common::webstore;
use common::world;

mod access;
mod audit;
mod complete;
mod costs;
mod demo;
mod estimates;
mod framework_words;
mod functions;
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
