#![doc = include_str!("../README.md")]

// Each step has one type: a sample's `Item`s are counted in an `Analysis`, from which each candidate has a
// `Report` with estimates and findings, and all reports together give an `Advice`.

// What goes in.
pub mod request;
pub mod sample;
pub mod selector;
pub mod traffic;

// One pass over the sample, and what comes of it.
pub mod analysis;
mod counts;
mod distribution;
mod estimate;
pub mod findings;
mod limits;
mod observed;
mod options;
mod placement;
mod population;
pub mod report;
mod sketch;
mod unseen;
mod words;
mod world;

// Candidates, and what to do.
pub mod advice;
pub mod output;
pub mod propose;

// A live container.
#[cfg(feature = "cosmos")]
pub mod monitor;

pub use analysis::{Analysis, validate};
pub use observed::ObservedReads;
pub use options::Options;
pub use report::Report;
pub use request::RequestKind;
