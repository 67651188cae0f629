//! Databases, containers and items.
//!
//! An [`Engine`] keeps everything in one redb database, in memory or in a file. Reads go to a [`View`], a state that
//! never changes; writes are queued, and a thread of the engine commits all that wait in one transaction of redb.

use std::{path::Path, sync::Arc};

use bytes::Bytes;
use serde_json::Value;

use crate::{Refusal, json::Json};

/// A log sequence number: the number of a committed transaction in its physical partition, from 1.
pub type Lsn = u64;

/// The number of a container, never used again.
pub type ContainerId = u32;

/// A store. Cloning is cheap.
#[derive(Clone, Debug)]
pub struct Engine;

/// A state of the whole store, which never changes. Cloning is cheap.
#[derive(Clone, Debug)]
pub struct View;

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
    pub key_paths: Vec<cosmos_model::partitioning::path::PropertyPath>,
    /// The version of the hash, 1 or 2.
    pub hash_version: u8,
    /// Seconds; -1 keeps items without a `ttl` of their own; `None` ignores `ttl`.
    pub default_ttl: Option<i64>,
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
#[derive(Clone, Debug)]
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
    /// A new item.
    Create(Json),
    /// A new item, or a new version.
    Upsert(Json),
    /// A new version.
    Replace(Json),
    /// A partial update.
    Patch(Patch),
    /// The end of the item.
    Delete,
    /// A read within a batch.
    Read,
}

/// A partial update: at most 10 operations, all or none.
pub struct Patch {
    /// `add`, `set`, `replace`, `remove`, `incr`, `move`, as in the request.
    pub operations: Vec<Json>,
    /// The condition, which has to be true for the item.
    pub condition: Option<Condition>,
}

/// Returns whether an item may be patched.
pub type Condition = Box<dyn Fn(&Json) -> Result<bool, Refusal> + Send>;

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
    pub results: Vec<Result<Done, Refusal>>,
    /// The physical partition.
    pub partition: u32,
    /// The LSN of the transaction, or of the state in which it was refused.
    pub lsn: Lsn,
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

/// A change in the feed of all versions and deletes.
#[derive(Debug)]
pub struct Version {
    /// Its LSN.
    pub lsn: Lsn,
    /// Seconds since 1970.
    pub time: i64,
    /// `create`, `replace` or `delete`.
    pub operation: &'static str,
    /// The item; `None` of a deletion.
    pub current: Option<Item>,
    /// The id and the partition key, for a deletion.
    pub id: String,
    /// The partition key, as JSON array.
    pub key: String,
    /// True for the end of a time to live.
    pub expired: bool,
    /// The LSN of the version before.
    pub previous_lsn: Option<Lsn>,
}

/// An index of a container over the values of some paths, and the part of it that a query reads.
#[derive(Clone, Debug)]
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
    /// The place of the last item that was read: the scan goes on behind it.
    pub after: Option<Vec<u8>>,
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
        let _ = folder;
        todo!()
    }

    /// Returns the newest state.
    pub fn view(&self) -> View {
        todo!()
    }

    /// Creates a database.
    ///
    /// # Errors
    /// 409 if it exists; 400 for a bad name.
    pub async fn create_database(
        &self,
        body: &Value,
        throughput: Option<Value>,
    ) -> Result<Resource, Refusal> {
        let _ = (body, throughput);
        todo!()
    }

    /// Deletes a database with its containers.
    ///
    /// # Errors
    /// 404.
    pub async fn delete_database(&self, database: Name<'_>) -> Result<(), Refusal> {
        let _ = database;
        todo!()
    }

    /// Creates a container with this number of physical partitions.
    ///
    /// # Errors
    /// 400 for a bad definition; 404; 409 if it exists.
    pub async fn create_container(
        &self,
        database: Name<'_>,
        definition: &Value,
        partitions: u32,
        throughput: Option<Value>,
    ) -> Result<Resource, Refusal> {
        let _ = (database, definition, partitions, throughput);
        todo!()
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
    ) -> Result<Resource, Refusal> {
        let _ = (container, definition, if_match);
        todo!()
    }

    /// Deletes a container.
    ///
    /// # Errors
    /// 404.
    pub async fn delete_container(&self, container: ContainerId) -> Result<(), Refusal> {
        let _ = container;
        todo!()
    }

    /// Replaces an offer: `{"content": {"offerThroughput": 400}}` or with `offerAutopilotSettings`.
    ///
    /// # Errors
    /// 400, 404.
    pub async fn replace_offer(&self, rid: &str, offer: &Value) -> Result<Resource, Refusal> {
        let _ = (rid, offer);
        todo!()
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
    ) -> Result<Committed, Refusal> {
        let _ = (container, key, operations);
        todo!()
    }

    /// Deletes all items of a logical partition, some in each transaction.
    ///
    /// # Errors
    /// 404, 400.
    pub async fn delete_partition(
        &self,
        container: ContainerId,
        key: &Json,
    ) -> Result<(), Refusal> {
        let _ = (container, key);
        todo!()
    }

    /// Removes the items whose time to live has ended at this time, in seconds since 1970; returns their number. Reads
    /// leave them out before.
    pub async fn expire(&self, now: i64) -> usize {
        let _ = now;
        todo!()
    }

    /// Splits a physical partition in two at the middle of its items.
    ///
    /// # Errors
    /// 400 if it has a single logical partition; 404.
    pub async fn split(&self, container: ContainerId, partition: u32) -> Result<(), Refusal> {
        let _ = (container, partition);
        todo!()
    }

    /// Merges two neighbours.
    ///
    /// # Errors
    /// 400 if they are none; 404.
    pub async fn merge(&self, container: ContainerId, partitions: [u32; 2]) -> Result<(), Refusal> {
        let _ = (container, partitions);
        todo!()
    }
}

impl View {
    /// Returns the databases.
    pub fn databases(&self) -> Vec<Resource> {
        todo!()
    }

    /// Returns a database.
    pub fn database(&self, name: Name<'_>) -> Option<Resource> {
        let _ = name;
        todo!()
    }

    /// Returns the containers of a database.
    pub fn containers(&self, database: Name<'_>) -> Vec<(ContainerId, Arc<Definition>)> {
        let _ = database;
        todo!()
    }

    /// Returns a container.
    pub fn container(
        &self,
        database: Name<'_>,
        container: Name<'_>,
    ) -> Option<(ContainerId, Arc<Definition>)> {
        let _ = (database, container);
        todo!()
    }

    /// Returns the offers.
    pub fn offers(&self) -> Vec<Resource> {
        todo!()
    }

    /// Returns the physical partitions of a container, in the order of their ranges.
    pub fn partitions(&self, container: ContainerId) -> Vec<Partition> {
        let _ = container;
        todo!()
    }

    /// Returns the effective partition keys of a key, or of a prefix of a hierarchical one: `[{}]` is a missing value.
    ///
    /// # Errors
    /// 400 for a bad key, and for one with too many levels.
    pub fn range_of(&self, container: ContainerId, key: &Json) -> Result<EpkRange, Refusal> {
        let _ = (container, key);
        todo!()
    }

    /// Returns an item; `None` also when its time to live has ended.
    ///
    /// # Errors
    /// 400 for a bad key or a prefix of one.
    pub fn read(
        &self,
        container: ContainerId,
        key: &Json,
        id: &str,
    ) -> Result<Option<Item>, Refusal> {
        let _ = (container, key, id);
        todo!()
    }

    /// Returns the items of a range in the order of a scan, which is that of insertion within a logical partition,
    /// behind a place.
    pub fn scan(&self, container: ContainerId, range: &EpkRange, after: Option<&[u8]>) -> Items {
        let _ = (container, range, after);
        todo!()
    }

    /// Returns the items of a range in the order of an index. `None` if the state has no such index yet: the caller
    /// scans, and asks the engine to build it ([`Engine::build_index`]).
    pub fn lookup(
        &self,
        container: ContainerId,
        range: &EpkRange,
        index: &IndexRange,
    ) -> Option<Items> {
        let _ = (container, range, index);
        todo!()
    }

    /// Returns a page of the latest-version change feed of a range within a physical partition.
    pub fn changes(
        &self,
        container: ContainerId,
        partition: u32,
        range: &EpkRange,
        after: Lsn,
        max_items: usize,
    ) -> Changes {
        let _ = (container, partition, range, after, max_items);
        todo!()
    }

    /// Returns the LSN of the last transaction up to a time, in seconds since 1970.
    pub fn lsn_at(&self, container: ContainerId, partition: u32, time: i64) -> Lsn {
        let _ = (container, partition, time);
        todo!()
    }

    /// Returns a page of the feed of all versions and deletes, and the LSN behind which the next one begins.
    ///
    /// # Errors
    /// 400 if the container has no `changeFeedPolicy`.
    pub fn versions(
        &self,
        container: ContainerId,
        partition: u32,
        range: &EpkRange,
        after: Lsn,
        max_items: usize,
    ) -> Result<(Vec<Version>, Lsn), Refusal> {
        let _ = (container, partition, range, after, max_items);
        todo!()
    }
}

impl Engine {
    /// Builds an index of a container that its policy allows, and keeps it from then on. An index takes memory, so
    /// only those are built that a query asks for.
    pub async fn build_index(
        &self,
        container: ContainerId,
        paths: &[Vec<String>],
        within_logical_partition: bool,
    ) {
        let _ = (container, paths, within_logical_partition);
        todo!()
    }
}

/// Items in an order. They hold a [`View`].
pub struct Items;

impl Iterator for Items {
    type Item = Item;

    fn next(&mut self) -> Option<Item> {
        todo!()
    }
}
