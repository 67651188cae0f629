//! Transactions on the items of a logical partition.

use std::{collections::BTreeMap, sync::Arc};

use super::{
    Committed, ContainerId, Done, Item, ItemOperation, Lsn, Operation, Patch,
    catalog::{Container, conflict, not_found, precondition},
    definition,
    disk::{Kind, Row},
    encoding, epk,
    feed::{self, Written},
    patch,
    record::{Key, Record, SYSTEM_PROPERTIES, epk_of},
    writer::Writer,
};
use crate::{Refusal, json::Json};

/// The service's limits.
const MAX_OPERATIONS: usize = 100;
const MAX_ITEM_BYTES: usize = 2 << 20;

/// An operation, as far as it could be prepared without the store.
pub(super) struct Step {
    id: String,
    action: Action,
    if_match: Option<String>,
    if_none_match: Option<String>,
}

enum Action {
    Put { mode: Mode, body: Body, mismatch: Option<Refusal> },
    Patch(Patch),
    Delete,
    Read,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    Create,
    Upsert,
    Replace,
}

/// The body of an item without system properties.
struct Body {
    json: Json,
    /// Without the last brace.
    bytes: Vec<u8>,
    ttl: i32,
}

/// A transaction's logical partition and steps. A step that could not be prepared is refused in its turn.
pub(super) struct Transaction {
    pub key: Vec<Json>,
    pub epk: Vec<u8>,
    pub steps: Vec<Result<Step, Refusal>>,
    /// True to find items whose time to live has ended, too.
    pub sees_expired: bool,
}

impl Transaction {
    /// Prepares operations: everything that needs no state, so that the writing thread has little to do.
    pub(super) fn prepare(
        container: &Container,
        key: Option<&Json>,
        operations: Vec<ItemOperation>,
    ) -> Result<Self, Refusal> {
        let definition = &container.definition;
        if operations.is_empty() || operations.len() > MAX_OPERATIONS {
            let text = format!(
                "Batch request has {} operations: there must be 1 to {MAX_OPERATIONS}.",
                operations.len()
            );
            return Err(Refusal::new(400, text));
        }
        let key = match (key, operations.as_slice()) {
            (Some(key), _) => epk::values_of_key(key, definition.key_paths.len())?,
            (
                None,
                [
                    ItemOperation {
                        operation:
                            Operation::Create(body) | Operation::Upsert(body) | Operation::Replace(body),
                        ..
                    },
                ],
            ) => epk::values_of_item(body, &definition.key_paths)?,
            _ => return Err(incomplete_key()),
        };
        if key.len() < definition.key_paths.len() {
            return Err(incomplete_key());
        }
        let epk = epk::hash(&key, definition.hash_version);
        let steps = operations.into_iter().map(|one| Step::prepare(container, &key, one)).collect();
        Ok(Self { key, epk, steps, sees_expired: false })
    }

    /// Returns a transaction that deletes items.
    pub(super) fn deletion(key: Vec<Json>, epk: Vec<u8>, ids: Vec<String>) -> Self {
        let step =
            |id| Ok(Step { id, action: Action::Delete, if_match: None, if_none_match: None });
        Self { key, epk, steps: ids.into_iter().map(step).collect(), sees_expired: true }
    }
}

/// The refusal of a key with too few values.
pub(super) fn incomplete_key() -> Refusal {
    Refusal::new(
        400,
        "PartitionKey value must be supplied for this operation, with a value for each level.",
    )
    .with_sub_status(1001)
}

impl Step {
    fn prepare(container: &Container, key: &[Json], given: ItemOperation) -> Result<Self, Refusal> {
        let ItemOperation { operation, id, if_match, if_none_match } = given;
        let (mode, json) = match operation {
            Operation::Create(json) => (Mode::Create, json),
            Operation::Upsert(json) => (Mode::Upsert, json),
            Operation::Replace(json) => (Mode::Replace, json),
            Operation::Patch(patch) => {
                return Self::of_id(id, Action::Patch(patch), if_match, if_none_match);
            }
            Operation::Delete => return Self::of_id(id, Action::Delete, if_match, if_none_match),
            Operation::Read => return Self::of_id(id, Action::Read, if_match, if_none_match),
        };
        let body = Body::new(json)?;
        let Some(Json::Text(own_id)) = body.json.get("id") else {
            return Err(Refusal::new(
                400,
                "The input content is invalid because the required properties - 'id; ' - are missing",
            ));
        };
        let own_id = own_id.to_string();
        if id.as_ref().is_some_and(|id| *id != own_id) {
            return Err(Refusal::new(
                400,
                "The id of the body is another than the one of the request.",
            ));
        }
        if mode != Mode::Replace {
            definition::check_name(&own_id)?;
        }
        let values = epk::values_of_item(&body.json, &container.definition.key_paths)?;
        let mismatch = (values != key).then(|| {
            let text = "PartitionKey extracted from document doesn't match the one specified in the header. Learn more: https://aka.ms/CosmosDB/sql/errors/wrong-pk-value";
            Refusal::new(400, text).with_sub_status(1001)
        });
        Ok(Self {
            id: own_id,
            action: Action::Put { mode, body, mismatch },
            if_match,
            if_none_match,
        })
    }

    fn of_id(
        id: Option<String>,
        action: Action,
        if_match: Option<String>,
        if_none_match: Option<String>,
    ) -> Result<Self, Refusal> {
        let id = id.ok_or_else(|| Refusal::new(400, "The operation has no id."))?;
        Ok(Self { id, action, if_match, if_none_match })
    }
}

impl Body {
    fn new(mut json: Json) -> Result<Self, Refusal> {
        let Json::Object(properties) = &mut json else {
            return Err(Refusal::new(400, "The input content is invalid: an item is an object."));
        };
        properties.retain(|(name, _)| !SYSTEM_PROPERTIES.contains(&name.as_ref()));
        let mut bytes = Vec::new();
        json.write(&mut bytes);
        if bytes.len() > MAX_ITEM_BYTES {
            return Err(Refusal::new(413, "Request size is too large"));
        }
        bytes.pop();
        let ttl = match json.get("ttl") {
            None => 0,
            Some(Json::Number(ttl)) if ttl.fract() == 0.0 && definition::is_ttl(*ttl as i64) => {
                *ttl as i32
            }
            Some(other) => {
                let mut text = Vec::new();
                other.write(&mut text);
                return Err(Refusal::new(
                    400,
                    format!(
                        "The input ttl '{}' is invalid. Ensure to provide a nonzero positive integer less than or equal to '2147483647', or the value of '-1'.",
                        String::from_utf8_lossy(&text),
                    ),
                ));
            }
        };
        Ok(Self { json, bytes, ttl })
    }
}

/// An item of the transaction: as it is stored, and as it is after the steps so far.
struct Slot {
    id: String,
    stored: Option<(u64, Arc<Record>)>,
    now: Option<(u64, Arc<Record>)>,
    /// The body of `now`, if a step has written it.
    json: Option<Json>,
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
    versions: Vec<Written>,
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
    ) -> Result<Committed, Refusal> {
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
                    let other =
                        || Refusal::new(424, "Another operation of the transaction failed.");
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
        container
            .partitions
            .iter_mut()
            .filter(|one| one.id == partition)
            .for_each(|one| one.lsn = lsn + 1);
        for (row, rid) in unique {
            match rid {
                Some(rid) => _ = container.unique.insert(row.into(), rid),
                None => _ = container.unique.remove(&*row),
            }
        }
        for slot in slots.into_iter().filter(|slot| slot.changed) {
            container.write(&given.epk, slot, self.rows.as_mut());
        }
        for (number, version) in (0_u32..).zip(versions) {
            let key = (partition, lsn + 1, number);
            if let Some(rows) = &mut self.rows {
                rows.push(Row {
                    container: id,
                    kind: Kind::Versions,
                    key: feed::version_bytes(key),
                    value: Some(version.to_bytes()),
                });
            }
            container.versions.insert(key, Arc::new(version));
        }
        Ok(Committed { results, partition, lsn: lsn + 1 })
    }

    /// Removes an item whose time to live has ended, if it still has.
    pub(super) fn expire(
        &mut self,
        id: ContainerId,
        item_key: &[u8],
        now: i64,
    ) -> Result<bool, Refusal> {
        let container = self.catalog.container(id)?;
        let end = |record: &Record| record.expires(container.definition.default_ttl);
        let Some(record) = container
            .items
            .get(item_key)
            .filter(|record| end(record).is_some_and(|end| end <= now))
        else {
            return Ok(false);
        };
        let item = Json::parse(&record.body)?;
        let key = epk::values_of_item(&item, &container.definition.key_paths)?;
        let item_id = item.get("id").and_then(Json::as_str).unwrap_or_default().to_owned();
        let deletion = Transaction::deletion(key, epk_of(item_key).to_vec(), vec![item_id]);
        Ok(self.transact(id, deletion, true)?.results.iter().all(Result::is_ok))
    }
}

/// Returns the key of an item.
fn item_key(epk: &[u8], rid: u64) -> Key {
    [epk, &rid.to_be_bytes()].concat().into()
}

impl Container {
    /// Writes what a transaction has made of an item.
    fn write(&mut self, epk: &[u8], slot: Slot, rows: Option<&mut Vec<Row>>) {
        let default_ttl = self.definition.default_ttl;
        let id_key = || Key::from([epk, slot.id.as_bytes()].concat());
        let rids = [&slot.stored, &slot.now].map(|version| version.as_ref().map(|(rid, _)| *rid));
        let mut changed = Vec::new();
        if let Some((rid, old)) = &slot.stored {
            let key = item_key(epk, *rid);
            self.log.remove(&(old.partition, old.lsn, *rid));
            if let Some(end) = old.expires(default_ttl) {
                self.ttl.remove(&(end, *rid));
            }
            if !self.indexes.is_empty() {
                self.index_remove(&key, &old.body);
            }
            if rids[0] != rids[1] {
                self.items.remove(&*key);
                self.ids.remove(&*id_key());
                changed.push((key, None));
            }
        }
        if let Some((rid, new)) = slot.now {
            let key = item_key(epk, rid);
            self.log.insert((new.partition, new.lsn, rid), Arc::clone(&key));
            if rids[0] != rids[1] {
                self.ids.insert(id_key(), rid);
            }
            if let Some(end) = new.expires(default_ttl) {
                self.ttl.insert((end, rid), Arc::clone(&key));
            }
            if let Some(json) = slot.json.as_ref().filter(|_| !self.indexes.is_empty()) {
                self.index_insert(&key, json);
            }
            self.items.insert(Arc::clone(&key), Arc::clone(&new));
            changed.push((key, Some(new)));
        }
        if let Some(rows) = rows {
            rows.extend(changed.into_iter().map(|(key, record)| Row {
                container: self.id,
                kind: Kind::Items,
                key,
                value: record.map(|record| record.to_bytes()),
            }));
        }
    }

    /// Takes an item that was read from the disk.
    pub(super) fn restore(&mut self, key: Key, record: Record) -> Result<(), Refusal> {
        let (epk, rid) = (epk_of(&key), super::record::rid_of(&key));
        let paths = self.definition.unique_keys.iter().flatten();
        let names: Vec<_> = paths
            .filter_map(|path| path.names().first().map(String::as_str))
            .chain(["id"])
            .collect();
        let item = record.properties(&names)?;
        let id = item.get("id").and_then(Json::as_str).unwrap_or_default();
        self.ids.insert([epk, id.as_bytes()].concat().into(), rid);
        self.log.insert((record.partition, record.lsn, rid), Arc::clone(&key));
        if let Some(end) = record.expires(self.definition.default_ttl) {
            self.ttl.insert((end, rid), Arc::clone(&key));
        }
        for row in self.unique_rows(epk, &item) {
            self.unique.insert(row.into(), rid);
        }
        self.items.insert(key, Arc::new(record));
        Ok(())
    }

    /// Returns a row for each unique key. A missing value counts as null.
    fn unique_rows(&self, epk: &[u8], item: &Json) -> Vec<Vec<u8>> {
        let row =
            |(number, paths): (usize, &Vec<cosmos_model::partitioning::path::PropertyPath>)| {
                let mut row = [epk, &number.to_be_bytes()].concat();
                for path in paths {
                    encoding::write(epk::find(item, path.names()).or(Some(&Json::Null)), &mut row);
                }
                row
            };
        self.definition.unique_keys.iter().enumerate().map(row).collect()
    }
}

impl Staged<'_> {
    /// Computes a step.
    fn step(&mut self, step: Step) -> Result<Done, Refusal> {
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
                self.version("delete", *rid, &id, Some(record), None);
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
        self.version(
            if old.is_some() { "replace" } else { "create" },
            rid,
            &id,
            old,
            Some(&record),
        );
        self.set(place, Some((rid, record, body.json)));
        let status = if before.is_some() { 200 } else { 201 };
        Ok(Done { status, item: Some(item), before: before_item })
    }

    fn item(&self, rid: u64, record: &Record) -> Item {
        record.item(&item_key(self.epk, rid))
    }

    fn set(&mut self, place: usize, new: Option<(u64, Arc<Record>, Json)>) {
        if let Some(slot) = self.slots.get_mut(place) {
            let (now, json) = new.map(|(rid, record, json)| ((rid, record), json)).unzip();
            (slot.now, slot.json, slot.changed) = (now, json, true);
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
        self.slots.push(Slot { id: id.to_owned(), stored, now, json: None, changed: false });
        self.slots.len() - 1
    }

    fn load(&self, rid: u64) -> Option<&Arc<Record>> {
        self.container.items.get(&*item_key(self.epk, rid))
    }

    fn lives(&self, record: &Record) -> bool {
        record.expires(self.container.definition.default_ttl).is_none_or(|end| end > self.ts)
    }

    /// Takes the unique keys of a new body.
    fn claim(&mut self, rid: u64, old: Option<&Arc<Record>>, new: &Json) -> Result<(), Refusal> {
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
    fn release(&mut self, rid: u64, old: &Record) -> Result<(), Refusal> {
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
    ) {
        if self.container.definition.retention_minutes.is_none() {
            return;
        }
        let mut key = Vec::new();
        Json::Array(self.key.to_vec()).write(&mut key);
        self.versions.push(Written {
            time: self.ts,
            operation,
            expired: self.expired,
            previous_lsn: old.map(|old| old.lsn),
            item_key: item_key(self.epk, rid),
            id: id.to_owned(),
            key: String::from_utf8_lossy(&key).into_owned(),
            current: new.cloned(),
        });
    }
}
