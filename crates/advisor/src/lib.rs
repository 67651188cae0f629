#![doc = include_str!("../README.md")]

// What goes in.
pub mod request;
pub mod sample;
pub mod selector;
pub mod traffic;

// One pass over the sample, and what comes of it.
pub mod analysis;
mod distribution;
mod estimate;
pub mod findings;
mod placement;
mod population;
pub mod report;
mod sketch;
mod unseen;
mod words;

// Candidates, and what to do.
pub mod advice;
pub mod output;
pub mod propose;

// A live container.
#[cfg(feature = "cosmos")]
pub mod monitor;

pub use analysis::{Analysis, Options, validate};
pub use report::Report;
pub use request::RequestKind;
