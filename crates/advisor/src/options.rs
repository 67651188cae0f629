//! What is known of a container beside its sample.

use tributary_charges::policy::IndexingPolicy;
use tributary_partitioning::{KeyStrategy, path::Path};

use crate::observed::ObservedReads;

/// What is known beside the sample.
#[derive(Clone, Debug, Default)]
pub struct ValidationOptions {
    /// The property that tells when an item was created. Without any `/_ts`, unless all items were
    /// written within a day.
    pub time: Option<Path>,
    /// The partition key that the container has. With the id it tells apart the items of the sample.
    pub current: Option<KeyStrategy>,
    /// Items of the whole container; those of the sample when this is not given.
    pub items_in_container: Option<u64>,
    /// The key of which whole values were drawn, where the sample has fewer items than the container.
    /// Without any, each item was drawn with the same probability.
    pub whole_keys: Option<KeyStrategy>,
    /// New items a day in the container; otherwise the frequencies of what creates, without what deletes.
    pub items_per_day: Option<f64>,
    /// Physical partitions of the container; otherwise as many as its size and its request units need.
    pub physical_partitions: Option<u32>,
    /// Request units a second at the busiest time, over the mean; otherwise that of the writes in the
    /// sample, where they have a time.
    pub peak_over_mean: Option<f64>,
    /// How much the keys of `current` are read, where it was measured; otherwise in proportion to items.
    pub reads: Option<ObservedReads>,
    /// The indexing policy, on which the charge of a write depends: `indexingPolicy` of a container's
    /// definition.
    pub indexing_policy: IndexingPolicy,
}
