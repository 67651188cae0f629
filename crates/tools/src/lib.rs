#![doc = include_str!("../README.md")]

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
