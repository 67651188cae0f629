//! The change feed: the latest versions, and all versions and deletes.

use std::{ops::Bound, sync::Arc};

use bytes::Bytes;
use imbl::OrdMap;
use itertools::Itertools as _;

use super::{
    Changes, ContainerId, EpkRange, Lsn, Partition, View,
    catalog::not_found,
    record::{Key, Record},
    writer::now,
};
use crate::{Refusal, Result};

/// The service ends a page here.
const MAX_PAGE_BYTES: usize = 4 << 20;

/// A partition, an LSN in it, and a number within that.
pub(super) type VersionKey = (u32, Lsn, u32);

pub(super) fn version_bytes((partition, lsn, number): VersionKey) -> Key {
    [&partition.to_be_bytes()[..], &lsn.to_be_bytes(), &number.to_be_bytes()].concat().into()
}

pub(super) fn version_key(bytes: &[u8]) -> Option<VersionKey> {
    let (partition, rest) = bytes.split_first_chunk()?;
    let (lsn, number) = rest.split_first_chunk()?;
    let number = number.try_into().ok()?;
    Some((u32::from_be_bytes(*partition), u64::from_be_bytes(*lsn), u32::from_be_bytes(number)))
}

/// A change in the feed of all versions and deletes.
#[derive(Debug)]
pub(crate) struct Version {
    /// Seconds since 1970.
    pub time: i64,
    /// `create`, `replace` or `delete`.
    pub operation: &'static str,
    /// True for the end of a time to live.
    pub expired: bool,
    pub previous_lsn: Option<Lsn>,
    pub(super) item_key: Key,
    pub id: String,
    /// The partition key as JSON array.
    pub key: String,
    /// The item; `None` of a deletion.
    pub(super) current: Option<Arc<Record>>,
}

/// Versions, with the LSNs of their writes.
type Versions = Vec<(Lsn, Arc<Version>)>;

const OPERATIONS: [&str; 3] = ["create", "replace", "delete"];

/// What is in front of the item in a version on the disk, as JSON.
type Head<T, K> = (i64, T, bool, Option<Lsn>, K, T, T);

impl Version {
    pub(crate) fn body(&self) -> Option<&Bytes> {
        self.current.as_ref().map(|record| &record.body)
    }

    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let Self { time, operation, expired, previous_lsn, item_key, id, key, current } = self;
        let head: Head<&str, &[u8]> =
            (*time, operation, *expired, *previous_lsn, item_key, id, key);
        // Writing to memory does not fail.
        let mut bytes = serde_json::to_vec(&head).unwrap_or_default();
        bytes.extend(current.iter().flat_map(|record| record.to_bytes()));
        bytes
    }

    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        let mut heads =
            serde_json::Deserializer::from_slice(bytes).into_iter::<Head<String, Vec<u8>>>();
        let (time, operation, expired, previous_lsn, item_key, id, key) = heads.next()?.ok()?;
        let operation = OPERATIONS.into_iter().find(|one| *one == operation)?;
        let current = Record::read(bytes.get(heads.byte_offset()..)?).map(Arc::new);
        Some(Self {
            time,
            operation,
            expired,
            previous_lsn,
            item_key: item_key.into(),
            id,
            key,
            current,
        })
    }
}

fn behind<'a, N: Ord + Copy + Default + 'a, V>(
    rows: &'a OrdMap<(u32, Lsn, N), V>,
    partition: &'a Partition,
    after: Lsn,
) -> impl Iterator<Item = (Lsn, &'a V)> {
    let sources = partition.parents.iter().chain([&partition.id]).copied();
    let sources = sources.map(|source| {
        let from = (source, after.saturating_add(1), N::default());
        let until = (source, Lsn::MAX, N::default());
        rows.range((Bound::Included(from), Bound::Excluded(until)))
    });
    sources.kmerge_by(|one, other| one.0.1 < other.0.1).map(|(key, value)| (key.1, value))
}

impl View {
    /// Returns a page of the latest-version change feed of a range within a physical partition.
    pub fn changes(
        &self,
        container: ContainerId,
        partition: u32,
        range: &EpkRange,
        after: Lsn,
        max_items: usize,
    ) -> Changes {
        let mut changes = Changes { items: Vec::new(), until: after, more: false };
        let Some((container, partition)) = self.partition(container, partition) else {
            return changes;
        };
        let range = range.intersection(&partition.range);
        let (default_ttl, clock) = (container.definition.default_ttl, now());
        let mut bytes = 0;
        for (lsn, key) in behind(&container.log, partition, after) {
            if !range.contains(key) {
                continue;
            }
            if lsn > changes.until
                && (changes.items.len() >= max_items.max(1) || bytes >= MAX_PAGE_BYTES)
            {
                changes.more = true;
                return changes;
            }
            let record = container.items.get(key);
            if let Some(record) = record.filter(|record| record.lives(default_ttl, clock)) {
                bytes += record.body.len();
                changes.items.push(record.item(key));
                changes.until = lsn;
            }
        }
        changes.until = partition.lsn.max(after);
        changes
    }

    /// Returns the LSN of the last transaction up to a time, in seconds since 1970.
    pub fn lsn_at(&self, container: ContainerId, partition: u32, time: i64) -> Lsn {
        let Some((container, partition)) = self.partition(container, partition) else { return 0 };
        // The log has the last write of each item, so the first one behind an LSN says where the time has come.
        let later = |lsn: Lsn| {
            let first = behind(&container.log, partition, lsn).next();
            let first = first.and_then(|(_, key)| container.items.get(key));
            first.is_none_or(|record| record.ts > time)
        };
        let (mut low, mut high) = (0, partition.lsn);
        while low < high {
            let middle = low + (high - low) / 2;
            if later(middle) { high = middle } else { low = middle + 1 }
        }
        low
    }

    /// Returns a page of the feed of all versions and deletes, and the LSN behind which the next one begins. Errors:
    /// 400 if the container has no `changeFeedPolicy`.
    pub(crate) fn versions(
        &self,
        container: ContainerId,
        partition: u32,
        range: &EpkRange,
        after: Lsn,
        max_items: usize,
    ) -> Result<(Versions, Lsn)> {
        let found = self.partition(container, partition).ok_or_else(not_found)?;
        let (container, partition) = found;
        let Some(minutes) = container.definition.retention_minutes else {
            return Err(Refusal::new(
                400,
                "The container has no changeFeedPolicy: its feed of all versions and deletes is not enabled.",
            ));
        };
        let range = range.intersection(&partition.range);
        let oldest = now().saturating_sub(minutes.saturating_mul(60));
        let mut versions = Vec::new();
        let (mut until, mut bytes) = (after, 0);
        for (lsn, version) in behind(&container.versions, partition, after) {
            if !range.contains(&version.item_key) || version.time < oldest {
                continue;
            }
            if lsn > until && (versions.len() >= max_items.max(1) || bytes >= MAX_PAGE_BYTES) {
                return Ok((versions, until));
            }
            until = lsn;
            bytes += version.body().map_or(0, Bytes::len);
            versions.push((lsn, Arc::clone(version)));
        }
        Ok((versions, partition.lsn.max(after)))
    }
}
