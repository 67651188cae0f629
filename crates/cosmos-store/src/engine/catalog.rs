//! What the store has besides items: databases, containers with their partitions and indexes, offers.

use std::{collections::BTreeMap, sync::Arc};

use imbl::OrdMap;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    ContainerId, Definition, EpkRange, Lsn, Name, Partition,
    feed::{Version, VersionKey},
    record::{self, Key, Record},
};
use crate::{Refusal, Result};

/// A state of the whole store. Cloning is cheap: the maps are persistent ones.
#[derive(Clone, Default)]
pub(super) struct Catalog {
    /// A random number, part of every ETag.
    pub store: u32,
    pub counters: Counters,
    pub databases: BTreeMap<u32, Arc<Value>>,
    pub containers: BTreeMap<ContainerId, Arc<Container>>,
    pub offers: BTreeMap<u32, Arc<Value>>,
}

/// The last numbers that were given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counters {
    pub database: u32,
    pub container: u32,
    pub offer: u32,
    pub write: u64,
    /// The second of the last write: time does not go back.
    pub ts: i64,
}

impl std::fmt::Debug for Catalog {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Catalog").field("counters", &self.counters).finish_non_exhaustive()
    }
}

#[derive(Clone)]
pub(super) struct Container {
    pub id: ContainerId,
    pub database: u32,
    pub names: Arc<record::Names>,
    pub definition: Arc<Definition>,
    /// In the order of their ranges.
    pub partitions: Vec<Partition>,
    pub next_partition: u32,
    /// The number of the last item.
    pub rid: u64,
    pub indexes: Vec<Index>,
    /// Effective partition key and number → item.
    pub items: OrdMap<Key, Arc<Record>>,
    /// Effective partition key and id → number.
    pub ids: OrdMap<Key, u64>,
    /// Partition, LSN and number of the last write of each item → the item's key.
    pub log: OrdMap<(u32, Lsn, u64), Key>,
    /// The end of the time to live and the number → the item's key.
    pub ttl: OrdMap<(i64, u64), Key>,
    /// A unique key → the number of the item that has it.
    pub unique: OrdMap<Key, u64>,
    /// Partition, LSN and a number → a version, where the container keeps all.
    pub versions: OrdMap<VersionKey, Arc<Version>>,
}

#[derive(Clone)]
pub(super) struct Index {
    pub paths: Arc<[Vec<String>]>,
    /// True for the order of the partition keys first, then of the values.
    pub within: bool,
    /// The items up to this key are in the index; `None` is all.
    pub built: Option<Key>,
    /// The values with the item's key → the item's key.
    pub rows: OrdMap<Key, Key>,
}

impl Container {
    pub(super) fn partition_of(&self, epk: &[u8]) -> Option<&Partition> {
        self.partitions.iter().find(|partition| partition.range.contains(epk))
    }

    /// Returns a container without a definition.
    pub(super) fn empty(id: ContainerId, database: u32, store: u32) -> Self {
        Self {
            id,
            database,
            names: Arc::new(record::Names::new(database, id, store)),
            definition: Arc::new(Definition::read(Value::Null)),
            partitions: Vec::new(),
            next_partition: 0,
            rid: 0,
            indexes: Vec::new(),
            items: OrdMap::new(),
            ids: OrdMap::new(),
            log: OrdMap::new(),
            ttl: OrdMap::new(),
            unique: OrdMap::new(),
            versions: OrdMap::new(),
        }
    }

    /// Takes a new definition, and what depends on it.
    pub(super) fn redefine(&mut self, definition: Definition) {
        let old = std::mem::replace(&mut self.definition, Arc::new(definition));
        if old.default_ttl != self.definition.default_ttl {
            let ends = self.items.iter().filter_map(|(key, record)| {
                let end = record.expires(self.definition.default_ttl)?;
                Some(((end, record::rid_of(key)), Arc::clone(key)))
            });
            self.ttl = ends.collect();
        }
        if old.json["indexingPolicy"] != self.definition.json["indexingPolicy"] {
            // Those that a query needs are built again.
            self.indexes.clear();
        }
        if self.definition.retention_minutes.is_none() {
            self.versions.clear();
        }
    }

    fn stored(&self) -> StoredContainer {
        let partition = |one: &Partition| {
            (one.id, one.range.from.clone(), one.range.until.clone(), one.parents.clone())
        };
        StoredContainer {
            database: self.database,
            definition: self.definition.json.clone(),
            partitions: self.partitions.iter().map(partition).collect(),
            next_partition: self.next_partition,
        }
    }

    fn counts(&self) -> Counts {
        (self.rid, self.partitions.iter().map(|one| one.lsn).collect())
    }

    fn read(id: ContainerId, store: u32, stored: StoredContainer, (rid, lsns): Counts) -> Self {
        let partitions = stored.partitions.into_iter().zip(lsns);
        let partitions = partitions.map(|((id, from, until, parents), lsn)| Partition {
            id,
            range: EpkRange { from, until },
            parents,
            lsn,
        });
        Self {
            definition: Arc::new(Definition::read(stored.definition)),
            partitions: partitions.collect(),
            next_partition: stored.next_partition,
            rid,
            ..Self::empty(id, stored.database, store)
        }
    }
}

/// A container as it is kept, without its items.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct StoredContainer {
    database: u32,
    definition: Value,
    partitions: Vec<StoredPartition>,
    next_partition: u32,
}

/// The number of a partition, the bounds of its range, and the partitions that it was made from.
type StoredPartition = (u32, Vec<u8>, Vec<u8>, Vec<u32>);

/// The number of the last item of a container, and the LSNs of its partitions.
type Counts = (u64, Vec<Lsn>);

/// The rows of the catalog that a transaction has changed: key and value, `None` for a removed one.
pub(super) type Changed = Vec<(Vec<u8>, Option<Vec<u8>>)>;

/// Returns a value as JSON. Writing to memory does not fail.
fn text(value: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(value).unwrap_or_default()
}

fn key(letter: u8, number: u32) -> Vec<u8> {
    let mut key = vec![letter];
    key.extend(number.to_be_bytes());
    key
}

impl Catalog {
    /// Creates the state of a new store.
    pub(super) fn new() -> Self {
        Self { store: uuid::Uuid::new_v4().as_fields().0, ..Self::default() }
    }

    /// Returns the rows in which the catalog differs from an earlier one.
    pub(super) fn changed_since(&self, old: &Self) -> Changed {
        let mut rows = Changed::new();
        // Time alone is no change.
        if self.counters != (Counters { ts: self.counters.ts, ..old.counters }) {
            let Counters { database, container, offer, write, ts } = self.counters;
            let counters = (self.store, database, container, offer, write, ts);
            rows.push((key(b'n', 0), Some(text(&counters))));
        }
        for (letter, new, old) in
            [(b'd', &self.databases, &old.databases), (b'o', &self.offers, &old.offers)]
        {
            let is_known = |(number, value): &(&u32, &Arc<Value>)| {
                old.get(number).is_some_and(|old| Arc::ptr_eq(old, value))
            };
            let changed = new.iter().filter(|row| !is_known(row));
            rows.extend(
                changed.map(|(number, value)| (key(letter, *number), Some(text(&**value)))),
            );
            let gone = old.keys().filter(|number| !new.contains_key(number));
            rows.extend(gone.map(|number| (key(letter, *number), None)));
        }
        for (number, container) in &self.containers {
            let before = old.containers.get(number).map(Arc::as_ref);
            let same = |one: &Container| {
                Arc::ptr_eq(&one.definition, &container.definition)
                    && one.next_partition == container.next_partition
            };
            if before.is_some_and(|before| std::ptr::eq(before, container.as_ref())) {
                continue;
            }
            if !before.is_some_and(same) {
                rows.push((key(b'c', *number), Some(text(&container.stored()))));
            }
            rows.push((key(b'l', *number), Some(text(&container.counts()))));
        }
        for number in old.containers.keys().filter(|number| !self.containers.contains_key(number)) {
            rows.extend([(key(b'c', *number), None), (key(b'l', *number), None)]);
        }
        rows
    }

    /// Reads the catalog from its rows; `None` of something else.
    pub(super) fn read(rows: &BTreeMap<Vec<u8>, Vec<u8>>) -> Option<Self> {
        let counters = serde_json::from_slice(rows.get(&key(b'n', 0))?).ok()?;
        let (store, database, container, offer, write, ts) = counters;
        let counters = Counters { database, container, offer, write, ts };
        let mut catalog = Self { store, counters, ..Self::default() };
        for (key, row) in rows {
            let (letter, number) = key.split_first()?;
            let number = u32::from_be_bytes(number.try_into().ok()?);
            let value = || Some(Arc::new(serde_json::from_slice(row).ok()?));
            match letter {
                b'd' => _ = catalog.databases.insert(number, value()?),
                b'o' => _ = catalog.offers.insert(number, value()?),
                b'c' => {
                    let counts = rows.get(&self::key(b'l', number))?;
                    let counts = serde_json::from_slice(counts).ok()?;
                    let stored = serde_json::from_slice(row).ok()?;
                    let container = Container::read(number, store, stored, counts);
                    catalog.containers.insert(number, Arc::new(container));
                }
                _ => {}
            }
        }
        Some(catalog)
    }

    pub(super) fn database(&self, name: Name<'_>) -> Option<u32> {
        let mut all = self.databases.iter();
        all.find(|(_, json)| name.is_of(&json["id"], &json["_rid"])).map(|(number, _)| *number)
    }

    pub(super) fn containers_of(&self, database: u32) -> impl Iterator<Item = &Arc<Container>> {
        self.containers.values().filter(move |container| container.database == database)
    }

    pub(super) fn container(&self, id: ContainerId) -> Result<&Arc<Container>> {
        self.containers.get(&id).ok_or_else(not_found)
    }

    pub(super) fn container_mut(&mut self, id: ContainerId) -> Result<&mut Container> {
        self.containers.get_mut(&id).map(Arc::make_mut).ok_or_else(not_found)
    }

    pub(super) fn next_write(&mut self) -> u64 {
        self.counters.write += 1;
        self.counters.write
    }
}

impl Name<'_> {
    fn is_of(self, id: &Value, rid: &Value) -> bool {
        match self {
            Self::Id(name) => id == name,
            Self::Rid(name) => rid == name,
        }
    }

    pub(super) fn is_container(self, container: &Container) -> bool {
        self.is_of(&container.definition.json["id"], &container.definition.json["_rid"])
    }
}

pub(crate) fn not_found() -> Refusal {
    Refusal::new(404, "Resource Not Found. Learn more: https://aka.ms/cosmosdb-tsg-not-found")
}

pub(super) fn conflict() -> Refusal {
    Refusal::new(409, "Resource with specified id or name already exists.")
}

/// The refusal of another ETag.
pub(crate) fn precondition() -> Refusal {
    let text = r#"{"Errors":["One of the specified pre-condition is not met. Learn more: https://aka.ms/CosmosDB/sql/errors/precondition-failed"]}"#;
    Refusal::new(412, text)
}
