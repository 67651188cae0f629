//! Reads of a state of the store.

use std::{collections::VecDeque, ops::Bound, sync::Arc};

use super::{
    ContainerId, Definition, EpkRange, Item, Items, Name, Partition, Resource,
    catalog::{Catalog, Container},
    epk, index,
    record::{Key, Record},
    steps,
    writer::now,
};
use crate::{Result, json::Json};

/// A state of the whole store, which never changes. Cloning is cheap.
#[derive(Clone, Debug)]
pub struct View(Arc<Catalog>);

impl View {
    pub(super) fn new(catalog: Catalog) -> Self {
        Self(Arc::new(catalog))
    }

    pub(super) fn catalog(&self) -> &Catalog {
        &self.0
    }

    pub(super) fn partition(
        &self,
        container: ContainerId,
        partition: u32,
    ) -> Option<(&Container, &Partition)> {
        let container = self.catalog().containers.get(&container)?;
        Some((container, container.partitions.iter().find(|one| one.id == partition)?))
    }

    /// Returns the databases.
    pub fn databases(&self) -> Vec<Resource> {
        self.catalog().databases.values().map(|json| Resource::new(json)).collect()
    }

    /// Returns a database.
    pub fn database(&self, name: Name<'_>) -> Option<Resource> {
        let database = self.catalog().database(name)?;
        self.catalog().databases.get(&database).map(|json| Resource::new(json))
    }

    /// Returns the containers of a database.
    pub fn containers(&self, database: Name<'_>) -> Vec<(ContainerId, Arc<Definition>)> {
        let database = self.catalog().database(database).into_iter();
        let containers = database.flat_map(|database| self.catalog().containers_of(database));
        containers.map(|one| (one.id, Arc::clone(&one.definition))).collect()
    }

    /// Returns a container.
    pub fn container(
        &self,
        database: Name<'_>,
        container: Name<'_>,
    ) -> Option<(ContainerId, Arc<Definition>)> {
        let database = self.catalog().database(database)?;
        let found =
            self.catalog().containers_of(database).find(|one| container.is_container(one))?;
        Some((found.id, Arc::clone(&found.definition)))
    }

    /// Returns the offers.
    pub fn offers(&self) -> Vec<Resource> {
        self.catalog().offers.values().map(|json| Resource::new(json)).collect()
    }

    /// Returns the physical partitions of a container, in the order of their ranges.
    pub fn partitions(&self, container: ContainerId) -> Vec<Partition> {
        let container = self.catalog().containers.get(&container);
        container.map(|one| one.partitions.clone()).unwrap_or_default()
    }

    /// Returns the number of items of a container, with those whose time to live has ended since the last second.
    pub fn item_count(&self, container: ContainerId) -> usize {
        self.catalog().containers.get(&container).map_or(0, |one| one.items.len())
    }

    /// Returns the effective partition keys of a key, or of a prefix of a hierarchical one: `[{}]` is a missing value.
    ///
    /// # Errors
    /// 400 for a bad key, and for one with too many levels.
    pub fn range_of(&self, container: ContainerId, key: &Json) -> Result<EpkRange> {
        let definition = &self.catalog().container(container)?.definition;
        let levels = definition.key_paths.len();
        let values = epk::values_of_key(key, levels)?;
        if values.is_empty() {
            return Ok(EpkRange::all());
        }
        let epk = epk::hash(&values, definition.hash_version);
        if values.len() == levels {
            return Ok(EpkRange::point(epk));
        }
        let until = [&*epk, &[0xff]].concat();
        Ok(EpkRange { from: epk, until })
    }

    /// Returns an item; `None` also when its time to live has ended.
    ///
    /// # Errors
    /// 400 for a bad key or a prefix of one.
    pub fn read(&self, container: ContainerId, key: &Json, id: &str) -> Result<Option<Item>> {
        let range = self.range_of(container, key)?;
        if !range.is_point() {
            return Err(steps::incomplete_key());
        }
        Ok(self.read_in(container, &range, id))
    }

    /// Returns the item of a logical partition, the one of this range.
    pub(crate) fn read_in(&self, of: ContainerId, range: &EpkRange, id: &str) -> Option<Item> {
        self.catalog().container(of).ok()?.find(&range.from, id)
    }

    /// Returns the items of a range in the order of a scan, which is that of insertion within a logical partition,
    /// behind a place.
    pub fn scan(&self, container: ContainerId, range: &EpkRange, after: Option<&[u8]>) -> Items {
        let Some(container) = self.catalog().containers.get(&container) else { return Items(None) };
        // The next text behind a place is that place with a zero.
        let after = after.map(|after| [after, &[0]].concat()).unwrap_or_default();
        let range = EpkRange { from: range.from.clone().max(after), until: range.until.clone() };
        Items::new(container, Source::Items, range)
    }
}

impl Container {
    fn find(&self, epk: &[u8], id: &str) -> Option<Item> {
        let rid = self.ids.get(&*[epk, id.as_bytes()].concat())?;
        let key = [epk, &rid.to_be_bytes()].concat();
        let record = self.items.get(&*key)?;
        record.lives(self.definition.default_ttl, now()).then(|| record.item(&key))
    }
}

/// Returns true if there is nothing between two bounds.
pub(super) fn is_empty(from: &[u8], until: &[u8]) -> bool {
    from >= until
}

/// Where [`Items`] come from.
pub(super) enum Source {
    Items,
    Index(index::Rows),
}

/// The rest of a scan. It is read in chunks: an iterator over a persistent map borrows the map.
pub(super) struct Rest {
    container: Arc<Container>,
    source: Source,
    from: Vec<u8>,
    until: Vec<u8>,
    /// How many rows the next chunk has: few at first, since many callers take few.
    chunk: usize,
    read: VecDeque<(Key, Arc<Record>)>,
    is_last: bool,
    now: i64,
}

const FIRST_CHUNK: usize = 8;
const MAX_CHUNK: usize = 512;

impl Items {
    pub(super) fn new(container: &Arc<Container>, source: Source, range: EpkRange) -> Self {
        let EpkRange { from, until } = range;
        let (container, chunk) = (Arc::clone(container), FIRST_CHUNK);
        let (read, is_last, now) = (VecDeque::new(), false, now());
        Self(Some(Rest { container, source, from, until, chunk, read, is_last, now }))
    }
}

impl Rest {
    fn read_chunk(&mut self) {
        let Self { container, source, from, until, chunk, read, .. } = self;
        let last = match source {
            Source::Index(rows) => rows.read(container, from, until, *chunk, read),
            Source::Items if is_empty(from, until) => None,
            Source::Items => {
                let range = (Bound::Included(&**from), Bound::Excluded(&**until));
                let items = container.items.range::<_, [u8]>(range).take(*chunk);
                read.extend(items.map(|(key, record)| (Arc::clone(key), Arc::clone(record))));
                read.back().filter(|_| read.len() == *chunk).map(|(key, _)| Arc::clone(key))
            }
        };
        match (last, &self.source) {
            (None, _) => self.is_last = true,
            (Some(last), Source::Index(index::Rows { reverse: true, .. })) => {
                self.until = last.to_vec();
            }
            (Some(last), _) => self.from = [&*last, &[0]].concat(),
        }
        self.chunk = (self.chunk * 4).min(MAX_CHUNK);
    }
}

impl Iterator for Items {
    type Item = Item;

    fn next(&mut self) -> Option<Item> {
        let rest = self.0.as_mut()?;
        loop {
            while let Some((place, record)) = rest.read.pop_front() {
                if record.lives(rest.container.definition.default_ttl, rest.now) {
                    return Some(record.item(&place));
                }
            }
            if rest.is_last {
                return None;
            }
            rest.read_chunk();
        }
    }
}

impl Resource {
    pub(crate) fn new(json: &serde_json::Value) -> Self {
        Self { rid: json["_rid"].as_str().unwrap_or_default().to_owned(), json: json.clone() }
    }
}
