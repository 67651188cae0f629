//! What the store has besides items: databases, containers with their partitions and indexes, offers.

use std::{collections::BTreeMap, sync::Arc};

use imbl::OrdMap;
use serde_json::{Value, json};

use super::{
    ContainerId, Definition, EpkRange, Lsn, Name, Partition,
    feed::{VersionKey, Written},
    record::{self, Key, Record},
};
use crate::Refusal;

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

/// A container with its items.
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
    pub versions: OrdMap<VersionKey, Arc<Written>>,
}

/// An index, complete or not.
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
    /// Returns the partition that has an effective partition key.
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
            let end = |record: &Record| record.expires(self.definition.default_ttl);
            let items = self.items.iter();
            self.ttl = items
                .filter_map(|(key, record)| {
                    Some(((end(record)?, record::rid_of(key)), Arc::clone(key)))
                })
                .collect();
        }
        if old.json["indexingPolicy"] != self.definition.json["indexingPolicy"] {
            // Those that a query needs are built again.
            self.indexes.clear();
        }
        if self.definition.retention_minutes.is_none() {
            self.versions.clear();
        }
    }

    /// Returns the container as JSON, as it is kept.
    fn to_json(&self) -> Value {
        let partitions: Vec<_> = self
            .partitions
            .iter()
            .map(|one| json!([one.id, one.range.from, one.range.until, one.parents]))
            .collect();
        json!({
            "database": self.database, "definition": self.definition.json, "partitions": partitions,
            "nextPartition": self.next_partition,
        })
    }

    /// Returns the LSNs and the number of the last item, as they are kept.
    fn counts(&self) -> Value {
        json!([self.rid, self.partitions.iter().map(|one| one.lsn).collect::<Vec<_>>()])
    }

    fn read(id: ContainerId, store: u32, json: &Value, counts: &Value) -> Option<Self> {
        let bytes = |value: &Value| serde_json::from_value(value.clone()).ok();
        let number = |value: &Value| u32::try_from(value.as_u64()?).ok();
        let lsn = |place: usize| counts[1][place].as_u64();
        let partitions = json["partitions"].as_array()?.iter().enumerate().map(|(place, one)| {
            Some(Partition {
                id: number(&one[0])?,
                range: EpkRange { from: bytes(&one[1])?, until: bytes(&one[2])? },
                parents: one[3].as_array()?.iter().map(number).collect::<Option<_>>()?,
                lsn: lsn(place)?,
            })
        });
        let database = number(&json["database"])?;
        Some(Self {
            definition: Arc::new(Definition::read(json["definition"].clone())),
            partitions: partitions.collect::<Option<_>>()?,
            next_partition: number(&json["nextPartition"])?,
            rid: counts[0].as_u64()?,
            ..Self::empty(id, database, store)
        })
    }
}

/// The rows of the catalog that a transaction has changed: key and value, `None` for a removed one.
pub(super) type Changed = Vec<(Vec<u8>, Option<Vec<u8>>)>;

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
        let text = |value: &Value| Some(value.to_string().into_bytes());
        // Time alone is no change.
        if self.counters != (Counters { ts: self.counters.ts, ..old.counters }) {
            let Counters { database, container, offer, write, ts } = self.counters;
            rows.push((
                key(b'n', 0),
                text(&json!([self.store, database, container, offer, write, ts])),
            ));
        }
        for (letter, new, old) in
            [(b'd', &self.databases, &old.databases), (b'o', &self.offers, &old.offers)]
        {
            for (number, value) in new {
                if !old.get(number).is_some_and(|old| Arc::ptr_eq(old, value)) {
                    rows.push((key(letter, *number), text(value)));
                }
            }
            rows.extend(
                old.keys()
                    .filter(|number| !new.contains_key(number))
                    .map(|number| (key(letter, *number), None)),
            );
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
                rows.push((key(b'c', *number), text(&container.to_json())));
            }
            rows.push((key(b'l', *number), text(&container.counts())));
        }
        for number in old.containers.keys().filter(|number| !self.containers.contains_key(number)) {
            rows.extend([(key(b'c', *number), None), (key(b'l', *number), None)]);
        }
        rows
    }

    /// Reads the catalog from its rows; `None` of something else.
    pub(super) fn read(rows: &BTreeMap<Vec<u8>, Vec<u8>>) -> Option<Self> {
        let json = |key: &[u8]| -> Option<Value> { serde_json::from_slice(rows.get(key)?).ok() };
        let [store, database, container, offer] = [0, 1, 2, 3].map(|place| {
            json(&key(b'n', 0)).and_then(|counters| u32::try_from(counters[place].as_u64()?).ok())
        });
        let counters = json(&key(b'n', 0))?;
        let mut catalog = Self {
            store: store?,
            counters: Counters {
                database: database?,
                container: container?,
                offer: offer?,
                write: counters[4].as_u64()?,
                ts: counters[5].as_i64()?,
            },
            ..Self::default()
        };
        for key in rows.keys() {
            let (letter, number) = key.split_first()?;
            let number = u32::from_be_bytes(number.try_into().ok()?);
            match letter {
                b'd' => _ = catalog.databases.insert(number, Arc::new(json(key)?)),
                b'o' => _ = catalog.offers.insert(number, Arc::new(json(key)?)),
                b'c' => {
                    let counts = json(&self::key(b'l', number))?;
                    let container = Container::read(number, catalog.store, &json(key)?, &counts)?;
                    catalog.containers.insert(number, Arc::new(container));
                }
                _ => {}
            }
        }
        Some(catalog)
    }

    /// Returns the number of a database.
    pub(super) fn database(&self, name: Name<'_>) -> Option<u32> {
        self.databases
            .iter()
            .find(|(_, json)| name.is_of(&json["id"], &json["_rid"]))
            .map(|(number, _)| *number)
    }

    /// Returns the containers of a database.
    pub(super) fn containers_of(&self, database: u32) -> impl Iterator<Item = &Arc<Container>> {
        self.containers.values().filter(move |container| container.database == database)
    }

    pub(super) fn container(&self, id: ContainerId) -> Result<&Arc<Container>, Refusal> {
        self.containers.get(&id).ok_or_else(not_found)
    }

    /// Returns a container, to change it.
    pub(super) fn container_mut(&mut self, id: ContainerId) -> Result<&mut Container, Refusal> {
        self.containers.get_mut(&id).map(Arc::make_mut).ok_or_else(not_found)
    }

    /// Returns the number of the next write.
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

/// The refusal of what does not exist.
pub(super) fn not_found() -> Refusal {
    Refusal::new(404, "Resource Not Found. Learn more: https://aka.ms/cosmosdb-tsg-not-found")
}

/// The refusal of what exists.
pub(super) fn conflict() -> Refusal {
    Refusal::new(409, "Resource with specified id or name already exists.")
}

/// The refusal of another ETag.
pub(super) fn precondition() -> Refusal {
    Refusal::new(
        412,
        "{\"Errors\":[\"One of the specified pre-condition is not met. Learn more: https://aka.ms/CosmosDB/sql/errors/precondition-failed\"]}",
    )
}
