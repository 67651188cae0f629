#![doc = include_str!("../README.md")]
//!
//! # The stages
//!
//! Advice is the end of a pipe: a sample (`sample`) is counted in one pass (`counts`), which gives the estimates of each
//! candidate (`estimates`), the findings about them (`findings`), and the `advice`. [`validate`] runs the stages
//! up to the findings.

use std::io::BufRead;

use cosmos_model::charges::policy::IndexingPolicy;
use cosmos_model::partitioning::{KeyStrategy, path::PropertyPath};

mod advice;
mod checks;
mod command;
mod counts;
mod distribution;
mod estimates;
mod findings;
#[cfg(feature = "cosmos")]
mod live;
mod monitor;
mod output;
mod population;
mod propose;
mod report;
mod request;
mod sample;
mod selector;
mod sketch;
mod source;
#[cfg(test)]
mod tests;
mod traffic;
mod unseen;
mod words;

pub use command::run_command;
pub use report::CandidateReport;
pub use request::RequestKind;

use counts::SampleCounts;

/// The options of a validation: the facts about a container beside its sample.
#[derive(Clone, Debug, Default)]
pub struct ValidationOptions {
    /// The property with the time of creation. The default is `/_ts`, unless all items were written within a
    /// day.
    pub time: Option<PropertyPath>,
    /// Items of the whole container. The default is the number in the sample.
    pub items_in_container: Option<u64>,
    /// The key whose values were drawn whole, where the sample has fewer items than the container. Without
    /// one, each item was drawn with the same probability.
    pub whole_keys: Option<KeyStrategy>,
    /// New items a day in the container. The default is the frequency of the creates less that of the deletes.
    pub items_per_day: Option<f64>,
    /// Physical partitions of the container. The default is the number that its size and its request units need.
    pub physical_partitions: Option<u32>,
    /// The indexing policy, which decides the charge of a write: `indexingPolicy` of a container's definition.
    pub indexing_policy: IndexingPolicy,
}

/// Reads a sample to its end and returns a report for each candidate, in their order.
///
/// ```
/// use tributary_partition::{ValidationOptions, validate};
///
/// let items = "{\"id\": \"1\", \"userId\": \"ada\"}\n{\"id\": \"2\", \"userId\": \"bob\"}\n";
/// let candidates = vec!["/userId".parse()?];
/// let options = ValidationOptions::default();
/// let reports = validate(items.as_bytes(), vec![], candidates, options)?;
/// assert_eq!(serde_json::to_value(&reports[0])?["cardinality"]["value"], 2.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn validate(
    sample: impl BufRead,
    requests: Vec<RequestKind>,
    candidates: Vec<KeyStrategy>,
    options: ValidationOptions,
) -> anyhow::Result<Vec<CandidateReport>> {
    let mut counts = SampleCounts::new(candidates, requests, options);
    sample::read(source::text(sample)?, |items| counts.add(items))?;
    Ok(findings::reports(&counts))
}
