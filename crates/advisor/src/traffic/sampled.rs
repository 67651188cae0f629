//! A map of bounded size: beyond it, the keys with the smallest hashes.

use std::collections::BTreeMap;

use twox_hash::XxHash64;

/// A map with a bounded number of keys, which keeps each key with the same probability.
///
/// 1. A key is kept while its hash is at most the greatest that is allowed.
/// 2. When there are too many, the greatest is dropped, and no hash from it on is allowed any more.
/// 3. So at each moment the map holds exactly the keys that it has seen whose hash is allowed, in
///    any order of the keys: no key was dropped and then taken anew with a part of its value.
#[derive(Debug)]
pub(super) struct SampledMap<V> {
    most: usize,
    /// Hashes below this are kept.
    below: Option<u64>,
    values: BTreeMap<u64, (String, V)>,
}

impl<V: Default> SampledMap<V> {
    pub(super) fn new(most: usize) -> Self {
        Self { most, below: None, values: BTreeMap::new() }
    }

    /// Changes the value of a key, if the map keeps the key.
    pub(super) fn change(&mut self, key: &str, change: impl FnOnce(&mut V)) {
        let hash = hash(key);
        if self.below.is_some_and(|below| hash >= below) {
            return;
        }
        let entry = self.values.entry(hash).or_insert_with(|| (key.to_owned(), V::default()));
        change(&mut entry.1);
        if self.values.len() > self.most
            && let Some((greatest, _)) = self.values.pop_last()
        {
            self.below = Some(greatest);
        }
    }

    /// Returns true when no key was dropped.
    pub(super) fn is_whole(&self) -> bool {
        self.below.is_none()
    }

    /// Returns the share of the keys that are kept.
    pub(super) fn share(&self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "a share needs no more than 53 bits")]
        self.below.map_or(1.0, |below| below as f64 / u64::MAX as f64)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &V)> {
        self.values.values().map(|(key, value)| (key.as_str(), value))
    }
}

/// Returns the hash of a key.
pub(super) fn hash(key: &str) -> u64 {
    XxHash64::oneshot(0, key.as_bytes())
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Without the bound on hashes, a dropped key would return with a part of its rows.
        #[test]
        fn kept_keys_have_all_their_rows(
            keys in prop::collection::vec(0..60_u8, 0..300),
            most in 1..40_usize,
        ) {
            let mut sampled = SampledMap::<u32>::new(most);
            let mut all = HashMap::<String, u32>::new();
            for key in &keys {
                let key = format!("key-{key}");
                sampled.change(&key, |n| *n += 1);
                *all.entry(key).or_default() += 1;
            }
            prop_assert_eq!(sampled.iter().count(), all.len().min(most));
            prop_assert_eq!(sampled.is_whole(), all.len() <= most);
            for (key, n) in sampled.iter() {
                prop_assert_eq!(Some(n), all.get(key));
            }
        }
    }
}
