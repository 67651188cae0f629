#![doc = include_str!("../README.md")]
#![expect(
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test ends where what it needs is not there"
)]

pub mod interleavings;
pub mod proof;
mod world;

pub use world::{Answer, AppUnderTest, World};
