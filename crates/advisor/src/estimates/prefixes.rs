//! The physical partitions that hold the keys with one prefix.

use std::collections::HashMap;

use cosmos_model::partitioning::{Key, KeyValue};

use crate::{
    counts::candidate::CandidateCounts, limits::PHYSICAL_PARTITION_BYTES, population::KeyGroup,
};

#[derive(Debug)]
pub(super) struct KeyPrefixes<'a>(HashMap<&'a [KeyValue], f64>);

impl<'a> KeyPrefixes<'a> {
    pub(super) fn new(candidate: &CandidateCounts, partitions: &[KeyGroup<'a, ()>]) -> Self {
        let mut bytes = HashMap::new();
        let n_levels = candidate.strategy.levels().len();
        if n_levels > 1 {
            for group in partitions {
                let values = group.row.key.values();
                for length in 1..n_levels.min(values.len()) {
                    *bytes.entry(&values[..length]).or_insert(0.0) += group.all_bytes;
                }
            }
        }
        Self(bytes)
    }

    /// Returns the number of physical partitions that a prefix needs. Keys with one prefix are neighbours, and
    /// the store separates neighbours only where a physical partition would be too large.
    pub(super) fn physical_partitions(&self, prefix: &Key) -> f64 {
        let bytes = self.0.get(prefix.values()).copied().unwrap_or(0.0);
        (bytes / PHYSICAL_PARTITION_BYTES).ceil().max(1.0)
    }
}
