#![doc = include_str!("../README.md")]
//!
//! ## Modules
//!
//! - [`cosmos`]: a Cosmos DB endpoint that any SDK can use;
//! - [`host`]: a stand-in for the Azure Functions host;
//! - [`chaos`]: occasional faults of both, from a seed;
//! - [`client`]: requests of a JSON API over HTTP;
//! - [`demo`]: small data sets;
//! - [`command`]: all of it as a program.

pub mod chaos;
pub mod client;
pub mod command;
pub mod cosmos;
pub mod demo;
pub mod host;

/// Locks a value whose holders never leave it half changed, also after a panic of one.
fn lock<T>(mutex: &std::sync::Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}
