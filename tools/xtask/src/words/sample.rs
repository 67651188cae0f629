//! A sample that a seed repeats.

use std::hash::{DefaultHasher, Hash, Hasher};

/// Takes values at random: those with the smallest hashes of the seed and the value.
pub(super) fn sample(values: &[String], n_values: usize, seed: u64) -> Vec<&String> {
    let mut values: Vec<&String> = values.iter().collect();
    values.sort_by_cached_key(|value| {
        let mut hasher = DefaultHasher::new();
        (seed, value).hash(&mut hasher);
        hasher.finish()
    });
    values.truncate(n_values);
    values
}
