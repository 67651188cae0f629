#![doc = include_str!("../README.md")]

pub mod analysis;
pub mod report;
pub mod request;
pub mod sample;
pub mod selector;

pub use analysis::{Analysis, Options};
pub use report::Report;
pub use request::RequestKind;
