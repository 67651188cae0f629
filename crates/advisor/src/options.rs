//! The facts about a container beside its sample.

use cosmos_model::charges::policy::IndexingPolicy;
use cosmos_model::partitioning::{KeyStrategy, path::PropertyPath};

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
