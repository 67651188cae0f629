#![doc = include_str!("../README.md")]
#![expect(
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test ends where what it needs is not there"
)]

pub mod answers;
pub mod audits;
pub mod budget;
pub mod checks;
pub mod costs_file;
pub mod handler;
pub mod interleavings;
pub mod problems;
pub mod proof;
mod stored;
mod world;

pub use tributary_local::cosmos::{Fault, FrozenReplica, Hold, RequestKind, StoreRequest};
pub use world::{Answer, AppUnderTest, World};
