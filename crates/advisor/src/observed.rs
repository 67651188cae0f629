//! Measured reads of keys, instead of reads in proportion to items.
//!
//! 1. Exports and log lines name the logical partitions of the container's current key, with their
//!    request units. The [`MAX_OBSERVED_KEYS`] with the most are followed one by one.
//! 2. Each item of such a key has an equal part of the key's reads. So a partition of a candidate has the
//!    sum over the measured keys of their share, times the part of their items that it has. For the
//!    current key this is the measured share itself.
//! 3. The other reads, and those of keys without an item in the sample, are spread as without measurements.
//!
//! A candidate follows at most [`MAX_HOT_PARTITIONS`] partitions with items of measured keys. With more,
//! the reads of these keys are spread so widely that they make none hot.

use std::collections::HashMap;

use cosmos_model::partitioning::{Key, KeyValue};
use serde_json::Value;
use twox_hash::XxHash64;

use crate::sketch::float;

/// The measured keys that are followed.
const MAX_OBSERVED_KEYS: usize = 100;

/// The partitions of a candidate that are followed.
const MAX_HOT_PARTITIONS: usize = 10_000;

/// The shares of the hottest keys in the measured reads.
#[derive(Clone, Debug, Default)]
pub struct ObservedReads {
    /// The numbers of the keys, by the hash of the JSON array of a key, and of the text of its only value.
    by_key: HashMap<u64, usize>,
    by_text: HashMap<u64, usize>,
    shares: Vec<f64>,
}

/// The partitions of a candidate that have items of measured keys.
#[derive(Debug, Default)]
pub(crate) struct ObservedPartitions(HashMap<u64, ObservedPartition>);

#[derive(Debug)]
struct ObservedPartition {
    key: Key,
    /// The numbers of keys, each with its items in this partition.
    items: Vec<(usize, u64)>,
}

/// The measured reads of a partition.
#[derive(Debug)]
pub(crate) struct ObservedShare<'a> {
    pub(crate) key: &'a Key,
    pub(crate) hash: u64,
    /// The share of all reads.
    pub(crate) share: f64,
    /// Items of measured keys in it.
    pub(crate) items: f64,
}

impl ObservedReads {
    /// Returns the hottest of these keys with their request units, of `total`. A name is `["ada"]` as in the
    /// tables, `ada`, or its hash as in the handler's lines.
    pub(crate) fn new<'a>(keys: impl Iterator<Item = (&'a str, f64)>, total: f64) -> Option<Self> {
        let mut keys: Vec<_> = keys.filter(|(_, units)| *units > 0.0).collect();
        keys.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(b.0)));
        keys.truncate(MAX_OBSERVED_KEYS);
        let mut observed = Self::default();
        let total = keys.iter().map(|(_, units)| units).sum::<f64>().max(total);
        for (number, (name, units)) in keys.into_iter().enumerate() {
            observed.shares.push(units / total);
            match key_of(name) {
                Some(key) => observed.by_key.insert(hash(&key.to_string()), number),
                None => observed.by_text.insert(hash_in(name).unwrap_or(hash(name)), number),
            };
        }
        (!observed.shares.is_empty()).then_some(observed)
    }

    /// Returns the number of a key, where it was measured.
    pub(crate) fn number(&self, key: &Key) -> Option<usize> {
        let by_text = || match key.values() {
            [KeyValue::Text(text)] => self.by_text.get(&hash(text)),
            _ => None,
        };
        let number =
            if self.by_key.is_empty() { None } else { self.by_key.get(&hash(&key.to_string())) };
        number.or_else(by_text).copied()
    }

    /// Returns the number of measured keys.
    pub(crate) fn len(&self) -> usize {
        self.shares.len()
    }

    /// Returns the share of the reads of keys without an item in the sample. `items` are the numbers of items
    /// of each key.
    pub(crate) fn missing(&self, items: &[u64]) -> f64 {
        let missing = self.shares.iter().zip(items).filter(|(_, items)| **items == 0);
        missing.map(|(share, _)| share).sum()
    }
}

impl ObservedPartitions {
    /// Counts an item of a measured key.
    pub(crate) fn add(&mut self, hash: u64, number: usize, key: impl FnOnce() -> Key) {
        if self.0.len() >= MAX_HOT_PARTITIONS && !self.0.contains_key(&hash) {
            return;
        }
        let new = || ObservedPartition { key: key(), items: Vec::new() };
        let items = &mut self.0.entry(hash).or_insert_with(new).items;
        match items.iter_mut().find(|(known, _)| *known == number) {
            Some((_, n)) => *n += 1,
            None => items.push((number, 1)),
        }
    }

    /// Returns the share of each partition in the reads. `items` are the numbers of items of each key in the
    /// sample.
    pub(crate) fn shares(&self, observed: &ObservedReads, items: &[u64]) -> Vec<ObservedShare<'_>> {
        let share = |(number, n): &(usize, u64)| {
            observed.shares[*number] * float(*n) / float(items[*number].max(1))
        };
        let shares = self.0.iter().map(|(hash, partition)| ObservedShare {
            key: &partition.key,
            hash: *hash,
            share: partition.items.iter().map(share).sum(),
            items: float(partition.items.iter().map(|(_, n)| n).sum()),
        });
        let mut shares: Vec<_> = shares.collect();
        // The same order of the sums in each run.
        shares.sort_unstable_by_key(|one| one.hash);
        shares
    }
}

/// Returns the key of which a name is the JSON array.
fn key_of(name: &str) -> Option<Key> {
    let values: Vec<Value> = serde_json::from_str(name).ok()?;
    Some(
        values
            .iter()
            .map(|value| KeyValue::from_property(Some(value)).unwrap_or(KeyValue::Undefined))
            .collect(),
    )
}

/// Returns the hash that a name is: 16 hexadecimal digits in lower case.
fn hash_in(name: &str) -> Option<u64> {
    let is_hash = name.len() == 16 && name.bytes().all(|byte| b"0123456789abcdef".contains(&byte));
    is_hash.then(|| u64::from_str_radix(name, 16).ok()).flatten()
}

/// Returns the hash of a key as in the handler's lines.
fn hash(text: &str) -> u64 {
    XxHash64::oneshot(0, text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The handler pins the same hash: `crates/tributary-functions/src/telemetry/partitions/`.
    #[test]
    fn a_key_is_found_by_its_array_its_text_and_its_hash() {
        for name in [r#"["ann"]"#, r#"[ "ann" ]"#, "ann", "0b41beba40346ebe"] {
            let observed = ObservedReads::new([(name, 3.0)].into_iter(), 4.0).unwrap();
            assert_eq!(observed.number(&Key::from("ann")), Some(0), "{name}");
            assert_eq!(observed.number(&Key::from("bob")), None, "{name}");
            assert!((observed.missing(&[0]) - 0.75).abs() < 1e-9, "{name}");
        }
    }

    #[test]
    fn the_reads_of_a_key_go_where_its_items_are() {
        let keys = [(r#"["ann"]"#, 6.0), (r#"["bob"]"#, 2.0)];
        let observed = ObservedReads::new(keys.into_iter(), 8.0).unwrap();
        let mut hot = ObservedPartitions::default();
        for (partition, number) in [(1, 0), (1, 0), (2, 0), (2, 1), (3, 0)] {
            hot.add(partition, number, || Key::from("any"));
        }
        let shares = hot.shares(&observed, &[4, 1]);
        let shares: Vec<_> = shares.iter().map(|one| (one.hash, one.share, one.items)).collect();
        assert_eq!(shares, [(1, 0.375, 2.0), (2, 0.4375, 2.0), (3, 0.1875, 1.0)]);
    }
}
