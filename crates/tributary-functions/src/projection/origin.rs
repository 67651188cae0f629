//! The items of a change feed, and their sources.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::atomic::{AtomicBool, Ordering::Relaxed},
};

use futures::{StreamExt, TryStreamExt, stream};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Value, value::RawValue};

use crate::{
    cosmos::{Attempt, Container, ETag, ReadResult, StoreError, Stored, retry},
    engines::command::ItemSlot,
    values::{Timestamp, may_be_rewritten_by_host},
};

const MAX_CONCURRENT_READS: usize = 8;

/// An item of a container whose change feed projections read, with its type: an `enum` of all types.
pub trait ChangeFeedItem: DeserializeOwned + Clone + Send + Sync + 'static {
    /// The property that is the partition key of the container.
    const PARTITION_KEY: &'static str;
    /// The properties that a dead letter does not keep, such as a password.
    const SECRETS: &'static [&'static str] = &[];

    /// Returns the source of the change and its version, for a source and for its tombstone; `None` for all else.
    fn origin(&self) -> Option<Origin>;

    /// Returns true if the Functions host may have rewritten a text of this change that is copied
    /// ([`may_be_rewritten_by_host`]). Then a projection reads the source again: by default each.
    fn may_be_rewritten(&self) -> bool {
        true
    }

    /// Returns the tombstone that the item leaves when its parent is deleted ([`LeavesTombstone`]), if it leaves one.
    fn left(self) -> Option<Self> {
        None
    }
}

/// A type of the items of a container. [`item`](macro@super::item) implements it.
pub trait ContainerItem:
    Clone + Into<Self::Items> + TryFrom<Self::Items, Error = Self::Items>
{
    /// The word for such an item, in a 404.
    const NAME: &'static str;
    /// The function that removes the children of such a tombstone, in `functions/`.
    const CHILDREN: &'static str = "ChildrenOfDeleted";
    /// The `enum` of all items of the container.
    type Items: Serialize + DeserializeOwned + Send + Sync;
    /// The type of its tombstones; the type itself if it leaves none.
    type Tombstone: TryFrom<Self::Items>;

    /// Returns partition key and id.
    fn key(&self) -> (&str, &str);

    /// Returns the version, for sources of copies and for their tombstones.
    fn version(&self) -> Option<u64> {
        None
    }

    /// Returns the source and its version, as [`ChangeFeedItem::origin`] does.
    fn origin(&self) -> Option<Origin> {
        let (partition, id) = self.key();
        self.version().map(|version| Origin::new(partition, id, version))
    }

    /// Returns true if a text that is copied may be rewritten, as [`ChangeFeedItem::may_be_rewritten`] does.
    fn may_be_rewritten(&self) -> bool {
        true
    }

    /// Returns the tombstone that the item leaves, as [`ChangeFeedItem::left`] does.
    fn left(self) -> Option<Self::Items> {
        None
    }
}

/// An item of the framework among those of a container.
#[doc(hidden)]
pub trait FrameworkItem {
    /// Returns the source of which it is a change.
    fn origin(&self) -> Option<Origin>;

    /// Returns false: no text of it is copied.
    fn may_be_rewritten(&self) -> bool {
        false
    }

    /// Returns none: it leaves no tombstone.
    fn left<T>(self) -> Option<T>
    where
        Self: Sized,
    {
        None
    }
}

/// An item that callers see. [`item`](macro@super::item) implements it for a `public(…)`.
pub trait PublicItem: ContainerItem {
    /// The item as callers see it: the body of an answer.
    type Public: Serialize;

    /// Returns the item as callers see it.
    fn public(&self) -> Self::Public;
}

/// An item that leaves a tombstone and may come back in its place: [`item`](macro@super::item) implements it.
pub trait LeavesTombstone: ContainerItem {
    /// Returns the tombstone of the item, in its next version. It knows the command of `created_by`.
    fn leave(self) -> Self::Items;

    /// Returns the item in the place of its tombstone, in the version after it; `None` if this is no such tombstone,
    /// or that of one that the same command created, or the id had too many owners.
    fn recreated(&self, tombstone: Self::Items) -> Option<Self>;
}

impl Container {
    /// Reads an item of this type; `None` if there is none, or one of another type.
    pub async fn item<T: ContainerItem>(
        &self,
        partition: impl AsRef<str>,
        id: impl AsRef<str>,
    ) -> ReadResult<T> {
        let stored = self.read::<T::Items>(partition.as_ref(), id.as_ref()).await?;
        Ok(stored.and_then(Stored::of_type))
    }

    /// Reads the items of this type whose ids are their partition keys, each once: one point read for each, where
    /// copies (of names, say) would be too much. Those that are not there are left out.
    pub async fn items<T: ContainerItem + Send>(
        &self,
        ids: impl IntoIterator<Item = impl AsRef<str>>,
    ) -> Result<BTreeMap<String, T>, StoreError> {
        let ids: BTreeSet<_> = ids.into_iter().map(|id| id.as_ref().to_owned()).collect();
        let reads = stream::iter(ids).map(async |id| {
            let found = self.item::<T>(&id, &id).await?;
            Ok(found.map(|found| (id, found.item)))
        });
        let found = reads.buffer_unordered(MAX_CONCURRENT_READS);
        found.try_filter_map(async |found| Ok(found)).try_collect().await
    }

    /// Reads the slot of an item: the item, its tombstone, or nothing.
    pub async fn slot<T: ContainerItem>(
        &self,
        partition: impl AsRef<str>,
        id: impl AsRef<str>,
    ) -> Result<ItemSlot<T, T::Tombstone>, StoreError> {
        let stored = self.read::<T::Items>(partition.as_ref(), id.as_ref()).await?;
        Ok(ItemSlot::from_item(stored))
    }

    /// Writes an item or a tombstone over the state with the ETag `read`; creates it without one.
    pub async fn save<T: ContainerItem>(
        &self,
        item: T,
        read: Option<&ETag>,
    ) -> Result<Stored<T>, StoreError> {
        let (partition, id) = item.key();
        let etag = self.put(partition, id, &item.clone().into(), read).await?;
        Ok(Stored { item, etag })
    }

    /// Creates an item under an id that no other item has: one store request, and a read after a lost answer.
    pub async fn create_fresh<T: ContainerItem>(&self, item: T) -> Result<Stored<T>, StoreError> {
        let (partition, id) = item.key();
        retry(async |attempt: Attempt| {
            if attempt.answer_lost
                && let Some(known) = self.item(partition, id).await?
            {
                return Ok(known);
            }
            self.save(item.clone(), None).await
        })
        .await
    }

    /// Writes an item that comes from another place, over the tombstone with the ETag `over`, or creates it. It keeps
    /// the properties of its state `from` that its type does not know ([`ETag`]).
    pub async fn save_moved<T: ContainerItem>(
        &self,
        item: T,
        (from, over): (&ETag, Option<&ETag>),
    ) -> Result<Stored<T>, StoreError> {
        if let Some(over) = over {
            return self.save(item, Some(&over.with_state_of(from))).await;
        }
        let (partition, id) = item.key();
        let etag = self.create_moved(partition, id, &item.clone().into(), from).await?;
        Ok(Stored { item, etag })
    }
}

/// The partition key, the id and the delivered version of a source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// The logical partition of the source.
    pub partition: String,
    /// The id of the source.
    pub id: String,
    /// The version that was delivered.
    pub version: u64,
}

impl Origin {
    /// Creates the origin of a change.
    pub fn new(partition: impl AsRef<str>, id: impl AsRef<str>, version: u64) -> Self {
        let [partition, id] = [partition.as_ref(), id.as_ref()].map(str::to_owned);
        Self { partition, id, version }
    }

    /// Creates the origin of a change of a source whose id is its partition key, too.
    pub fn root(id: impl AsRef<str>, version: u64) -> Self {
        Self::new(&id, &id, version)
    }

    /// Returns a name that no other source in the container has: an id is unique within its partition.
    pub fn name(&self) -> String {
        let Self { partition, id, .. } = self;
        if partition == id { id.clone() } else { format!("{partition} {id}") }
    }

    pub(crate) fn split_name(name: &str) -> (&str, &str) {
        name.split_once(' ').unwrap_or((name, name))
    }

    /// Reads the source again, in the delivered version or a newer one; `None` if it does not exist any more. Another
    /// replica may be behind the change feed, and a change that is decided on an older version would be acknowledged
    /// and lost. So then the latest committed state is read. If that is older, too, it is a lost race.
    pub(crate) async fn read_again<C: ChangeFeedItem>(
        &self,
        sources: &Container,
    ) -> Result<Option<C>, StoreError> {
        let is_older = |item: &C| item.origin().is_none_or(|known| known.version < self.version);
        if let Some(Stored { item, .. }) = sources.read(&self.partition, &self.id).await?
            && !is_older(&item)
        {
            return Ok(Some(item));
        }
        match sources.latest_committed().read(&self.partition, &self.id).await? {
            Some(Stored { item, .. }) if is_older(&item) => Err(StoreError::race(false)),
            latest => Ok(latest.map(|stored| stored.item)),
        }
    }
}

pub(super) async fn sound<C: ChangeFeedItem>(
    change: &C,
    may_be_rewritten: bool,
    sources: &Container,
) -> Result<Option<C>, StoreError> {
    match change.origin().filter(|_| may_be_rewritten) {
        Some(origin) => origin.read_again(sources).await,
        None => Ok(Some(change.clone())),
    }
}

/// The two timestamps that every projection reads of a document, and its position.
#[derive(Deserialize)]
pub(super) struct DocumentStamps {
    #[serde(rename = "_ts")]
    pub written: i64,
    /// The position of the write in the change feed, if the host delivers it.
    #[serde(rename = "_lsn", default)]
    pub lsn: Value,
    #[serde(rename = "creationDate")]
    created: Option<Box<RawValue>>,
}

impl DocumentStamps {
    fn are_rewritten(&self) -> bool {
        let text = self.created.as_deref().and_then(|raw| serde_json::from_str(raw.get()).ok());
        text.is_some_and(|text: &str| {
            may_be_rewritten_by_host(text) && text.len() != Timestamp::LENGTH
        })
    }
}

/// Logs an error, once in the life of the process, if one of the documents was rewritten.
///
/// Newtonsoft writes `.120Z` as `.12Z` and `.000Z` as `Z`, so one timestamp in ten shows such a host. It also
/// reads a page of the change feed again and again if the page has a text like `/Date(500000000000000)/`.
pub(super) fn report_rewritten_dates(stamps: &[DocumentStamps]) {
    static REPORTED: AtomicBool = AtomicBool::new(false);
    if !REPORTED.load(Relaxed)
        && stamps.iter().any(DocumentStamps::are_rewritten)
        && !REPORTED.swap(true, Relaxed)
    {
        tracing::error!(
            "The Functions host rewrites dates, so a text of a user can stop the change feed. Set \
             extensions.cosmosDB.serializerSettings.dateParseHandling to \"None\" in host.json, and \
             extensionBundle.version to \"[4.29.0, 5.0.0)\": older bundles ignore the setting"
        );
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_number_of_the_store_in_another_form_hides_no_time() {
        let stamps: super::DocumentStamps =
            serde_json::from_str(r#"{"_ts": 7, "_lsn": "x"}"#).unwrap();
        assert_eq!(stamps.written, 7);
    }
}
