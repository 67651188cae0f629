//! Windows of the hashes of partition keys.
//!
//! The service places an item by the hash of its key: 126 bits for the first level. All items of a key have one
//! hash, so a window of hashes has whole keys. A hash says nothing about its key, so the keys of a window are a
//! random sample, and a window of a hundredth of all hashes has about a hundredth of the keys.

use azure_data_cosmos::{
    feed::FeedRange,
    models::{
        EffectivePartitionKey, PartitionKey, PartitionKeyDefinition, PartitionKeyValue,
        PartitionKeyVersion,
    },
};
use cosmos_model::partitioning::{KeyStrategy, KeyValue};
use serde_json::Value;

/// The number of hashes.
const HASH_COUNT: u128 = 1 << 126;

/// The width of the first window: about 60 items of a container of 1,000 million.
const FIRST_WINDOW_WIDTH: u128 = HASH_COUNT >> 24;

/// The largest factor between the widths of two windows.
const MAX_WIDTH_FACTOR: f64 = 8.0;

/// A window of hashes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct HashWindow {
    start: u128,
    width: u128,
}

/// The windows of a sample: one after the other from a random hash on, until all hashes are in one.
#[derive(Debug)]
pub(super) struct HashWindows {
    start: u128,
    done: u128,
    kept: u128,
    width: u128,
}

impl HashWindows {
    /// Creates windows whose first one begins at a hash derived from the seed.
    pub(super) fn new(seed: u128) -> Self {
        Self { start: seed % HASH_COUNT, done: 0, kept: 0, width: FIRST_WINDOW_WIDTH }
    }

    /// Returns the next window, or `None` after the last.
    pub(super) fn next(&self) -> Option<HashWindow> {
        let left = HASH_COUNT - self.done;
        let start = (self.start + self.done) % HASH_COUNT;
        let width = self.width.min(left).min(HASH_COUNT - start);
        (width > 0).then_some(HashWindow { start, width })
    }

    /// Moves to the end of a window. The next is `factor` times as wide.
    pub(super) fn pass(&mut self, window: HashWindow, is_kept: bool, factor: f64) {
        self.done += window.width;
        if is_kept {
            self.kept += window.width;
        }
        self.width = times(window.width, factor.clamp(1.0 / MAX_WIDTH_FACTOR, MAX_WIDTH_FACTOR));
    }

    /// Returns the share of all hashes whose window was kept.
    pub(super) fn share(&self) -> f64 {
        float(self.kept) / float(HASH_COUNT)
    }

    /// Returns true when the kept windows cover all hashes.
    pub(super) fn have_all(&self) -> bool {
        self.kept == HASH_COUNT
    }
}

impl HashWindow {
    /// Returns the range for a query. The service has `FF` for the end of all hashes.
    pub(super) fn range(self) -> azure_data_cosmos::Result<FeedRange> {
        let end = self.start + self.width;
        let end = if end == HASH_COUNT { "FF".to_owned() } else { hex(end) };
        FeedRange::new(hex(self.start).try_into()?, end.try_into()?)
    }
}

/// Returns true when the container hashes its keys as windows need it. Containers from before 2019 may not.
pub(super) fn has_hashes(definition: &PartitionKeyDefinition) -> bool {
    definition.version() == PartitionKeyVersion::V2
}

/// Returns the hash of an item's key as the service computes it; `None` for an item without a key.
pub(super) fn hash(
    item: &Value,
    strategy: &KeyStrategy,
    definition: &PartitionKeyDefinition,
) -> Option<EffectivePartitionKey> {
    let key = strategy.key(item).ok()?;
    let values = key.values().iter().map(|value| match value {
        KeyValue::Undefined => Some(PartitionKeyValue::UNDEFINED),
        KeyValue::Null => Some(PartitionKeyValue::NULL),
        KeyValue::Bool(bool) => Some(PartitionKeyValue::from(*bool)),
        KeyValue::Number(number) => PartitionKeyValue::try_from(number.as_f64()?).ok(),
        KeyValue::Text(text) => Some(PartitionKeyValue::from(text.clone())),
    });
    let key = PartitionKey::try_from(values.collect::<Option<Vec<_>>>()?).ok()?;
    Some(FeedRange::for_partition(key, definition).min_inclusive().clone())
}

fn hex(hash: u128) -> String {
    format!("{hash:032X}")
}

#[expect(clippy::cast_precision_loss, reason = "a share of all hashes")]
fn float(hashes: u128) -> f64 {
    hashes as f64
}

/// Returns a width times a factor, at least 1.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "at most 8 times all hashes"
)]
fn times(width: u128, factor: f64) -> u128 {
    ((float(width) * factor) as u128).max(1)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Each hash is in one window, for any widths.
        #[test]
        fn windows_cover_all_hashes_once(seed: u128, factors in prop::collection::vec(0.0..9.0_f64, 1..40), kept: bool) {
            let mut windows = HashWindows::new(seed);
            let mut covered = Vec::new();
            let mut factors = factors.into_iter().chain(std::iter::repeat(8.0));
            while let Some(window) = windows.next() {
                covered.push((window.start, window.start + window.width));
                windows.pass(window, kept, factors.next().unwrap_or(8.0));
            }
            covered.sort_unstable();
            prop_assert_eq!(covered.first().map(|window| window.0), Some(0));
            prop_assert_eq!(covered.last().map(|window| window.1), Some(HASH_COUNT));
            prop_assert!(covered.windows(2).all(|pair| pair[0].1 == pair[1].0));
            prop_assert_eq!(windows.have_all(), kept);
            prop_assert!((windows.share() - f64::from(u8::from(kept))).abs() < 1e-12);
        }
    }

    #[test]
    fn the_hash_of_a_key_is_in_its_window_alone() {
        let definition = PartitionKeyDefinition::new(vec!["/userId".into()]);
        let strategy: KeyStrategy = "/userId".parse().unwrap();
        for item in [
            serde_json::json!({"userId": "ann"}),
            serde_json::json!({"userId": 17}),
            serde_json::json!({"userId": null}),
            serde_json::json!({}),
        ] {
            let hash = hash(&item, &strategy, &definition).unwrap();
            let mut windows = HashWindows::new(0);
            let mut found = 0;
            while let Some(window) = windows.next() {
                let range = window.range().unwrap();
                found += u32::from(*range.min_inclusive() <= hash && hash < *range.max_exclusive());
                windows.pass(window, true, 3.0);
            }
            assert_eq!(found, 1, "{item}");
        }
    }
}
