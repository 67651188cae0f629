//! A simulator of an app's clients, with a reference model of the states that they may see.
//!
//! Several clients send random commands at once. Like honest clients, they retry after 429, 503 and
//! missing answers. The model of a [`Workload`] holds the acknowledged commands. An instance that reads
//! from a replica that lags may answer a query: a model allows each version that was the newest one
//! within that time ([`Recent`]). Commands have no such excuse. A 404 has none either, since the newest
//! state confirms it.
//!
//! After quiet, [`Workload::check`] sends every query and compares.
//!
//! Each domain has a workload: [`blog`], [`webstore`], [`news`]. To add an operation to one: 1. a
//! variant of its operation with its request; 2. its probability in `random`; 3. the right answers and
//! their effect in `finish`; 4. the comparison in `check`.

mod api;
pub mod blog;
mod client;
mod clock;
mod comparison;
pub mod news;
mod recent;
mod store;
pub mod webstore;
mod workload;

pub use api::{Api, Reply};
pub use client::{AnswerTally, Simulation, simulate};
pub use clock::Clock;
pub use recent::{Recent, oldest};
pub use store::items;
pub use workload::{Bystanders, Workload};
