//! Stories told through the front door: the app's router or the handler's process, the real SDK,
//! the local Cosmos DB endpoint. The tree mirrors `functions/`.

#![expect(
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test ends where what it needs is not there"
)]

mod access;
mod audit;
mod blog;
mod chaos;
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
mod news;
mod openapi;
mod process;
mod projections;
mod settings;
mod telemetry;
mod webstore;
mod world;
