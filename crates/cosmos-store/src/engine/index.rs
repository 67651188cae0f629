//! Indexes: built when a query asks for one, and then kept by every write.

use std::{collections::VecDeque, ops::Bound, sync::Arc};

use imbl::OrdMap;

use super::{
    ContainerId, EpkRange, IndexRange, Items, View,
    catalog::{Container, Index},
    encoding, epk,
    record::{Key, Record, epk_of},
    view::{Source, is_empty},
    writer::Writer,
};
use crate::{Result, json::Json};

/// How many items a transaction adds to an index that is being built.
const CHUNK: usize = 1000;

/// More indexes a container does not get.
const MAX_INDEXES: usize = 64;

impl Index {
    /// Returns the index's row for an item: within logical partitions the effective partition key comes first, else
    /// the values. Items with the same values follow by their numbers: the SDKs merge partitions by `_rid`.
    fn row(&self, item_key: &[u8], json: &Json) -> Key {
        let epk = epk_of(item_key);
        let mut row = if self.within { epk.to_vec() } else { Vec::new() };
        self.paths.iter().for_each(|path| encoding::write(json.at(path), &mut row));
        row.extend(item_key.iter().skip(epk.len()));
        row.extend(if self.within { &[] } else { epk });
        row.into()
    }

    fn has(&self, item_key: &[u8]) -> bool {
        self.built.as_deref().is_none_or(|built| item_key <= built)
    }

    fn names(&self) -> impl Iterator<Item = &str> {
        self.paths.iter().filter_map(|path| path.first().map(String::as_str))
    }
}

impl Container {
    /// Adds an item to the indexes.
    pub(super) fn index_insert(&mut self, key: &Key, body: &[u8]) {
        let Some(json) = self.indexed(body) else { return };
        for index in self.indexes.iter_mut().filter(|index| index.has(key)) {
            index.rows.insert(index.row(key, &json), Arc::clone(key));
        }
    }

    pub(super) fn index_remove(&mut self, key: &Key, body: &[u8]) {
        let Some(json) = self.indexed(body) else { return };
        for index in self.indexes.iter_mut().filter(|index| index.has(key)) {
            index.rows.remove(&*index.row(key, &json));
        }
    }

    /// Returns the properties of a stored body that have indexes; `_ts` is only there.
    fn indexed(&self, body: &[u8]) -> Option<Json> {
        let names: Vec<_> = self.indexes.iter().flat_map(Index::names).collect();
        // What is stored can be read.
        Json::parse_only(body, &names).ok()
    }

    /// Returns true if the indexing policy has an index of these paths.
    fn allows(&self, paths: &[Vec<String>]) -> bool {
        let policy = &self.definition.policy;
        let is_composite = |index: Vec<Vec<&str>>| {
            index.len() == paths.len() && index.iter().zip(paths).all(|(one, other)| one == other)
        };
        policy.is_on()
            && !paths.is_empty()
            && (paths.iter().all(|path| self.definition.indexes(path))
                || policy.composite_indexes().any(is_composite))
    }
}

impl Writer {
    /// Adds some items to an index, and creates it before; returns true when it is complete, or not allowed.
    pub(super) fn build_index(
        &mut self,
        id: ContainerId,
        paths: &[Vec<String>],
        within: bool,
    ) -> Result<bool> {
        let container = self.catalog.container(id)?;
        let is_it = |index: &Index| index.within == within && *index.paths == *paths;
        let found = container.indexes.iter().position(is_it);
        if found.is_none() && (!container.allows(paths) || container.indexes.len() >= MAX_INDEXES) {
            return Ok(true);
        }
        let container = self.catalog.container_mut(id)?;
        let place = found.unwrap_or_else(|| {
            let (built, rows) = (Some(Vec::new().into()), OrdMap::new());
            container.indexes.push(Index { paths: paths.into(), within, built, rows });
            container.indexes.len() - 1
        });
        let Container { indexes, items, .. } = container;
        let Some(index) = indexes.get_mut(place) else { return Ok(true) };
        let Some(built) = index.built.clone() else { return Ok(true) };
        let behind = (Bound::Excluded(&*built), Bound::Unbounded);
        let mut added = 0;
        index.built = None;
        for (key, record) in items.range::<_, [u8]>(behind).take(CHUNK) {
            // What is stored can be read.
            if let Ok(json) = record.properties(&index.names().collect::<Vec<_>>()) {
                index.rows.insert(index.row(key, &json), Arc::clone(key));
            }
            added += 1;
            if added == CHUNK {
                index.built = Some(Arc::clone(key));
            }
        }
        Ok(index.built.is_none())
    }
}

impl View {
    /// Returns the items of a range in the order of an index. `None` if the state has no such index yet: the caller
    /// scans, and asks the engine to build it ([`super::Engine::build_index`]).
    pub fn lookup(&self, id: ContainerId, range: &EpkRange, wanted: &IndexRange) -> Option<Items> {
        let container = self.catalog().containers.get(&id)?;
        let within = range.is_point();
        let index = container.indexes.iter().find(|one| {
            one.within == within && *one.paths == *wanted.paths && one.built.is_none()
        })?;
        let mut prefix = if within { range.from.clone() } else { Vec::new() };
        wanted.equal.iter().for_each(|value| encoding::write(value.as_ref(), &mut prefix));
        let bound = |value: &Json| {
            let mut bound = prefix.clone();
            encoding::write(Some(value), &mut bound);
            // A value that was cut stands for all with its begin.
            let whole = bound.len() < prefix.len() + encoding::MAX_VALUE_BYTES;
            (bound, whole)
        };
        let mut from = match &wanted.from {
            Some((value, included)) => match bound(value) {
                (bound, true) if !included => epk::successor(&bound),
                (bound, _) => bound,
            },
            None => prefix.clone(),
        };
        let mut until = match &wanted.until {
            Some((value, included)) => match bound(value) {
                (bound, true) if !included => bound,
                (bound, _) => epk::successor(&bound),
            },
            None => epk::successor(&prefix),
        };
        if let Some(number) = wanted.at {
            let row = [&*prefix, &number.to_be_bytes()].concat();
            if wanted.reverse {
                until = epk::successor(&row);
            } else {
                from = row;
            }
        }
        let (all, range) = (index.rows.clone(), range.clone());
        let rows = Rows { all, range, reverse: wanted.reverse };
        Some(Items::new(container, Source::Index(rows), EpkRange { from, until }))
    }
}

/// The rows of an index that a lookup reads.
pub(super) struct Rows {
    all: OrdMap<Key, Key>,
    range: EpkRange,
    pub reverse: bool,
}

impl Rows {
    /// Appends the next items between two bounds, with their places, and returns the place of the last row that was
    /// read; `None` at the end.
    pub(super) fn read(
        &self,
        container: &Container,
        from: &[u8],
        until: &[u8],
        most: usize,
        to: &mut VecDeque<(Key, Arc<Record>)>,
    ) -> Option<Key> {
        if is_empty(from, until) {
            return None;
        }
        let mut rows = self.all.range::<_, [u8]>((Bound::Included(from), Bound::Excluded(until)));
        let mut last = None;
        for _ in 0..most {
            let (row, key) = if self.reverse { rows.next_back() } else { rows.next() }?;
            if self.range.contains(key) {
                let record = container.items.get(key);
                to.extend(record.map(|record| (Arc::clone(key), Arc::clone(record))));
            }
            last = Some(Arc::clone(row));
        }
        last
    }
}
