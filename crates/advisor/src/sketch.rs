//! Counts by key in bounded memory, by two sketches of Apache DataSketches: exact for few keys, sampled for many.
//!
//! 1. The tuple sketch is exact while there are fewer than [`MAX_EXACT_KEYS`] keys. With more it keeps those whose hash
//!    is below a bound, which only sinks: so their counts are exact, and they are a uniform sample of all keys, of
//!    which each stands for 1 / bound.
//! 2. A uniform sample misses the few large keys that matter most. So from then on the sizes go into a sketch of the
//!    frequent items, too. With the item by which a key passes 1 / [`FREQUENT_SHARE`] of the size so far, it is
//!    found, and counted on its own; its earlier size is known to within 1 / 1,170 of the whole. So each key with
//!    0.3 % of the whole is found. One that has become small goes back into the sketch.

use std::{
    collections::HashMap,
    hash::{Hash, Hasher},
};

use cosmos_model::partitioning::Key;
use datasketches::{
    common::NumStdDev,
    frequencies::FrequentItemsSketch,
    tuple::{SummaryPolicy, SummaryUpdatePolicy, TupleSketch, TupleSketchBuilder},
};
use twox_hash::XxHash64;

use crate::{report::EstimatedNumber, words::float};

pub(crate) const MAX_EXACT_KEYS: usize = 1 << LG_EXACT_KEYS;
const LG_EXACT_KEYS: u8 = 14;

/// Slots of the sketch of frequent items; its error is at most 3.5 / slots of the weight.
const FREQUENT_SKETCH_SLOTS: usize = 1 << 12;

/// A key with more than this part of the whole size is frequent.
const FREQUENT_SHARE: u32 = 500;

/// From so many on, those with less than half of a frequent size go back: at most 2 × [`FREQUENT_SHARE`] stay.
const MAX_FREQUENT_KEYS: usize = 2_000;

/// The bytes that each item counts in addition, so that many small items are frequent, too.
const EXTRA_ITEM_BYTES: u64 = 1_024;

/// The slots in which the time of `{"last": …}` is counted.
const WINDOW_SLOTS: i64 = 32;

#[derive(Debug)]
pub(crate) struct KeyCounts {
    kept: TupleSketch<CountPolicy>,
    frequent: Option<FrequentKeys>,
    items: u64,
    bytes: u64,
}

#[derive(Clone, Debug, Default)]
struct KeyCount {
    key: Key,
    hash: u64,
    items: u64,
    bytes: u64,
    /// The cluster of its first item, and the number of items in others.
    cluster: u32,
    elsewhere: u64,
    slots: TimeSlots,
}

#[derive(Clone, Debug)]
pub(crate) struct KeyRow<'a> {
    pub(crate) key: &'a Key,
    pub(crate) hash: u64,
    pub(crate) items: f64,
    pub(crate) bytes: f64,
    /// Its items by time. `None` for a key that only the sketch of frequent items has.
    pub(crate) slots: Option<&'a TimeSlots>,
    pub(crate) keys: f64,
    /// The number of clusters of its items, estimated from the part in the cluster of the first.
    pub(crate) clusters: f64,
}

/// The keys that are frequent, by their hash, and the sketch that finds them.
#[derive(Debug)]
struct FrequentKeys {
    found: HashMap<u64, KeyCount>,
    sizes: FrequentItemsSketch<u64>,
}

#[derive(Debug)]
struct CountPolicy;

impl SummaryPolicy for CountPolicy {
    type Summary = KeyCount;

    fn create(&self) -> KeyCount {
        KeyCount::default()
    }
}

impl<F: FnOnce(&mut KeyCount)> SummaryUpdatePolicy<F> for CountPolicy {
    fn update(&self, summary: &mut KeyCount, update: F) {
        update(summary);
    }
}

impl KeyCounts {
    pub(crate) fn new() -> Self {
        let builder = TupleSketchBuilder::new(CountPolicy).lg_k(LG_EXACT_KEYS);
        #[expect(clippy::expect_used, reason = "the size is a constant that the sketch allows")]
        let kept = builder.build().expect("a size between 5 and 26");
        Self { kept, frequent: None, items: 0, bytes: 0 }
    }

    /// Counts an item under the key with this hash, and in the `slot` of its time, if any, while the newest slot is
    /// `newest`. `key` makes the key where it must be kept, and items that were drawn together share a `cluster`.
    pub(crate) fn add(
        &mut self,
        hash: u64,
        key: impl Fn() -> Key,
        bytes: u64,
        cluster: u32,
        slot: Option<(i64, i64)>,
    ) {
        self.items += 1;
        self.bytes += bytes;
        self.kept.update(hash, |counts: &mut KeyCount| {
            counts.count(hash, &key, bytes, cluster);
            if let Some((slot, newest)) = slot {
                counts.slots.add(slot, newest);
            }
        });
        let bound = frequent(self.whole());
        let Some(FrequentKeys { found, sizes }) = &mut self.frequent else {
            if self.kept.num_retained() >= MAX_EXACT_KEYS {
                self.frequent = Some(self.all_so_far());
            }
            return;
        };
        if let Some(counts) = found.get_mut(&hash) {
            counts.count(hash, &key, bytes, cluster);
            return;
        }
        sizes.update_with_count(hash, size_of(1, bytes));
        if sizes.lower_bound(&hash) > bound {
            let size = u64::midpoint(sizes.lower_bound(&hash), sizes.upper_bound(&hash));
            // Its items are taken to be as large as this one.
            let items = size / size_of(1, bytes);
            let bytes = size.saturating_sub(items * EXTRA_ITEM_BYTES);
            let count = KeyCount { key: key(), hash, items, bytes, cluster, ..KeyCount::default() };
            found.insert(hash, count);
        }
        if found.len() > MAX_FREQUENT_KEYS {
            found.retain(|hash, counts| {
                let size = size_of(counts.items, counts.bytes);
                let stays = size > bound / 2;
                if !stays {
                    sizes.update_with_count(*hash, size);
                }
                stays
            });
        }
    }

    fn whole(&self) -> u64 {
        size_of(self.items, self.bytes)
    }

    /// The tuple sketch still has all keys: it keeps almost twice its size.
    fn all_so_far(&self) -> FrequentKeys {
        let whole = self.whole();
        #[expect(clippy::expect_used, reason = "the size is a constant that the sketch allows")]
        let mut sizes = FrequentItemsSketch::new(FREQUENT_SKETCH_SLOTS).expect("a power of two");
        let mut found = HashMap::new();
        for entry in self.kept.iter() {
            let counts = entry.summary();
            let size = size_of(counts.items, counts.bytes);
            if size > frequent(whole) {
                found.insert(counts.hash, counts.clone());
            } else {
                sizes.update_with_count(counts.hash, size);
            }
        }
        FrequentKeys { found, sizes }
    }

    pub(crate) fn cardinality(&self) -> EstimatedNumber {
        EstimatedNumber {
            value: self.kept.estimate(),
            exact: !self.kept.is_estimation_mode(),
            low: self.kept.lower_bound(NumStdDev::Two),
            high: self.kept.upper_bound(NumStdDev::Two),
        }
    }

    pub(crate) fn rows(&self) -> Vec<KeyRow<'_>> {
        let frequent = self.frequent.as_ref().filter(|_| self.kept.is_estimation_mode());
        let mut frequent: HashMap<u64, &KeyCount> = frequent
            .into_iter()
            .flat_map(|frequent| &frequent.found)
            .map(|(hash, counts)| (*hash, counts))
            .collect();
        let keys_of_a_row = 1.0 / self.kept.theta();
        let mut rows = Vec::with_capacity(self.kept.num_retained() + frequent.len());
        for entry in self.kept.iter() {
            let counts = entry.summary();
            let is_frequent = frequent.remove(&counts.hash).is_some();
            let keys = if is_frequent { 1.0 } else { keys_of_a_row };
            rows.push(counts.row(Some(&counts.slots), keys));
        }
        rows.extend(frequent.into_values().map(|counts| counts.row(None, 1.0)));
        rows
    }
}

fn frequent(whole: u64) -> u64 {
    whole / u64::from(FREQUENT_SHARE)
}

fn size_of(items: u64, bytes: u64) -> u64 {
    bytes + items * EXTRA_ITEM_BYTES
}

impl KeyCount {
    fn count(&mut self, hash: u64, key: impl Fn() -> Key, bytes: u64, cluster: u32) {
        if self.key.values().is_empty() {
            (self.hash, self.key) = (hash, key());
            self.cluster = cluster;
        }
        self.elsewhere += u64::from(cluster != self.cluster);
        self.items += 1;
        self.bytes += bytes;
    }

    fn row<'a>(&'a self, slots: Option<&'a TimeSlots>, keys: f64) -> KeyRow<'a> {
        let items = float(self.items);
        let here = self.items.saturating_sub(self.elsewhere).max(1);
        let clusters =
            if self.elsewhere == 0 { 1.0 } else { (items / float(here)).round().max(2.0) };
        let bytes = float(self.bytes);
        KeyRow { key: &self.key, hash: self.hash, items, bytes, slots, keys, clusters }
    }
}

pub(crate) fn hash(value: &(impl Hash + ?Sized)) -> u64 {
    let mut hasher = XxHash64::with_seed(0);
    value.hash(&mut hasher);
    hasher.finish()
}

/// Items by time, as far as a request for the last days can find them: the number of a slot, and its items.
#[derive(Clone, Debug, Default)]
pub(crate) struct TimeSlots(Vec<(i64, u32)>);

impl TimeSlots {
    pub(crate) fn add(&mut self, slot: i64, newest: i64) {
        if slot < newest - WINDOW_SLOTS {
            return;
        }
        if let Some((_, items)) = self.0.iter_mut().rev().find(|(known, _)| *known == slot) {
            *items = items.saturating_add(1);
        } else {
            self.0.retain(|(known, _)| *known >= newest - WINDOW_SLOTS);
            self.0.push((slot, 1));
        }
    }

    /// Returns the items of the last `seconds` before `newest`, the oldest slot in proportion.
    pub(crate) fn since(&self, newest: i64, seconds: i64) -> f64 {
        let length = slot_seconds(seconds);
        let start = newest - seconds;
        let within = self.0.iter().map(|&(slot, items)| {
            let end = (slot + 1) * length;
            let overlap = (end - start).clamp(0, length);
            f64::from(items) * float(overlap.unsigned_abs()) / float(length.unsigned_abs())
        });
        within.sum()
    }
}

pub(crate) fn slot_seconds(window: i64) -> i64 {
    (window / WINDOW_SLOTS).max(1)
}

/// A uniform sample of a stream by the hash of each element: all while there are at most `most`.
#[derive(Clone, Debug)]
pub(crate) struct UniformSample<T> {
    most: usize,
    below: u64,
    kept: Vec<(u64, T)>,
}

impl<T> UniformSample<T> {
    pub(crate) fn new(most: usize) -> Self {
        Self { most, below: u64::MAX, kept: Vec::new() }
    }

    pub(crate) fn offer(&mut self, hash: u64, make: impl FnOnce() -> T) {
        if hash >= self.below {
            return;
        }
        self.kept.push((hash, make()));
        while self.kept.len() > self.most {
            self.below /= 2;
            let below = self.below;
            self.kept.retain(|(hash, _)| *hash < below);
        }
    }

    pub(crate) fn is_all(&self) -> bool {
        self.below == u64::MAX
    }

    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = &T> {
        self.kept.iter().map(|(_, element)| element)
    }
}

#[cfg(test)]
mod tests;
