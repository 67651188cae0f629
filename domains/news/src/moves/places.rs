//! The places of items, and their locations.

use tributary_functions::cosmos::{ETag, StoreError, Stored};

use super::stored::{Location, NewsItem, Place, StoredItem, Vacated};
use crate::{
    News,
    model::{PartitionKey, Tier},
};

/// An item, and the tier that it was found in.
#[derive(Debug)]
pub struct FoundItem {
    pub tier: Tier,
    pub stored: Stored<StoredItem>,
}

/// The store of items that move, and of their locations. A test of the moves has a model of it.
pub trait Places: Clone + Send + Sync {
    /// Returns the store whose reads see the latest committed state.
    fn latest(&self) -> Self;

    /// Reads the slot of an item in a place.
    fn slot(
        &self,
        place: &Place,
        id: &str,
    ) -> impl Future<Output = Result<Option<Stored<NewsItem>>, StoreError>> + Send;

    /// Writes the slot of an item in a place, under the ETag that was read, or as a new slot.
    fn put_slot(
        &self,
        place: &Place,
        slot: (&str, &NewsItem),
        read: Option<&ETag>,
    ) -> impl Future<Output = Result<ETag, StoreError>> + Send;

    /// Deletes the slot of an item in a place, under the ETag that was read.
    fn empty_slot(
        &self,
        place: &Place,
        id: &str,
        read: &ETag,
    ) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// Reads the location of an item. The item itself may be missing: its creation may have failed.
    fn location(
        &self,
        id: &str,
    ) -> impl Future<Output = Result<Option<Stored<Location>>, StoreError>> + Send;

    /// Writes the location of an item and the version of its arrival there, under the ETag that was read.
    fn locate(
        &self,
        id: &str,
        to: (&Place, u64),
        read: Option<&ETag>,
    ) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// Finds an item of a logical partition in the containers, from the hottest: one point read for each,
    /// up to the container of the item.
    fn find(
        &self,
        key: &PartitionKey,
        id: &str,
    ) -> impl Future<Output = Result<Option<FoundItem>, StoreError>> + Send {
        async move {
            for tier in Tier::ALL {
                let place = Place { tier, partition_key: key.clone() };
                if let Some(Stored { item, etag }) = self.slot(&place, id).await?
                    && let Some(item) = item.current()
                {
                    return Ok(Some(FoundItem { tier, stored: Stored { item, etag } }));
                }
            }
            Ok(None)
        }
    }

    /// Writes an item into a container, under the ETag that was read, or as a new item.
    fn write(
        &self,
        tier: Tier,
        item: StoredItem,
        read: Option<&ETag>,
    ) -> impl Future<Output = Result<Stored<StoredItem>, StoreError>> + Send {
        async move {
            let id = item.public.id.to_string();
            let partition_key = item.public.partition_key.clone();
            let slot = NewsItem::from(item);
            let etag = self.put_slot(&Place { tier, partition_key }, (&id, &slot), read).await?;
            // The slot was made of an item.
            let item = slot.into_item().ok_or_else(StoreError::unexpected)?;
            Ok(Stored { item, etag })
        }
    }

    /// Writes a tombstone into a container, under the ETag that was read, or as a new item.
    fn vacate(
        &self,
        tier: Tier,
        tombstone: Vacated,
        read: Option<&ETag>,
    ) -> impl Future<Output = Result<Stored<NewsItem>, StoreError>> + Send {
        async move {
            let id = tombstone.id.clone();
            let partition_key = tombstone.partition_key.clone();
            let item = NewsItem::Vacated(tombstone);
            let place = Place { tier, partition_key };
            let etag = self.put_slot(&place, (&id, &item), read).await?;
            Ok(Stored { item, etag })
        }
    }
}

impl Places for News {
    fn latest(&self) -> Self {
        self.latest_committed()
    }

    async fn slot(&self, place: &Place, id: &str) -> Result<Option<Stored<NewsItem>>, StoreError> {
        self.container(place.tier).read(place.partition_key.as_str(), id).await
    }

    async fn put_slot(
        &self,
        place: &Place,
        (id, slot): (&str, &NewsItem),
        read: Option<&ETag>,
    ) -> Result<ETag, StoreError> {
        self.container(place.tier).put(place.partition_key.as_str(), id, slot, read).await
    }

    async fn empty_slot(&self, place: &Place, id: &str, read: &ETag) -> Result<(), StoreError> {
        self.container(place.tier).delete(place.partition_key.as_str(), id, read).await
    }

    async fn location(&self, id: &str) -> Result<Option<Stored<Location>>, StoreError> {
        self.locations.read(id, id).await
    }

    async fn locate(
        &self,
        id: &str,
        (place, version): (&Place, u64),
        read: Option<&ETag>,
    ) -> Result<(), StoreError> {
        let place = place.clone();
        let location = Location { id: id.to_owned(), partition_key: id.to_owned(), place, version };
        self.locations.put(id, id, &location, read).await.map(drop)
    }
}

/// Returns the ETag of a slot that an item may overwrite: a tombstone, or a carried copy. A current item
/// in the slot is a lost race.
pub fn vacant(found: Stored<NewsItem>) -> Result<ETag, StoreError> {
    match found.item.current() {
        None => Ok(found.etag),
        Some(_) => Err(StoreError::race(false)),
    }
}
