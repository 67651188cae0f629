#![doc = include_str!("../README.md")]

// What goes in.
pub mod request;
pub mod sample;
pub mod selector;

// One pass over the sample, and what comes of it.
pub mod analysis;
mod distribution;
mod estimate;
pub mod findings;
pub mod report;
mod sketch;

pub use analysis::{Analysis, Options, validate};
pub use report::Report;
pub use request::RequestKind;
