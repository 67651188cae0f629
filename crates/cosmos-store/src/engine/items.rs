//! Transactions on the items of a logical partition.

use std::{collections::BTreeMap, sync::Arc};

use cosmos_model::partitioning::path::PropertyPath;

use super::{
    Committed, ContainerId, Done, Item, Lsn, Mode,
    catalog::{Container, conflict, not_found, precondition},
    disk::{Kind, Row},
    epk,
    feed::{self, Version},
    patch,
    record::{Key, Record, epk_of, rid_of},
    steps::{Action, Body, Step, Transaction},
    writer::{Writer, now},
};
use crate::{Refusal, Result, json::Json};

/// An item of the transaction: as it is stored, and as it is after the steps so far.
struct Slot {
    id: String,
    stored: Option<(u64, Arc<Record>)>,
    now: Option<(u64, Arc<Record>)>,
    changed: bool,
}

/// What the steps so far have computed. Nothing is written before all have succeeded.
struct Staged<'a> {
    container: &'a Container,
    epk: &'a [u8],
    key: &'a [Json],
    slots: Vec<Slot>,
    /// Rows of unique keys: the item that has them.
    unique: BTreeMap<Vec<u8>, Option<u64>>,
    versions: Vec<Version>,
    rid: u64,
    write: u64,
    ts: i64,
    lsn: Lsn,
    partition: u32,
    sees_expired: bool,
    expired: bool,
}

impl Writer {
    /// Carries out a transaction. `expired` says that the items' time to live has ended, which deletes them.
    pub(super) fn transact(
        &mut self,
        id: ContainerId,
        given: Transaction,
        expired: bool,
    ) -> Result<Committed> {
        let container = self.catalog.container(id)?;
        let partition = container.partition_of(&given.epk).ok_or_else(not_found)?;
        let (partition, lsn) = (partition.id, partition.lsn);
        let mut staged = Staged {
            container,
            epk: &given.epk,
            key: &given.key,
            slots: Vec::new(),
            unique: BTreeMap::new(),
            versions: Vec::new(),
            rid: container.rid,
            write: self.catalog.counters.write,
            ts: self.catalog.counters.ts,
            lsn: lsn + 1,
            partition,
            sees_expired: given.sees_expired,
            expired,
        };
        let steps = given.steps.len();
        let mut results = Vec::with_capacity(steps);
        for step in given.steps {
            match step.and_then(|step| staged.step(step)) {
                Ok(done) => results.push(Ok(done)),
                Err(refusal) => {
                    let failed = results.len();
                    let other = || Refusal::new(424, "Another operation of the batch failed.");
                    let refusals = (0..steps)
                        .map(|place| Err(if place == failed { refusal.clone() } else { other() }));
                    return Ok(Committed { results: refusals.collect(), partition, lsn });
                }
            }
        }
        let Staged { slots, unique, versions, rid, write, .. } = staged;
        if !slots.iter().any(|slot| slot.changed) {
            return Ok(Committed { results, partition, lsn });
        }
        self.catalog.counters.write = write;
        let container = self.catalog.container_mut(id)?;
        container.rid = rid;
        if let Some(one) = container.partitions.iter_mut().find(|one| one.id == partition) {
            one.lsn = lsn + 1;
        }
        for (row, rid) in unique {
            match rid {
                Some(rid) => _ = container.unique.insert(row.into(), rid),
                None => _ = container.unique.remove(&*row),
            }
        }
        let changed = || slots.iter().filter(|slot| slot.changed);
        let removed = changed().filter_map(|slot| container.remove(&given.epk, slot));
        let removed: Vec<_> = removed.collect();
        let written = changed().filter_map(|slot| container.insert(&given.epk, slot));
        let written = written.map(|(key, record)| (key, Some(record)));
        for (key, record) in removed.into_iter().map(|key| (key, None)).chain(written) {
            if let Some(rows) = &mut self.rows {
                let value = record.map(|record| record.to_bytes());
                rows.push(Row { container: id, kind: Kind::Items, key, value });
            }
        }
        for (number, version) in (0_u32..).zip(versions) {
            let key = (partition, lsn + 1, number);
            if let Some(rows) = &mut self.rows {
                let (key, value) = (feed::version_bytes(key), Some(version.to_bytes()));
                rows.push(Row { container: id, kind: Kind::Versions, key, value });
            }
            container.versions.insert(key, Arc::new(version));
        }
        Ok(Committed { results, partition, lsn: lsn + 1 })
    }

    /// Removes an item whose time to live has ended, if it still has.
    pub(super) fn expire(&mut self, id: ContainerId, item_key: &[u8], now: i64) -> Result<bool> {
        let container = self.catalog.container(id)?;
        let default_ttl = container.definition.default_ttl;
        let record = container.items.get(item_key);
        let Some(record) = record.filter(|record| !record.lives(default_ttl, now)) else {
            return Ok(false);
        };
        let (key, item_id) = container.key_and_id(record)?;
        let deletion = Transaction::deletion(key, epk_of(item_key).to_vec(), vec![item_id]);
        Ok(self.transact(id, deletion, true)?.results.iter().all(Result::is_ok))
    }
}

fn item_key(epk: &[u8], rid: u64) -> Key {
    [epk, &rid.to_be_bytes()].concat().into()
}

impl Container {
    /// Removes the old version of an item; returns its key if the item has gone, or has another number now.
    fn remove(&mut self, epk: &[u8], slot: &Slot) -> Option<Key> {
        let (rid, old) = slot.stored.as_ref()?;
        let key = item_key(epk, *rid);
        self.log.remove(&(old.partition, old.lsn, *rid));
        if let Some(end) = old.expires(self.definition.default_ttl) {
            self.ttl.remove(&(end, *rid));
        }
        if !self.indexes.is_empty() {
            self.index_remove(&key, &old.body);
        }
        if slot.now.as_ref().is_some_and(|(now, _)| now == rid) {
            return None;
        }
        self.items.remove(&*key);
        self.ids.remove(&*[epk, slot.id.as_bytes()].concat());
        Some(key)
    }

    /// Adds the new version of an item, after all old ones have been removed.
    fn insert(&mut self, epk: &[u8], slot: &Slot) -> Option<(Key, Arc<Record>)> {
        let (rid, new) = slot.now.as_ref()?;
        let key = item_key(epk, *rid);
        self.log.insert((new.partition, new.lsn, *rid), Arc::clone(&key));
        if slot.stored.as_ref().is_none_or(|(stored, _)| stored != rid) {
            self.ids.insert([epk, slot.id.as_bytes()].concat().into(), *rid);
        }
        if let Some(end) = new.expires(self.definition.default_ttl) {
            self.ttl.insert((end, *rid), Arc::clone(&key));
        }
        if !self.indexes.is_empty() {
            self.index_insert(&key, &new.body);
        }
        self.items.insert(Arc::clone(&key), Arc::clone(new));
        Some((key, Arc::clone(new)))
    }

    /// Takes an item that was read from the disk.
    pub(super) fn restore(&mut self, key: Key, record: Record) -> Result<()> {
        let (epk, rid) = (epk_of(&key), rid_of(&key));
        let paths = self.definition.unique_keys.iter().flatten();
        let names: Vec<_> = paths
            .filter_map(|path| path.names().first().map(String::as_str))
            .chain(["id"])
            .collect();
        let item = record.properties(&names)?;
        let id = item.get("id").and_then(Json::as_str).unwrap_or_default();
        self.ids.insert([epk, id.as_bytes()].concat().into(), rid);
        self.log.insert((record.partition, record.lsn, rid), Arc::clone(&key));
        let default_ttl = self.definition.default_ttl;
        if let Some(end) = record.expires(default_ttl) {
            self.ttl.insert((end, rid), Arc::clone(&key));
        }
        if record.lives(default_ttl, now()) {
            for row in self.unique_rows(epk, &item) {
                self.unique.insert(row.into(), rid);
            }
        }
        self.items.insert(key, Arc::new(record));
        Ok(())
    }

    pub(super) fn key_and_id(&self, record: &Record) -> Result<(Vec<Json>, String)> {
        let item = Json::parse(&record.body)?;
        let id = item.get("id").and_then(Json::as_str).unwrap_or_default();
        Ok((epk::values_of_item(&item, &self.definition.key_paths)?, id.to_owned()))
    }

    /// Returns a row for each unique key. A missing value counts as null.
    fn unique_rows(&self, epk: &[u8], item: &Json) -> Vec<Vec<u8>> {
        let row = |(number, paths): (usize, &Vec<PropertyPath>)| {
            let values =
                paths.iter().map(|path| item.at(path.names()).cloned().unwrap_or(Json::Null));
            let mut row = [epk, &number.to_be_bytes()].concat();
            Json::Array(values.collect()).write(&mut row);
            row
        };
        self.definition.unique_keys.iter().enumerate().map(row).collect()
    }
}

impl Staged<'_> {
    fn step(&mut self, step: Step) -> Result<Done> {
        let Step { id, action, if_match, if_none_match } = step;
        let place = self.slot(&id);
        let before = self.slots.get(place).and_then(|slot| slot.now.clone());
        let before_item = before.as_ref().map(|(rid, record)| self.item(*rid, record));
        let etag = before_item.as_ref().map(|item| item.etag.as_str());
        let is = |header: &Option<String>| {
            header.as_deref().is_some_and(|header| header == "*" || Some(header) == etag)
        };
        let conditions = || {
            let failed = if_match.is_some() && !is(&if_match) || is(&if_none_match);
            if failed { Err(precondition()) } else { Ok(()) }
        };
        let existing = || before.as_ref().ok_or_else(not_found);
        let body = match action {
            Action::Read => {
                existing()?;
                let status = if is(&if_none_match) { 304 } else { 200 };
                return Ok(Done { status, item: before_item.clone(), before: before_item });
            }
            Action::Delete => {
                let (rid, record) = existing()?;
                conditions()?;
                self.release(*rid, record)?;
                self.version("delete", *rid, &id, Some(record), None, self.expired);
                self.set(place, None);
                return Ok(Done { status: 204, item: None, before: before_item });
            }
            Action::Patch(patch) => {
                let (_, record) = existing()?;
                conditions()?;
                let mut json = Json::parse(&record.body)?;
                if let Some(condition) = &patch.condition
                    && !condition(&json)?
                {
                    return Err(precondition());
                }
                patch::apply(&mut json, &patch.operations, &self.container.definition.key_paths)?;
                let body = Body::new(json)?;
                // A patch can nest values deeper than what is read again.
                Json::parse(&[&body.bytes[..], b"}"].concat())?;
                body
            }
            Action::Put { mode, body, mismatch } => {
                if mode == Mode::Replace {
                    existing()?;
                }
                if let Some(mismatch) = mismatch {
                    return Err(mismatch);
                }
                if before.is_some() {
                    if mode == Mode::Create {
                        return Err(conflict());
                    }
                    conditions()?;
                }
                body
            }
        };
        // A replacement whose body has another id renames the item.
        let (place, id) = match body.json.get("id").and_then(Json::as_str) {
            Some(other) if other != id => {
                let renamed = self.slot(other);
                if self.slots.get(renamed).is_some_and(|slot| slot.now.is_some()) {
                    return Err(conflict());
                }
                self.set(place, None);
                (renamed, other.to_owned())
            }
            _ => (place, id),
        };
        let ended = self.slots.get(place).filter(|slot| slot.now.is_none() && !slot.changed);
        if let Some((rid, ended)) = ended.and_then(|slot| slot.stored.clone()) {
            self.release(rid, &ended)?;
            self.version("delete", rid, &id, Some(&ended), None, true);
        }
        let old = before.as_ref().map(|(_, record)| record);
        let rid = before.as_ref().map_or(self.rid + 1, |(rid, _)| *rid);
        self.claim(rid, old, &body.json)?;
        self.rid = self.rid.max(rid);
        self.write += 1;
        let record = Arc::new(Record {
            lsn: self.lsn,
            partition: self.partition,
            ts: self.ts,
            ttl: body.ttl,
            body: self.container.names.body(&body.bytes, rid, self.write, self.ts),
        });
        let item = self.item(rid, &record);
        let operation = if old.is_some() { "replace" } else { "create" };
        self.version(operation, rid, &id, old, Some(&record), false);
        self.set(place, Some((rid, record)));
        let status = if before.is_some() { 200 } else { 201 };
        Ok(Done { status, item: Some(item), before: before_item })
    }

    fn item(&self, rid: u64, record: &Record) -> Item {
        record.item(&item_key(self.epk, rid))
    }

    fn set(&mut self, place: usize, new: Option<(u64, Arc<Record>)>) {
        if let Some(slot) = self.slots.get_mut(place) {
            (slot.now, slot.changed) = (new, true);
        }
    }

    /// Returns the number of the slot of an item, and loads it before.
    fn slot(&mut self, id: &str) -> usize {
        if let Some(place) = self.slots.iter().position(|slot| slot.id == id) {
            return place;
        }
        let rid = self.container.ids.get(&*[self.epk, id.as_bytes()].concat());
        let stored = rid.and_then(|rid| Some((*rid, Arc::clone(self.load(*rid)?))));
        let now = stored.clone().filter(|(_, record)| self.sees_expired || self.lives(record));
        self.slots.push(Slot { id: id.to_owned(), stored, now, changed: false });
        self.slots.len() - 1
    }

    fn load(&self, rid: u64) -> Option<&Arc<Record>> {
        self.container.items.get(&*item_key(self.epk, rid))
    }

    fn lives(&self, record: &Record) -> bool {
        record.lives(self.container.definition.default_ttl, self.ts)
    }

    /// Takes the unique keys of a new body.
    fn claim(&mut self, rid: u64, old: Option<&Arc<Record>>, new: &Json) -> Result<()> {
        let rows = self.container.unique_rows(self.epk, new);
        for row in &rows {
            if let Some(other) = self.holder(row).filter(|other| *other != rid) {
                let written = self.slots.iter().any(|slot| {
                    slot.changed && slot.now.as_ref().is_some_and(|(rid, _)| *rid == other)
                });
                if written || self.load(other).is_some_and(|record| self.lives(record)) {
                    return Err(Refusal::new(409, "Unique index constraint violation."));
                }
            }
        }
        if let Some(old) = old {
            self.release(rid, old)?;
        }
        self.unique.extend(rows.into_iter().map(|row| (row, Some(rid))));
        Ok(())
    }

    /// Gives the unique keys of an old body back.
    fn release(&mut self, rid: u64, old: &Record) -> Result<()> {
        if self.container.definition.unique_keys.is_empty() {
            return Ok(());
        }
        for row in self.container.unique_rows(self.epk, &Json::parse(&old.body)?) {
            if self.holder(&row) == Some(rid) {
                self.unique.insert(row, None);
            }
        }
        Ok(())
    }

    fn holder(&self, row: &[u8]) -> Option<u64> {
        match self.unique.get(row) {
            Some(holder) => *holder,
            None => self.container.unique.get(row).copied(),
        }
    }

    /// Keeps a version, where the container has a feed of all.
    fn version(
        &mut self,
        operation: &'static str,
        rid: u64,
        id: &str,
        old: Option<&Arc<Record>>,
        new: Option<&Arc<Record>>,
        expired: bool,
    ) {
        if self.container.definition.retention_minutes.is_none() {
            return;
        }
        let mut key = Vec::new();
        Json::Array(self.key.to_vec()).write(&mut key);
        self.versions.push(Version {
            time: self.ts,
            operation,
            expired,
            previous_lsn: old.map(|old| old.lsn),
            item_key: item_key(self.epk, rid),
            id: id.to_owned(),
            key: String::from_utf8_lossy(&key).into_owned(),
            current: new.cloned(),
        });
    }
}
