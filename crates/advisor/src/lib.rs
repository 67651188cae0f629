#![doc = include_str!("../README.md")]
//!
//! # The stages
//!
//! Advice is the end of a pipe. Each stage has a module and a type, and one function leads to the next:
//!
//! | stage | module | type | next |
//! | --- | --- | --- | --- |
//! | sample | [`sample`] | [`SampleItem`](sample::SampleItem) | [`SampleCounts::add`] |
//! | counts | [`counts`] | [`SampleCounts`] | [`Estimates::new`] |
//! | estimates | [`estimates`] | [`Estimates`], with [`CandidateEstimates`](report::CandidateEstimates) | [`findings::find`] |
//! | findings | [`findings`] | [`CandidateReport`]: the estimates and the findings about them | [`Advice::new`](advice::Advice::new) |
//! | advice | [`advice`] | [`Advice`](advice::Advice) | [`output`] |
//!
//! [`validate`] runs the stages up to the findings.

use std::io::BufRead;

use cosmos_model::partitioning::KeyStrategy;

// The input.
pub mod request;
pub mod sample;
pub mod selector;
pub mod traffic;

// The counts: one pass over the sample.
pub mod counts;
mod options;
mod sketch;

// The estimates and the findings.
mod checks;
mod distribution;
pub mod estimates;
pub mod findings;
mod limits;
mod population;
pub mod report;
mod unseen;
mod words;

// Candidates and advice.
pub mod advice;
pub mod output;
pub mod propose;

// A container in operation.
#[cfg(feature = "cosmos")]
pub mod live;
pub mod monitor;

pub use counts::SampleCounts;
pub use estimates::Estimates;
pub use options::ValidationOptions;
pub use report::CandidateReport;
pub use request::RequestKind;

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
    let estimates = Estimates::new(&counts);
    Ok(findings::find(estimates))
}
