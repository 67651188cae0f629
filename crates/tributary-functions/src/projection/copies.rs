//! Copies of one source: the same, or a part of it, in other partitions or containers.
//!
//! # How a domain uses it
//!
//! 1. Every write of a source that a copy shows raises its version; a deleted one leaves a
//!    [tombstone](crate::engines::tombstone).
//! 2. A type implements [`Copies`]. [`Copies::copies_of`] is the definition: the copies of a source in this
//!    state, with their partitions and ids. A deleted source has tombstones for copies.
//! 3. [`CopyProjection`] of it, with the containers, is a line among the projections of the domain.
//! 4. With [`AuditedCopies`], [`Audit::of_copies`](crate::audit::Audit::of_copies) checks and repairs them.
//! 5. A line in `tests/it/` puts it under the proof (`tributary_testing::proof`).
//!
//! A copy under one id converges ([`crate::projection`]). Where its partition or id depends on the owner, the
//! change feed may never deliver the tombstone between two owners. So the source keeps its
//! [former owners](crate::engines::tombstone::FormerOwners), and the definition has a tombstone for the copy of
//! each of them, in the version in which the owner lost the source.

use std::marker::PhantomData;

use futures::future::BoxFuture;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};

use super::{ChangeFeedItem, Effect, NotedErrors, Origin, Projection, origin::sound};
use crate::{
    cosmos::{Container, ETag, Reason, StoreError, Stored},
    engines::tombstone::{self, FormerOwners},
};

/// The definition of copies.
pub trait Copies: Send + Sync + 'static {
    /// The function's name, in `functions/`.
    const FUNCTION: &'static str;
    /// An item of the container of the sources, with its type.
    type Change: ChangeFeedItem;
    /// An item of the container of the copies, with its type.
    type Copy: Serialize + DeserializeOwned + Send + Sync;

    /// Returns the copies of a change, each with its partition and id; tombstones have a time to live.
    fn copies_of(change: &Self::Change) -> Vec<VersionedCopy<Self::Copy>>;

    /// Returns true if the source is to be read again, as [`ChangeFeedItem::may_be_rewritten`] says.
    fn may_be_rewritten(change: &Self::Change) -> bool {
        change.may_be_rewritten()
    }
}

/// Copies that the audit checks by their definition (`CopiesChecks`), alone in their container.
pub trait AuditedCopies: Copies {
    /// The property that is the partition key of the copies.
    const PARTITION_KEY: &'static str;

    /// Returns partition key and id of the source of a copy; `None` for an item that has none.
    fn source(copy: &Self::Copy) -> Option<(String, String)>;
}

/// The projection that updates copies from their sources.
pub struct CopyProjection<C> {
    pub(crate) sources: Container,
    pub(crate) copies: Container,
    definition: PhantomData<fn() -> C>,
}

impl<C: Copies> Projection for CopyProjection<C> {
    const FUNCTION: &'static str = C::FUNCTION;
    type Change = C::Change;

    fn container(&self) -> &Container {
        &self.sources
    }

    async fn apply(&self, change: &C::Change) -> Result<Effect, StoreError> {
        self.write_copies(change, false).await
    }

    async fn apply_again(&self, change: &C::Change) -> Result<Effect, StoreError> {
        self.write_copies(change, true).await
    }
}

impl<C: Copies> CopyProjection<C> {
    /// Creates the projection from a container of sources, whose change feed it reads, to one of copies.
    pub fn new(sources: &Container, copies: &Container) -> Self {
        Self { sources: sources.clone(), copies: copies.clone(), definition: PhantomData }
    }

    async fn write_copies(
        &self,
        change: &C::Change,
        may_be_there: bool,
    ) -> Result<Effect, StoreError> {
        let change = sound(change, C::may_be_rewritten(change), &self.sources).await?;
        let Some(change) = change else { return Ok(Effect::Unchanged) };
        // A copy that cannot be written stops no other.
        let mut effect = Effect::Unchanged;
        let mut errors = NotedErrors::default();
        for copy in C::copies_of(&change) {
            match errors.note(copy.write(&self.copies, may_be_there).await) {
                None | Some(Effect::Unchanged) => {}
                Some(written) => effect = written,
            }
        }
        errors.into_result().map(|()| effect)
    }
}

/// A copy, or the tombstone of a deleted one, to be written, with the version as its property `version`.
pub struct VersionedCopy<T> {
    /// The logical partition of the copy.
    pub partition: String,
    /// The id of the copy, derived from that of the source.
    pub id: String,
    /// The version of the source.
    pub version: u64,
    /// The copy.
    pub item: T,
}

impl<T> VersionedCopy<T> {
    /// Returns the copies of a source with its owners, all under one id: the `live` copy or a tombstone, and
    /// tombstones with the former owners.
    pub fn of_owners(
        id: &str,
        (owner, live): ((&str, u64), Option<(T, u64)>),
        former: &FormerOwners,
        tombstone: impl Fn(&str, u64) -> Option<T>,
    ) -> Vec<Self> {
        let copy = |partition: &str, version, item| {
            let [partition, id] = [partition, id].map(str::to_owned);
            Self { partition, id, version, item }
        };
        let deleted = |(owner, version)| Some(copy(owner, version, tombstone(owner, version)?));
        let own = match live {
            Some((item, version)) => Some(copy(owner.0, version, item)),
            None => deleted(owner),
        };
        let former = former.iter().filter_map(|it| deleted((&it.id, it.version)));
        own.into_iter().chain(former).collect()
    }
}

impl VersionedCopy<Value> {
    /// Returns the copy of a changed source in the logical partition of this property and value: the properties of
    /// `live`, with the version of the source; a tombstone without them. None of a change that is no source.
    pub fn of(
        change: &impl ChangeFeedItem,
        id: impl AsRef<str>,
        (key, partition): (&str, impl AsRef<str>),
        live: Option<impl Serialize>,
    ) -> Vec<Self> {
        let Some(Origin { version, .. }) = change.origin() else { return Vec::new() };
        let [partition, id] = [partition.as_ref(), id.as_ref()].map(str::to_owned);
        let mut item = match live.map(serde_json::to_value) {
            Some(Ok(Value::Object(live))) => live,
            _ => Map::from_iter([("ttl".to_owned(), tombstone::TTL_SECONDS.into())]),
        };
        item.insert("id".to_owned(), id.clone().into());
        item.insert(key.to_owned(), partition.clone().into());
        item.insert("version".to_owned(), version.into());
        vec![Self { partition, id, version, item: Value::Object(item) }]
    }
}

impl<T: ChangeFeedItem> VersionedCopy<T> {
    /// Returns a copy whose place and version are those of the item itself, in the container of the copies.
    pub fn from_item(item: T) -> Option<Self> {
        let Origin { partition, id, version } = item.origin()?;
        Some(Self { partition, id, version, item })
    }
}

impl<T: Serialize + DeserializeOwned + Sync> VersionedCopy<T> {
    /// Writes the copy, unless the store has this version or a newer one: under the ETag that was read, or as a new
    /// item. The first version is one store request, any other two. One that `may_be_there` is read first.
    pub async fn write(
        &self,
        container: &Container,
        may_be_there: bool,
    ) -> Result<Effect, StoreError> {
        if self.version == 1 && !may_be_there {
            match container.create(&self.partition, &self.id, &self.item).await {
                Ok(_) => return Ok(Effect::Applied),
                Err(error) if error.reason == Reason::Conflict => {}
                Err(error) => return Err(error),
            }
        }
        let there = StoredCopy::read(container, &self.partition, &self.id).await?;
        match CopySlot::new(there.as_ref(), self.version) {
            CopySlot::Open(etag) => {
                container.put(&self.partition, &self.id, &self.item, etag.as_ref()).await?;
                Ok(Effect::Applied)
            }
            CopySlot::Taken(effect) => Ok(effect),
        }
    }
}

#[derive(Debug, Clone)]
pub(crate) struct StoredCopy {
    pub version: u64,
    pub etag: ETag,
}

impl StoredCopy {
    pub(crate) fn read<'a>(
        container: &'a Container,
        partition: &'a str,
        id: &'a str,
    ) -> BoxFuture<'a, Result<Option<Self>, StoreError>> {
        #[derive(Deserialize)]
        struct Version {
            version: u64,
        }
        Box::pin(async move {
            let there = container.read(partition, id).await.inspect_err(|error| {
                if error.reason == Reason::Unreadable {
                    tracing::error!(
                        container = container.id(),
                        partition_key = partition,
                        id,
                        "A copy cannot be read"
                    );
                }
            })?;
            Ok(there.map(|Stored { item: Version { version }, etag }| Self { version, etag }))
        })
    }
}

pub(crate) enum CopySlot {
    Open(Option<ETag>),
    Taken(Effect),
}

impl CopySlot {
    pub(crate) fn new(there: Option<&StoredCopy>, version: u64) -> Self {
        match there {
            Some(copy) if copy.version > version => Self::Taken(Effect::Older),
            Some(copy) if copy.version == version => Self::Taken(Effect::Unchanged),
            older => Self::Open(older.map(|copy| copy.etag.clone())),
        }
    }
}
