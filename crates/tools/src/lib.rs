//! What the tools of this workspace share: `cargo local --demo`, the simulator and the benchmarks.
//!
//! - `Call`, `Reply` and `Client`: requests of a JSON API over HTTP, with the feature `client`;
//! - [`Sorted`], [`mean`] and [`slope`]: what many measurements say;
//! - [`Table`], [`figures`] and [`html`]: results for people.

#[cfg(feature = "client")]
mod client;
pub mod figures;
pub mod html;
mod percentiles;
mod table;

#[cfg(feature = "client")]
pub use client::{Call, Client, IDEMPOTENCY_KEY, Reply};
pub use percentiles::{Sorted, mean, slope};
pub use table::{Table, escape};
