//! The counts of one candidate.

use cosmos_model::partitioning::{KeyPart, KeyStrategy};
use datasketches::tuple::{
    SummaryPolicy, SummaryUpdatePolicy, TupleEntry, TupleSketch, TupleSketchBuilder,
};

use super::{
    columns::{CandidateColumns, KeyColumns, KeyState},
    prepared::PreparedItem,
    times,
};
use crate::{
    observed::ObservedPartitions,
    report::KeyDefects,
    sketch::{KeyCounts, UniformSample},
};

/// The writes that are kept, to find hot partitions over time.
const MAX_WRITE_EVENTS: usize = 1 << 15;

/// The base-2 logarithm of the number of ids that are checked for changes of their key.
const LG_WATCHED_IDS: u8 = 12;

/// The limit of the service for the value of a partition key, in bytes.
pub(crate) const MAX_KEY_BYTES: usize = 2_048;
/// The same in containers without large partition keys (version 1 of the hash).
pub(crate) const MAX_SMALL_KEY_BYTES: usize = 101;

/// A candidate and its counts.
#[derive(Debug)]
pub(crate) struct CandidateCounts {
    pub(crate) strategy: KeyStrategy,
    columns: CandidateColumns,
    /// Items and bytes by key.
    pub(crate) partitions: KeyCounts<()>,
    pub(crate) keys: KeyDefects,
    /// The writes: times and keys.
    pub(crate) events: UniformSample<WriteEvent>,
    pub(crate) n_items: u64,
    pub(crate) bytes: u64,
    versions: TupleSketch<FirstKeyPolicy>,
    /// The partitions with items of keys whose reads were measured.
    pub(crate) hot: ObservedPartitions,
}

/// A write.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WriteEvent {
    /// The time in seconds since 1970.
    pub(crate) time: i64,
    /// The hash of its key, and of the parts of the key that are no period.
    pub(crate) key: u64,
    pub(crate) entity: u64,
}

/// The keys of the versions of an item.
#[derive(Clone, Copy, Debug)]
struct ItemVersions {
    first: u64,
    n: u32,
    changed: bool,
}

#[derive(Debug)]
struct FirstKeyPolicy;

impl SummaryPolicy for FirstKeyPolicy {
    type Summary = ItemVersions;

    fn create(&self) -> ItemVersions {
        ItemVersions { first: 0, n: 0, changed: false }
    }
}

impl SummaryUpdatePolicy<u64> for FirstKeyPolicy {
    fn update(&self, versions: &mut ItemVersions, key: u64) {
        if versions.n == 0 {
            versions.first = key;
        }
        versions.changed |= versions.first != key;
        versions.n = versions.n.saturating_add(1);
    }
}

impl CandidateCounts {
    pub(crate) fn new(strategy: KeyStrategy, columns: &mut KeyColumns) -> Self {
        #[expect(clippy::expect_used, reason = "the size is a constant that the sketch allows")]
        let versions = TupleSketchBuilder::new(FirstKeyPolicy)
            .lg_k(LG_WATCHED_IDS)
            .build()
            .expect("a size between 5 and 26");
        Self {
            columns: columns.add(&strategy),
            strategy,
            partitions: KeyCounts::new(),
            keys: KeyDefects::default(),
            events: UniformSample::new(MAX_WRITE_EVENTS),
            n_items: 0,
            bytes: 0,
            versions,
            hot: ObservedPartitions::default(),
        }
    }

    pub(crate) fn add(&mut self, items: &[PreparedItem<'_>]) {
        let mut hashes = Vec::with_capacity(items.len());
        for item in items {
            self.n_items += 1;
            self.bytes += item.bytes;
            let (hash, length, state) = self.columns.key(item.value, &item.cells);
            hashes.push((state <= KeyState::Undefined).then_some(hash));
            let keys = &mut self.keys;
            match state {
                KeyState::Value => {}
                KeyState::Null | KeyState::NoKeyForNull => keys.null += 1,
                KeyState::Undefined | KeyState::NoKeyForMissing => keys.missing += 1,
                KeyState::NotATime => keys.not_a_time += 1,
                KeyState::NotScalar => keys.not_scalar += 1,
            }
            if state <= KeyState::Undefined {
                keys.too_long += u64::from(length > MAX_KEY_BYTES);
                keys.over_101_bytes += u64::from(length > MAX_SMALL_KEY_BYTES);
                keys.longest_bytes = keys.longest_bytes.max(length as u64);
                self.add_key(hash, item);
            }
        }
        let strategy = &self.strategy;
        self.partitions.find_frequent(|wanted| {
            let of_key = items.iter().zip(&hashes).filter(|(_, hash)| **hash == Some(wanted));
            let mut of_key = of_key.map(|(item, _)| item).peekable();
            let key = strategy.key(of_key.peek()?.value).ok()?;
            let (n, bytes) = of_key.fold((0, 0), |(n, bytes), item| (n + 1, bytes + item.bytes));
            Some((key, n, bytes))
        });
    }

    fn add_key(&mut self, hash: u64, item: &PreparedItem<'_>) {
        // In this state the item has a key.
        let key = || self.strategy.key(item.value).unwrap_or_default();
        self.partitions.add(hash, key, item.bytes, item.cluster, |()| {});
        if let Some(number) = item.observed {
            self.hot.add(hash, number, key);
        }
        if let Some(time) = item.time {
            let entity = || self.columns.entity(&item.cells);
            self.events.offer(item.draw, || WriteEvent { time, key: hash, entity: entity() });
        }
        if let Some(identity) = item.identity {
            self.versions.update(identity, hash);
        }
    }

    /// Returns the writes without outliers of the time.
    pub(crate) fn writes(&self) -> Vec<WriteEvent> {
        let all = || self.events.iter().copied();
        let believed = times::believed(all().map(|event| event.time).collect());
        let Some((oldest, newest)) = believed else { return Vec::new() };
        all().filter(|event| (oldest..=newest).contains(&event.time)).collect()
    }

    /// Returns true if the app computes and stores the key or a level of it.
    pub(crate) fn is_computed(&self) -> bool {
        self.strategy.levels().iter().any(|level| !matches!(level.as_slice(), [KeyPart::Value(_)]))
    }

    /// Returns the number of watched ids that come several times, and the number of these with several keys.
    pub(crate) fn repeated_ids(&self) -> (u64, u64) {
        self.versions.iter().map(TupleEntry::summary).fold((0, 0), |(repeated, changed), id| {
            (repeated + u64::from(id.n > 1), changed + u64::from(id.changed))
        })
    }
}
