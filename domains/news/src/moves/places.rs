//! The places of items, and their locations.

use tributary_functions::cosmos::{ETag, ReadResult, StoreError, Stored};

use super::stored::{Location, NewsItem, Place, StoredItem, Vacated};
use crate::{
    News,
    model::{PartitionKey, Tier},
};

#[derive(Debug)]
pub struct FoundItem {
    pub tier: Tier,
    pub stored: Stored<StoredItem>,
}

/// The store of items that move, and of their locations. A test of the moves has a model of it.
#[expect(async_fn_in_trait, reason = "the futures of `News` are `Send`")]
pub trait Places: Clone {
    /// Returns the store whose reads see the latest committed state.
    fn latest(&self) -> Self;

    async fn slot(&self, place: &Place, id: &str) -> ReadResult<NewsItem>;

    async fn put_slot(
        &self,
        place: &Place,
        slot: (&str, &NewsItem),
        read: Option<&ETag>,
    ) -> Result<ETag, StoreError>;

    async fn empty_slot(&self, place: &Place, id: &str, read: &ETag) -> Result<(), StoreError>;

    /// Reads the location of an item. The item itself may be missing: its creation may have failed.
    async fn location(&self, id: &str) -> ReadResult<Location>;

    /// Writes the location of an item and the version of its arrival there, under the ETag that was read.
    async fn locate(
        &self,
        id: &str,
        to: (&Place, u64),
        read: Option<&ETag>,
    ) -> Result<(), StoreError>;

    /// Finds an item of a logical partition in the containers, from the hottest: one point read for each,
    /// up to the container of the item.
    async fn find(&self, key: &PartitionKey, id: &str) -> Result<Option<FoundItem>, StoreError> {
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

    /// Writes an item into a container, under the ETag that was read, or as a new item.
    async fn write(
        &self,
        tier: Tier,
        item: StoredItem,
        read: Option<&ETag>,
    ) -> Result<Stored<StoredItem>, StoreError> {
        let place = Place { tier, partition_key: item.public.partition_key.clone() };
        let slot = NewsItem::from(item.clone());
        let etag = self.put_slot(&place, (item.public.id.as_str(), &slot), read).await?;
        Ok(Stored { item, etag })
    }

    /// Writes a tombstone into a container, under the ETag that was read, or as a new item.
    async fn vacate(
        &self,
        tier: Tier,
        tombstone: Vacated,
        read: Option<&ETag>,
    ) -> Result<Stored<NewsItem>, StoreError> {
        let place = Place { tier, partition_key: tombstone.partition_key.clone() };
        let id = tombstone.id.clone();
        let item = NewsItem::Vacated(tombstone);
        let etag = self.put_slot(&place, (&id, &item), read).await?;
        Ok(Stored { item, etag })
    }
}

impl Places for News {
    fn latest(&self) -> Self {
        self.latest_committed()
    }

    async fn slot(&self, place: &Place, id: &str) -> ReadResult<NewsItem> {
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

    async fn location(&self, id: &str) -> ReadResult<Location> {
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
