//! A simulator of an app's clients, with a reference model of what they may see.
//!
//! Several clients send random commands at once and retry, as an honest client does, when the
//! answer is 429 or 503 or does not come. The model of a [`Workload`] holds what was acknowledged.
//! A query may be answered by an instance that reads from a replica that is behind: a model allows
//! each version that was the newest one within that time ([`Recent`]). Commands have no such
//! excuse, and neither has a 404, which is confirmed by the newest state.
//!
//! After quiet, [`Workload::check`] asks every query and compares.
//!
//! Each domain has a workload: [`blog`], [`webstore`], [`news`]. To add an operation to one: 1. a variant of
//! its `Operation` with its request; 2. its chance in `Operation::random`; 3. in `finish` which
//! answers are right and what they mean; 4. what is left to compare in `check`.

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
pub use client::{Simulation, Tally, simulate};
pub use clock::Clock;
pub use recent::{Recent, oldest};
pub use store::items;
pub use workload::Workload;
