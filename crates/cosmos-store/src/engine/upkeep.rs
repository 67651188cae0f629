//! What is done to many items or to partitions: deletions, the end of times to live, splits and merges, indexes.

use std::{collections::BTreeSet, ops::Bound, sync::Arc};

use super::{
    ContainerId, Engine, EpkRange, Partition,
    catalog::{Container, not_found},
    disk::{Kind, Row},
    epk,
    feed::{self, VersionKey},
    record::{Key, epk_of},
    steps::{self, Transaction},
    writer::Writer,
};
use crate::{Refusal, Result, json::Json};

/// How many items a transaction removes.
const CHUNK: usize = 100;

impl Engine {
    /// Deletes all items of a logical partition, some in each transaction.
    ///
    /// # Errors
    /// 404, 400.
    pub async fn delete_partition(&self, container: ContainerId, key: &Json) -> Result<()> {
        let range = self.view().range_of(container, key)?;
        if !range.is_point() {
            return Err(steps::incomplete_key());
        }
        loop {
            let range = range.clone();
            if self.queue.write(move |writer| writer.delete_some(container, &range)).await? == 0 {
                return Ok(());
            }
        }
    }

    /// Removes the items whose time to live has ended at this time, in seconds since 1970; returns their number. Reads
    /// leave them out before.
    pub async fn expire(&self, now: i64) -> usize {
        let view = self.view();
        let mut expired = 0;
        for container in view.catalog().containers.values() {
            let id = container.id;
            let due = container.ttl.range(..=(now, u64::MAX));
            let keys: Vec<_> = due.map(|(_, key)| Arc::clone(key)).collect();
            for some in keys.chunks(CHUNK) {
                let some = some.to_vec();
                let expire = move |writer: &mut Writer| Ok(writer.expire_some(id, &some, now));
                // A container that has gone has no items to expire.
                expired += self.queue.write(expire).await.unwrap_or_default();
            }
            if let Some(minutes) = container.definition.retention_minutes {
                let oldest = now.saturating_sub(minutes.saturating_mul(60));
                if !container.old_versions(oldest).is_empty() {
                    // A container that has gone has no versions.
                    _ = self.queue.write(move |writer| writer.forget_versions(id, oldest)).await;
                }
            }
        }
        expired
    }

    /// Splits a physical partition in two: at the middle of its items, or of its range if they are all of one logical
    /// partition.
    ///
    /// # Errors
    /// 400 if its range cannot be smaller; 404.
    pub async fn split(&self, container: ContainerId, partition: u32) -> Result<()> {
        let view = self.view();
        let (found, parent) = view.partition(container, partition).ok_or_else(not_found)?;
        let middle = found
            .middle(parent)
            .or_else(|| epk::middle(&parent.range, found.definition.hash_version))
            .ok_or_else(|| Refusal::new(400, "The partition is too small to be split."))?;
        let split = move |writer: &mut Writer| {
            let container = writer.catalog.container_mut(container)?;
            let parent = container
                .partitions
                .iter()
                .position(|one| one.id == partition)
                .ok_or_else(not_found)?;
            let parent = container.partitions.remove(parent);
            let EpkRange { from, until } = parent.range.clone();
            container.add_partition(EpkRange { from, until: middle.clone() }, &[&parent]);
            container.add_partition(EpkRange { from: middle, until }, &[&parent]);
            Ok(())
        };
        self.queue.write(split).await
    }

    /// Merges two neighbours.
    ///
    /// # Errors
    /// 400 if they are none; 404.
    pub async fn merge(&self, container: ContainerId, partitions: [u32; 2]) -> Result<()> {
        let merge = move |writer: &mut Writer| {
            let container = writer.catalog.container_mut(container)?;
            let parents = container.partitions.iter().filter(|one| partitions.contains(&one.id));
            let parents: Vec<_> = parents.cloned().collect();
            let [low, high] = &*parents else { return Err(not_found()) };
            if low.range.until != high.range.from {
                return Err(Refusal::new(400, "The partitions are no neighbours."));
            }
            container.partitions.retain(|one| !partitions.contains(&one.id));
            let range = EpkRange { from: low.range.from.clone(), until: high.range.until.clone() };
            container.add_partition(range, &[low, high]);
            Ok(())
        };
        self.queue.write(merge).await
    }

    /// Builds an index of a container that its policy allows, and keeps it from then on. An index takes memory, so
    /// only those are built that a query asks for.
    pub async fn build_index(
        &self,
        container: ContainerId,
        paths: &[Vec<String>],
        within_logical_partition: bool,
    ) {
        loop {
            let paths = paths.to_vec();
            let build = move |writer: &mut Writer| {
                writer.build_index(container, &paths, within_logical_partition)
            };
            // A container that has gone needs no index.
            if self.queue.write(build).await.unwrap_or(true) {
                return;
            }
        }
    }
}

impl Writer {
    /// Deletes some items of a logical partition, and returns their number.
    fn delete_some(&mut self, id: ContainerId, range: &EpkRange) -> Result<usize> {
        let container = self.catalog.container(id)?;
        let items = container
            .items
            .range::<_, [u8]>((Bound::Included(&*range.from), Bound::Excluded(&*range.until)));
        let (mut ids, mut key) = (Vec::new(), Vec::new());
        for (_, record) in items.take(CHUNK) {
            let one = container.key_and_id(record)?;
            key = one.0;
            ids.push(one.1);
        }
        let deleted = ids.len();
        if deleted > 0 {
            let deletion = Transaction::deletion(key, range.from.clone(), ids);
            let done = self.transact(id, deletion, false)?;
            done.results.into_iter().collect::<Result<Vec<_>>>()?;
        }
        Ok(deleted)
    }

    fn expire_some(&mut self, id: ContainerId, keys: &[Key], now: i64) -> usize {
        keys.iter().filter(|key| self.expire(id, key, now) == Ok(true)).count()
    }

    /// Removes the versions from before a second.
    fn forget_versions(&mut self, id: ContainerId, oldest: i64) -> Result<()> {
        let old = self.catalog.container(id)?.old_versions(oldest);
        let container = self.catalog.container_mut(id)?;
        for key in old {
            container.versions.remove(&key);
            if let Some(rows) = &mut self.rows {
                let key = feed::version_bytes(key);
                rows.push(Row { container: id, kind: Kind::Versions, key, value: None });
            }
        }
        Ok(())
    }
}

impl Container {
    /// Returns the keys of the versions from before a second.
    fn old_versions(&self, oldest: i64) -> Vec<VersionKey> {
        let partitions = self.partitions.iter().flat_map(|one| one.parents.iter().chain([&one.id]));
        let partitions: BTreeSet<_> = partitions.copied().collect();
        let old = partitions.into_iter().flat_map(|partition| {
            let versions = self.versions.range((partition, 0, 0)..(partition, u64::MAX, 0));
            versions.take_while(|(_, version)| version.time < oldest).map(|(key, _)| *key)
        });
        old.collect()
    }

    /// Returns the effective partition key that has as many items of a partition before it as behind it; of an empty
    /// partition the middle of its range. `None` if all items are of one logical partition.
    fn middle(&self, partition: &Partition) -> Option<Vec<u8>> {
        let EpkRange { from, until } = &partition.range;
        let version = self.definition.hash_version;
        let keys = || {
            let items =
                self.items.range::<_, [u8]>((Bound::Included(&**from), Bound::Excluded(&**until)));
            items.map(|(key, _)| epk::bound_before(epk_of(key), version))
        };
        let Some(first) = keys().next() else { return epk::middle(&partition.range, version) };
        let half = keys().count() / 2;
        keys().skip(half).chain(keys()).find(|key| *key > first && *key > *from)
    }

    fn add_partition(&mut self, range: EpkRange, parents: &[&Partition]) {
        let ancestors: BTreeSet<_> =
            parents.iter().flat_map(|one| one.parents.iter().chain([&one.id])).copied().collect();
        let lsn = parents.iter().map(|one| one.lsn).max().unwrap_or_default();
        let partition = Partition {
            id: self.next_partition,
            range,
            parents: ancestors.into_iter().collect(),
            lsn,
        };
        self.next_partition += 1;
        let place = self.partitions.partition_point(|one| one.range.from < partition.range.from);
        self.partitions.insert(place, partition);
    }
}
