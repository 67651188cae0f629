//! What the tools of this workspace share: `cargo local --demo`, the simulator and the benchmarks.
//!
//! - [`Call`], [`Reply`] and [`Client`]: requests of a JSON API over HTTP;
//! - [`Sorted`], [`mean`] and [`slope`]: what many measurements say;
//! - [`Table`] and [`figures`]: results for people.

mod client;
pub mod figures;
mod percentiles;
mod table;

pub use client::{Call, Client, IDEMPOTENCY_KEY, Reply};
pub use percentiles::{Sorted, mean, slope};
pub use table::{Table, escape};
