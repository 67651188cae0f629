//! The counts of one candidate.

use cosmos_model::partitioning::{KeyPart, KeyStrategy};

use super::{
    PreparedItem,
    columns::{CandidateColumns, KeyColumns, KeyState},
    times,
};
use crate::{
    report::KeyDefects,
    sketch::{KeyCounts, UniformSample},
};

/// The writes that are kept, to find hot partitions over time.
const MAX_WRITE_EVENTS: usize = 1 << 15;

/// The limit of the service for the value of a partition key, in bytes.
pub(crate) const MAX_KEY_BYTES: usize = 2_048;

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

impl CandidateCounts {
    pub(crate) fn new(strategy: KeyStrategy, columns: &mut KeyColumns) -> Self {
        Self {
            columns: columns.add(&strategy),
            strategy,
            partitions: KeyCounts::new(),
            keys: KeyDefects::default(),
            events: UniformSample::new(MAX_WRITE_EVENTS),
            n_items: 0,
            bytes: 0,
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
        if let Some(time) = item.time {
            let entity = || self.columns.entity(&item.cells);
            self.events.offer(item.draw, || WriteEvent { time, key: hash, entity: entity() });
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
}
