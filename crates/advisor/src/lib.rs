#![doc = include_str!("../README.md")]
//!
//! # The stages
//!
//! Advice is the end of a pipe: a [`sample`] is counted in one pass (`counts`), which gives the estimates of each
//! candidate (`estimates`), the findings about them (`findings`), and the [`advice`]. [`validate`] runs the stages
//! up to the findings.

use std::io::BufRead;

use cosmos_model::partitioning::KeyStrategy;

pub mod advice;
mod checks;
mod command;
mod counts;
mod distribution;
mod estimates;
mod findings;
mod limits;
#[cfg(feature = "cosmos")]
mod live;
mod monitor;
mod options;
mod output;
mod population;
mod propose;
pub mod report;
pub mod request;
pub mod sample;
mod selector;
mod sketch;
mod traffic;
mod unseen;
mod words;

pub use command::run_command;
pub use options::ValidationOptions;
pub use report::CandidateReport;
pub use request::RequestKind;

use counts::SampleCounts;

/// Reads a sample to its end and returns a report for each candidate, in their order.
///
/// ```
/// use tributary_partition::{ValidationOptions, validate};
///
/// let items = "{\"id\": \"1\", \"userId\": \"ada\"}\n{\"id\": \"2\", \"userId\": \"bob\"}\n";
/// let candidates = vec!["/userId".parse()?];
/// let options = ValidationOptions::default();
/// let reports = validate(items.as_bytes(), vec![], candidates, options)?;
/// assert_eq!(reports[0].estimates.cardinality.value, 2.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn validate(
    sample: impl BufRead,
    requests: Vec<RequestKind>,
    candidates: Vec<KeyStrategy>,
    options: ValidationOptions,
) -> anyhow::Result<Vec<CandidateReport>> {
    let mut counts = SampleCounts::new(candidates, requests, options);
    sample::read(sample, |items| counts.add(items))?;
    Ok(findings::reports(&counts))
}
