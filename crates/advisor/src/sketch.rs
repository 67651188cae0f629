//! Counts by key in bounded memory: exact for few keys, sampled for many.
//!
//! Both sketches are those of Apache DataSketches. Why their numbers are right:
//!
//! 1. The tuple sketch keeps all keys while there are fewer than [`EXACT`]. Everything is exact then.
//! 2. With more keys it keeps those whose hash is below a bound, which only sinks. A key that is kept
//!    at the end was below the bound at its first item, so its counts are exact; and a hash does not
//!    depend on the counts, so the kept keys are a uniform sample of all keys. Each stands for
//!    1 / bound keys.
//! 3. A uniform sample misses the few large keys that matter most. So from [`EXACT`] keys on, the
//!    sizes go into a sketch of the frequent items, too. After each batch a key with more than
//!    1 / [`FREQUENT_SHARE`] of the size so far is found, and from then on counted by itself; the
//!    sketch knows its earlier size to within 1 / 1,170 of the whole. It stands for itself, and the
//!    sample for the others.
//! 4. A key passes that bound only by an item of its own, since the bound only rises and the sketch
//!    only lowers the others. So the batch in which a key is found has an item of it, which tells its
//!    name, however late or close together its items come. A key with 0.3 % of the whole passes the
//!    bound with its last item at the latest: 0.3 % less the error is more than 1 / [`FREQUENT_SHARE`].
//! 5. A found key that has become small goes back into the sketch with its size: as many keys are
//!    found as are frequent at one time, not at some time.
//!
//! The order of the items decides nothing in 1, and only the last digits from 2 on.

use std::{
    collections::HashMap,
    hash::{Hash, Hasher},
};

use datasketches::{
    common::NumStdDev,
    frequencies::{ErrorType, FrequentItemsSketch},
    tuple::{SummaryPolicy, SummaryUpdatePolicy, TupleSketch, TupleSketchBuilder},
};
use tributary_partitioning::Key;
use twox_hash::XxHash64;

use crate::report::Estimate;

/// Keys up to which all counts are exact.
pub(crate) const EXACT: usize = 1 << LG_EXACT;
const LG_EXACT: u8 = 14;

/// Slots of the sketch of frequent items; its error is at most 3.5 / slots of the weight.
const FREQUENT: usize = 1 << 12;

/// A key with more than this part of the whole size is frequent.
const FREQUENT_SHARE: u32 = 500;

/// From so many found keys on, those with less than half of a frequent key's size go back into the
/// sketch: at most 2 × [`FREQUENT_SHARE`] stay.
const MOST_FREQUENT: usize = 2_000;

/// The size of an item counts as its bytes and so many more, so that many small items are frequent, too.
const ITEM_SIZE: u64 = 1_024;

/// Counts by key.
#[derive(Debug)]
pub(crate) struct Tally<S: Default> {
    kept: TupleSketch<Policy<S>>,
    frequent: Option<Frequent>,
    items: u64,
    bytes: u64,
}

/// The counts of one key.
#[derive(Clone, Debug, Default)]
struct Counts<S> {
    key: Key,
    hash: u64,
    items: u64,
    bytes: u64,
    /// The cluster of its first item, and how many items have another one.
    cluster: u32,
    elsewhere: u64,
    more: S,
}

/// A key, or a sampled key that stands for several.
#[derive(Clone, Debug)]
pub(crate) struct Row<'a, S> {
    pub(crate) key: &'a Key,
    pub(crate) hash: u64,
    pub(crate) items: f64,
    pub(crate) bytes: f64,
    /// What else is counted; `None` where only the frequent items tell of the key.
    pub(crate) more: Option<&'a S>,
    /// So many keys does this row stand for.
    pub(crate) keys: f64,
    /// In so many clusters its items are, as far as the cluster of the first tells: of each as many.
    pub(crate) clusters: f64,
}

/// The keys that are frequent, by their hash, and the sketch that finds them.
#[derive(Debug)]
struct Frequent {
    found: HashMap<u64, Counts<()>>,
    sizes: FrequentItemsSketch<u64>,
}

/// Updates a summary by whatever function comes with the key.
#[derive(Debug)]
struct Policy<S>(std::marker::PhantomData<S>);

impl<S: Default> SummaryPolicy for Policy<S> {
    type Summary = Counts<S>;

    fn create(&self) -> Counts<S> {
        Counts::default()
    }
}

impl<S: Default, F: FnOnce(&mut Counts<S>)> SummaryUpdatePolicy<F> for Policy<S> {
    fn update(&self, summary: &mut Counts<S>, update: F) {
        update(summary);
    }
}

impl<S: Default> Tally<S> {
    pub(crate) fn new() -> Self {
        let builder = TupleSketchBuilder::new(Policy(std::marker::PhantomData)).lg_k(LG_EXACT);
        #[expect(clippy::expect_used, reason = "the size is a constant that the sketch allows")]
        let kept = builder.build().expect("a size between 5 and 26");
        Self { kept, frequent: None, items: 0, bytes: 0 }
    }

    /// Counts an item of so many bytes under the key of this hash, and lets `more` count what else there
    /// is. `key` makes the key where it must be kept. `cluster` is the same for items that were drawn
    /// together.
    pub(crate) fn add(
        &mut self,
        hash: u64,
        key: impl Fn() -> Key,
        bytes: u64,
        cluster: u32,
        more: impl FnOnce(&mut S),
    ) {
        self.items += 1;
        self.bytes += bytes;
        self.kept.update(hash, |counts: &mut Counts<S>| {
            counts.count(hash, &key, bytes, cluster);
            more(&mut counts.more);
        });
        match &mut self.frequent {
            Some(Frequent { found, sizes }) => match found.get_mut(&hash) {
                Some(counts) => counts.count(hash, &key, bytes, cluster),
                None => sizes.update_with_count(hash, bytes + ITEM_SIZE),
            },
            None if self.kept.num_retained() >= EXACT => self.frequent = Some(self.all_so_far()),
            None => {}
        }
    }

    /// Looks for keys that have become frequent; to be called after each batch. `of_batch` returns the
    /// key with a hash, and the items and bytes that the batch has of it.
    pub(crate) fn find_frequent(&mut self, of_batch: impl Fn(u64) -> Option<(Key, u64, u64)>) {
        let whole = self.whole();
        let Some(Frequent { found, sizes }) = &mut self.frequent else { return };
        let certain = ErrorType::NoFalsePositives;
        for row in sizes.frequent_items_with_threshold(certain, frequent(whole)) {
            let hash = *row.item();
            if found.contains_key(&hash) {
                continue;
            }
            let Some((key, items, bytes)) = of_batch(hash) else { continue };
            let size = u64::midpoint(row.lower_bound(), row.upper_bound());
            // Its items are taken to be as large as those of the batch.
            let items = size * items / size_of(items, bytes).max(1);
            let bytes = size.saturating_sub(items * ITEM_SIZE);
            found.insert(hash, Counts { key, hash, items, bytes, ..Counts::default() });
        }
        if found.len() > MOST_FREQUENT {
            found.retain(|hash, counts| {
                let size = size_of(counts.items, counts.bytes);
                let stays = size > frequent(whole) / 2;
                if !stays {
                    sizes.update_with_count(*hash, size);
                }
                stays
            });
        }
    }

    /// Returns the size of all items.
    fn whole(&self) -> u64 {
        size_of(self.items, self.bytes)
    }

    /// Returns the frequent keys of all that is kept, while it is all: the tuple sketch keeps almost twice
    /// its size.
    fn all_so_far(&self) -> Frequent {
        let whole = self.whole();
        #[expect(clippy::expect_used, reason = "the size is a constant that the sketch allows")]
        let mut sizes = FrequentItemsSketch::new(FREQUENT).expect("a power of two");
        let mut found = HashMap::new();
        for entry in self.kept.iter() {
            let counts = entry.summary();
            let size = size_of(counts.items, counts.bytes);
            if size > frequent(whole) {
                found.insert(counts.hash, counts.without_more());
            } else {
                sizes.update_with_count(counts.hash, size);
            }
        }
        Frequent { found, sizes }
    }

    /// Returns the number of keys.
    pub(crate) fn cardinality(&self) -> Estimate {
        Estimate {
            value: self.kept.estimate(),
            exact: !self.kept.is_estimation_mode(),
            low: self.kept.lower_bound(NumStdDev::Two),
            high: self.kept.upper_bound(NumStdDev::Two),
        }
    }

    /// Returns a row for each key that is kept or frequent, in no order.
    pub(crate) fn rows(&self) -> Vec<Row<'_, S>> {
        let frequent = self.frequent.as_ref().filter(|_| self.kept.is_estimation_mode());
        let mut frequent: HashMap<u64, &Counts<_>> = frequent
            .into_iter()
            .flat_map(|frequent| &frequent.found)
            .map(|(hash, counts)| (*hash, counts))
            .collect();
        let keys_of_a_row = 1.0 / self.kept.theta();
        let mut rows = Vec::with_capacity(self.kept.num_retained() + frequent.len());
        for entry in self.kept.iter() {
            let counts = entry.summary();
            let Counts { key, hash, items, bytes, more, .. } = counts;
            let is_frequent = frequent.remove(hash).is_some();
            rows.push(Row {
                key,
                hash: *hash,
                items: float(*items),
                bytes: float(*bytes),
                more: Some(more),
                keys: if is_frequent { 1.0 } else { keys_of_a_row },
                clusters: counts.clusters(),
            });
        }
        for counts in frequent.into_values() {
            let (items, bytes) = (float(counts.items), float(counts.bytes));
            rows.push(Row {
                key: &counts.key,
                hash: counts.hash,
                items,
                bytes,
                more: None,
                keys: 1.0,
                clusters: counts.clusters(),
            });
        }
        rows
    }
}

/// Returns the size from which on a key is frequent.
fn frequent(whole: u64) -> u64 {
    whole / u64::from(FREQUENT_SHARE)
}

fn size_of(items: u64, bytes: u64) -> u64 {
    bytes + items * ITEM_SIZE
}

impl<S> Counts<S> {
    fn count(&mut self, hash: u64, key: impl Fn() -> Key, bytes: u64, cluster: u32) {
        if self.key.values().is_empty() {
            (self.hash, self.key) = (hash, key());
            self.cluster = cluster;
        }
        self.elsewhere += u64::from(cluster != self.cluster);
        self.items += 1;
        self.bytes += bytes;
    }

    fn without_more(&self) -> Counts<()> {
        Counts {
            key: self.key.clone(),
            hash: self.hash,
            items: self.items,
            bytes: self.bytes,
            cluster: self.cluster,
            elsewhere: self.elsewhere,
            more: (),
        }
    }

    fn clusters(&self) -> f64 {
        let here = self.items.saturating_sub(self.elsewhere).max(1);
        if self.elsewhere == 0 { 1.0 } else { (float(self.items) / float(here)).round().max(2.0) }
    }
}

/// A uniform sample of a stream by the hash of each element: at most `most`, and all while there are
/// no more.
#[derive(Clone, Debug)]
pub(crate) struct Sampled<T> {
    most: usize,
    below: u64,
    kept: Vec<(u64, T)>,
}

impl<T> Sampled<T> {
    pub(crate) fn new(most: usize) -> Self {
        Self { most, below: u64::MAX, kept: Vec::new() }
    }

    /// Keeps what `make` returns if its hash is low enough.
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

    /// Returns true if nothing was left out.
    pub(crate) fn is_all(&self) -> bool {
        self.below == u64::MAX
    }

    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = &T> {
        self.kept.iter().map(|(_, one)| one)
    }
}

/// Returns a hash that depends on the value alone.
pub(crate) fn hash(value: &(impl Hash + ?Sized)) -> u64 {
    let mut hasher = XxHash64::with_seed(0);
    value.hash(&mut hasher);
    hasher.finish()
}

/// Returns a count as a float; counts here are far below 2^53.
#[expect(clippy::cast_precision_loss, reason = "counts here are far below 2^53")]
pub(crate) fn float(count: u64) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tributary_partitioning::KeyValue;

    use super::*;

    fn key(n: u64) -> Key {
        std::iter::once(KeyValue::Text(n.to_string())).collect()
    }

    fn tally(items: impl IntoIterator<Item = (u64, u64)>) -> Tally<u64> {
        in_batches(&items.into_iter().collect::<Vec<_>>(), 1_000)
    }

    fn tally_in_batches(keys: &[u64], batch: usize) -> Tally<u64> {
        in_batches(&keys.iter().map(|k| (*k, 100)).collect::<Vec<_>>(), batch)
    }

    fn in_batches(items: &[(u64, u64)], batch: usize) -> Tally<u64> {
        let mut tally = Tally::new();
        for items in items.chunks(batch) {
            for &(k, bytes) in items {
                tally.add(hash(&k), || key(k), bytes, 0, |more| *more += 1);
            }
            tally.find_frequent(|wanted| {
                let of_key = items.iter().filter(|(k, _)| hash(k) == wanted);
                let (k, _) = of_key.clone().next()?;
                Some((key(*k), of_key.clone().count() as u64, of_key.map(|(_, bytes)| bytes).sum()))
            });
        }
        tally
    }

    proptest! {
        #[test]
        fn few_keys_are_counted_exactly(
            items in prop::collection::vec((0..50_u64, 0..10_000_u64), 0..500),
        ) {
            let mut expected = HashMap::<u64, (u64, u64)>::new();
            for (k, bytes) in &items {
                let entry = expected.entry(*k).or_default();
                *entry = (entry.0 + 1, entry.1 + bytes);
            }
            let tally = tally(items);
            prop_assert_eq!(tally.cardinality(), Estimate::exact(float(expected.len() as u64)));
            for row in tally.rows() {
                let [KeyValue::Text(k)] = row.key.values() else { unreachable!("a text") };
                let (items, bytes) = expected.remove(&k.parse().unwrap()).unwrap();
                prop_assert_eq!((row.items, row.bytes, row.keys), (float(items), float(bytes), 1.0));
                prop_assert_eq!(row.more, Some(&items));
            }
            prop_assert!(expected.is_empty());
        }

        #[test]
        fn a_sample_is_bounded_and_depends_on_no_order(
            mut hashes in prop::collection::vec(any::<u64>(), 0..2_000),
        ) {
            let sample = |hashes: &[u64]| {
                let mut sampled = Sampled::new(100);
                for hash in hashes {
                    sampled.offer(*hash, || *hash);
                }
                let mut kept: Vec<_> = sampled.iter().copied().collect();
                kept.sort_unstable();
                (kept, sampled.is_all())
            };
            hashes.retain(|hash| *hash < u64::MAX);
            let (kept, is_all) = sample(&hashes);
            prop_assert!(kept.len() <= 100);
            prop_assert_eq!(is_all, hashes.len() <= 100);
            hashes.reverse();
            prop_assert_eq!(sample(&hashes).0, kept);
        }
    }

    /// The bound of the README: a key with more than 0.3 % of the data is found by its name, and its size
    /// is known to within 0.1 % of all, wherever it stands.
    fn frequent_keys_are_found(
        tally: &Tally<u64>,
        frequent: &[(u64, u64)],
    ) -> Result<(), TestCaseError> {
        let whole = float(tally.whole());
        for &(k, n) in frequent {
            let rows = tally.rows();
            let row = rows.iter().find(|row| row.key == &key(k));
            prop_assert!(row.is_some(), "key {} with {} items is missing", k, n);
            let found = row.map_or(0.0, |row| row.items) * float(100 + ITEM_SIZE);
            let error = (found - float(n * (100 + ITEM_SIZE))).abs() / whole;
            prop_assert!(error < 0.001, "key {} with {} items: an error of {}", k, n, error);
        }
        Ok(())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(6))]
        #[test]
        fn a_frequent_key_is_found_in_any_order(
            counts in prop::collection::vec(200..2_000_u64, 1..8),
            at in any::<prop::sample::Index>(),
            batch in 500..4_000_usize,
        ) {
            let frequent: Vec<_> = counts.iter().enumerate().map(|(n, &count)| (1_000_000 + n as u64, count)).collect();
            let frequent: Vec<_> = frequent.into_iter().filter(|&(_, n)| n > 200).collect();
            let rare: Vec<_> = (0..50_000_u64).collect();
            let block = || frequent.iter().flat_map(|&(k, n)| std::iter::repeat_n(k, usize::try_from(n).unwrap()));
            // In blocks, somewhere among the rare ones.
            let at = at.index(rare.len());
            let blocks: Vec<_> = rare[..at].iter().copied().chain(block()).chain(rare[at..].iter().copied()).collect();
            let mut sorted = blocks.clone();
            sorted.sort_unstable();
            let reversed = sorted.iter().rev().copied().collect();
            let mut shuffled = blocks.clone();
            shuffled.sort_unstable_by_key(hash);
            let mut spread = Vec::new();
            spread.extend(blocks.iter().step_by(2));
            spread.extend(blocks.iter().skip(1).step_by(2));
            let n_items = float(blocks.len() as u64);
            let frequent: Vec<_> = frequent.into_iter().filter(|&(_, n)| float(n) > 0.003 * n_items).collect();
            for order in [blocks, sorted, reversed, shuffled, spread] {
                let tally = tally_in_batches(&order, batch);
                frequent_keys_are_found(&tally, &frequent)?;
            }
        }
    }

    /// Keys that only become frequent after the sample has dropped most keys; without the sketch of
    /// frequent items such a key is missed unless its hash happens to be low.
    #[test]
    fn keys_that_become_frequent_late_are_found() {
        let many = (0..200_000).map(|n| (n, 100));
        let late = (0..20_000).map(|n| (1_000_000 + n % 20, 100));
        let tally = tally(many.chain(late));
        assert!(!tally.cardinality().exact);
        let rows = tally.rows();
        let frequent = rows.iter().filter(|row| row.items > 500.0);
        let (n, sum) = frequent.fold((0, 0.0), |(n, sum), row| (n + 1, sum + row.items));
        assert_eq!(n, 20);
        assert!((sum / 20_000.0 - 1.0_f64).abs() < 0.2, "{sum}");
        // And all together are about as many as there were.
        let all: f64 = rows.iter().map(|row| row.items * row.keys).sum();
        assert!((all / 220_000.0 - 1.0).abs() < 0.03, "{all}");
    }

    #[test]
    fn memory_does_not_grow_with_the_number_of_keys() {
        let kept = |n: u64| tally((0..n).map(|n| (n, 100))).rows().len();
        assert!(kept(100_000) <= 2 * EXACT + MOST_FREQUENT);
        assert!(kept(300_000) <= 2 * EXACT + MOST_FREQUENT);
    }
}
