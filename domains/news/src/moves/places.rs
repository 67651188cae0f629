//! The places of items, and their locations.

use tributary_functions::prelude::*;

use super::stored::{Location, NewsItem, Place, StoredItem};
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
    fn latest(&self) -> Self;

    async fn slot(&self, place: &Place, id: &str) -> ReadResult<NewsItem>;

    /// Writes an item or a tombstone into a container, under the ETag that was read, or as a new item.
    async fn save<T: ContainerItem<Items = NewsItem>>(
        &self,
        tier: Tier,
        item: T,
        read: Option<&ETag>,
    ) -> Result<Stored<T>, StoreError>;

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
            let found = self.slot(&place, id).await?;
            if let Some(stored) = found.and_then(|it| it.filter_map(NewsItem::current)) {
                return Ok(Some(FoundItem { tier, stored }));
            }
        }
        Ok(None)
    }
}

impl Places for News {
    fn latest(&self) -> Self {
        self.latest_committed()
    }

    async fn slot(&self, place: &Place, id: &str) -> ReadResult<NewsItem> {
        self.container(place.tier).read(place.partition_key.as_str(), id).await
    }

    async fn save<T: ContainerItem<Items = NewsItem>>(
        &self,
        tier: Tier,
        item: T,
        read: Option<&ETag>,
    ) -> Result<Stored<T>, StoreError> {
        self.container(tier).save(item, read).await
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
