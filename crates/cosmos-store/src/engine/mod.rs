//! Databases, containers and items.
//!
//! Everything is in memory, in persistent maps: a [`View`] is a state that never changes, and costs nothing to keep.
//! Writes are queued. A thread of the [`Engine`] carries out all that wait, writes them to the file of the store's
//! folder, if it has one, in one transaction, and then publishes the new state. So data on disk has to fit in memory.

use std::{
    path::Path,
    sync::{Arc, PoisonError, RwLock},
};

use bytes::Bytes;
use cosmos_model::{charges::policy::IndexingPolicy, partitioning::path::PropertyPath};
use serde_json::Value;

use crate::{Refusal, Result, json::Json};

mod catalog;
mod definition;
mod disk;
mod encoding;
mod epk;
mod feed;
mod index;
mod items;
mod patch;
mod policies;
mod record;
mod resources;
mod steps;
mod upkeep;
mod view;
mod writer;

#[cfg(test)]
pub(crate) mod tests;

pub use self::view::View;
use self::{catalog::Catalog, disk::Disk, steps::Transaction, writer::Queue};
pub(crate) use self::{
    catalog::{not_found, precondition},
    epk::{hex, unhex},
    feed::Version,
    record::rid_of,
};

/// A log sequence number: the number of a committed transaction in its physical partition, from 1.
pub type Lsn = u64;

/// The number of a container, never used again.
pub type ContainerId = u32;

/// A store. Cloning is cheap.
#[derive(Clone, Debug)]
pub struct Engine {
    queue: Arc<Queue>,
    newest: Arc<RwLock<View>>,
}

/// A range of effective partition keys: from the first one, included, to the end, excluded. Both are the bytes that the
/// SDKs write in hexadecimal digits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EpkRange {
    /// The begin; empty is the lowest one.
    pub from: Vec<u8>,
    /// The end; `[0xff]` is above all.
    pub until: Vec<u8>,
}

/// A physical partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partition {
    /// Its number in the container: `x-ms-documentdb-partitionkeyrangeid`.
    pub id: u32,
    /// Its part of the hash space.
    pub range: EpkRange,
    /// The partitions that it was split or merged from, and theirs.
    pub parents: Vec<u32>,
    /// The LSN of its last transaction.
    pub lsn: Lsn,
}

/// The definition of a container, checked, with the service's defaults.
#[derive(Clone, Debug)]
pub struct Definition {
    /// As it is answered, with `_rid`, `_self`, `_etag`, `_ts`.
    pub json: Value,
    /// The name.
    pub name: String,
    /// The paths of the partition key, one for each level.
    pub key_paths: Vec<PropertyPath>,
    /// The version of the hash, 1 or 2.
    pub hash_version: u8,
    /// Seconds; -1 keeps items without a `ttl` of their own; `None` ignores `ttl`.
    pub default_ttl: Option<i64>,
    /// The paths of each unique key.
    pub(crate) unique_keys: Vec<Vec<PropertyPath>>,
    /// How long the feed of all versions and deletes goes back; `None` without such a feed.
    pub(crate) retention_minutes: Option<i64>,
    /// The paths that may have indexes.
    pub(crate) policy: IndexingPolicy,
}

/// A resource with its properties: a database, a container, an offer.
#[derive(Clone, Debug)]
pub struct Resource {
    /// Its `_rid`.
    pub rid: String,
    /// As it is answered.
    pub json: Value,
}

/// A stored item.
#[derive(Clone, Debug, Default)]
pub struct Item {
    /// Text JSON with the system properties `_rid`, `_self`, `_etag`, `_attachments`, `_ts` at its end.
    pub body: Bytes,
    /// With its quotes.
    pub etag: String,
    /// The LSN of its last write.
    pub lsn: Lsn,
    /// Its place in the order of a scan, for continuations.
    pub place: Vec<u8>,
}

/// What is done to an item.
pub enum Operation {
    /// A new item or a new version.
    Put(Mode, Json),
    /// A partial update.
    Patch(Patch),
    /// The end of the item.
    Delete,
    /// A read within a batch.
    Read,
}

/// What an item is put in the place of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Of none.
    Create,
    /// Of another, or of none.
    Upsert,
    /// Of another.
    Replace,
}

/// A partial update: at most 10 operations, all or none.
pub struct Patch {
    /// `add`, `set`, `replace`, `remove`, `incr`, `move`, as in the request.
    pub operations: Vec<Json>,
    /// The condition, which has to be true for the item.
    pub condition: Option<Condition>,
}

/// Returns whether an item may be patched.
pub type Condition = Box<dyn Fn(&Json) -> Result<bool> + Send>;

/// An operation on one item.
pub struct ItemOperation {
    /// What is done.
    pub operation: Operation,
    /// The id; `None` takes it from the body.
    pub id: Option<String>,
    /// `If-Match`
    pub if_match: Option<String>,
    /// `If-None-Match`
    pub if_none_match: Option<String>,
}

/// The result of an operation.
#[derive(Debug)]
pub struct Done {
    /// 200, 201, 204 or 304.
    pub status: u16,
    /// The item afterwards; of a deletion `None`.
    pub item: Option<Item>,
    /// The item before.
    pub before: Option<Item>,
}

/// The end of a transaction.
#[derive(Debug)]
pub struct Committed {
    /// Of each operation. An error means that nothing was written: the others are then 424.
    pub results: Vec<Result<Done>>,
    /// The physical partition.
    pub partition: u32,
    /// The LSN of the transaction, or of the state in which it was refused.
    pub lsn: Lsn,
}

impl Committed {
    /// Returns the result of the only operation.
    ///
    /// # Errors
    /// That of the operation.
    pub fn into_one(mut self) -> Result<Done> {
        self.results.pop().unwrap_or_else(|| Err(Refusal::new(500, "The store gave no result.")))
    }
}

/// A page of the change feed.
#[derive(Debug)]
pub struct Changes {
    /// The latest versions, in the order of their LSNs. Items of one LSN are all on one page.
    pub items: Vec<Item>,
    /// The LSN behind which the next page begins.
    pub until: Lsn,
    /// True if there is more now.
    pub more: bool,
}

/// An index of a container over the values of some paths, and the part of it that a query reads.
#[derive(Clone, Debug, Default)]
pub struct IndexRange {
    /// The paths, in the order of the index. Each is a list of names.
    pub paths: Vec<Vec<String>>,
    /// Values that the first paths equal.
    pub equal: Vec<Option<Json>>,
    /// Bounds of the path after those: a value, and whether it is included.
    pub from: Option<(Json, bool)>,
    /// The upper bound.
    pub until: Option<(Json, bool)>,
    /// True to read from the end.
    pub reverse: bool,
    /// The number of the item at which the items begin, if all paths have their values in `equal`: items with the same
    /// values are in the order of their numbers, the last 8 bytes of [`Item::place`].
    pub at: Option<u64>,
}

/// The name of a database or container, or its `_rid`.
#[derive(Clone, Copy, Debug)]
pub enum Name<'a> {
    /// A name.
    Id(&'a str),
    /// A `_rid`.
    Rid(&'a str),
}

impl Engine {
    /// Opens the store in a folder, or a new one in memory.
    ///
    /// # Errors
    /// When the folder is in use, cannot be read or written, or holds something else.
    pub fn open(folder: Option<&Path>) -> Result<Self, std::io::Error> {
        let (disk, catalog) = folder.map(Disk::open).transpose()?.unzip();
        let catalog = catalog.flatten().unwrap_or_else(Catalog::new);
        let newest = Arc::new(RwLock::new(View::new(catalog)));
        let queue = Queue::start(disk, Arc::clone(&newest))?;
        Ok(Self { queue: Arc::new(queue), newest })
    }

    /// Returns the newest state.
    pub fn view(&self) -> View {
        self.newest.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Creates a database. An offer is its content, as in [`Engine::replace_offer`]: the containers of the
    /// database share it.
    ///
    /// # Errors
    /// 409 if it exists; 400 for a bad name or throughput.
    pub async fn create_database(&self, body: &Value, offer: Option<Value>) -> Result<Resource> {
        let name = definition::name_in(body)?.to_owned();
        self.queue.write(move |writer| writer.catalog.create_database(&name, offer.as_ref())).await
    }

    /// Deletes a database with its containers.
    ///
    /// # Errors
    /// 404.
    pub async fn delete_database(&self, database: Name<'_>) -> Result<()> {
        let database = self.view().catalog().database(database).ok_or_else(not_found)?;
        self.queue.write(move |writer| writer.catalog.delete_database(database)).await
    }

    /// Creates a container with this number of physical partitions. Without throughput of its own or of its database
    /// it gets 400 request units a second.
    ///
    /// # Errors
    /// 400 for a bad definition; 404; 409 if it exists.
    pub async fn create_container(
        &self,
        database: Name<'_>,
        definition: &Value,
        partitions: u32,
        throughput: Option<Value>,
    ) -> Result<Resource> {
        let database = self.view().catalog().database(database).ok_or_else(not_found)?;
        let definition = definition::complete(definition)?;
        let create = move |writer: &mut writer::Writer| {
            writer.catalog.create_container(database, definition, partitions, throughput.as_ref())
        };
        self.queue.write(create).await
    }

    /// Replaces the definition of a container: its policies and its time to live.
    ///
    /// # Errors
    /// 400 for another key or a bad definition; 404; 412.
    pub async fn replace_container(
        &self,
        container: ContainerId,
        definition: &Value,
        if_match: Option<&str>,
    ) -> Result<Resource> {
        let definition = definition::complete(definition)?;
        let if_match = if_match.map(str::to_owned);
        let replace = move |writer: &mut writer::Writer| {
            writer.catalog.replace_container(container, definition, if_match.as_deref())
        };
        self.queue.write(replace).await
    }

    /// Deletes a container.
    ///
    /// # Errors
    /// 404.
    pub async fn delete_container(&self, container: ContainerId) -> Result<()> {
        self.queue.write(move |writer| writer.catalog.delete_container(container)).await
    }

    /// Replaces an offer: `{"content": {"offerThroughput": 400}}` or with `offerAutopilotSettings`.
    ///
    /// # Errors
    /// 400, 404.
    pub async fn replace_offer(&self, rid: &str, offer: &Value) -> Result<Resource> {
        let (rid, offer) = (rid.to_owned(), offer.clone());
        self.queue.write(move |writer| writer.catalog.replace_offer(&rid, &offer)).await
    }

    /// Carries out operations on items of one logical partition as one transaction. `key` is the JSON array of the
    /// header `x-ms-documentdb-partitionkey`; `None` takes it from the body of the one operation.
    ///
    /// # Errors
    /// For the whole: 404 of the container, 400 for a bad key.
    pub async fn transact(
        &self,
        container: ContainerId,
        key: Option<&Json>,
        operations: Vec<ItemOperation>,
    ) -> Result<Committed> {
        let view = self.view();
        let transaction =
            Transaction::prepare(view.catalog().container(container)?, key, operations)?;
        drop(view);
        self.queue.write(move |writer| writer.transact(container, transaction, false)).await
    }
}

/// Items in an order, of a state that they hold.
pub struct Items(Option<view::Rest>);
