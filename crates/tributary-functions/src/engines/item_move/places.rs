//! The places of items, and their locations.

use super::stored::{Content, ItemPlaceOf, Location, MovableItem, MovableSlot, Tier, Vacated};
use crate::cosmos::{Container, ETag, StoreError, Stored};

type KeyOf<P> = <<P as Places>::Content as Content>::Key;
type TierOf<P> = <<P as Places>::Content as Content>::Tier;

/// An item, and the tier that it was found in.
#[derive(Debug)]
pub struct FoundItem<C: Content> {
    /// The tier.
    pub tier: C::Tier,
    /// The item.
    pub stored: Stored<MovableItem<C>>,
}

/// The containers of items that move. The state of a domain implements it.
pub trait Places: Clone + Send + Sync {
    /// The content of the items.
    type Content: Content;

    /// Returns the container of a tier.
    fn container(&self, tier: TierOf<Self>) -> &Container;

    /// Returns the container of the locations.
    fn locations(&self) -> &Container;

    /// Returns the containers whose reads see the latest committed state.
    fn latest(&self) -> Self;

    /// Reads the slot of an item in a place.
    fn slot(
        &self,
        place: &ItemPlaceOf<Self::Content>,
        id: &str,
    ) -> impl Future<Output = Result<Option<Stored<MovableSlot<Self::Content>>>, StoreError>> + Send
    {
        self.container(place.tier).read(place.partition_key.as_ref(), id)
    }

    /// Writes the slot of an item in a place, under the ETag that was read, or as a new slot.
    fn put_slot(
        &self,
        place: &ItemPlaceOf<Self::Content>,
        (id, slot): (&str, &MovableSlot<Self::Content>),
        read: Option<&ETag>,
    ) -> impl Future<Output = Result<ETag, StoreError>> + Send {
        self.container(place.tier).put(place.partition_key.as_ref(), id, slot, read)
    }

    /// Deletes the slot of an item in a place, under the ETag that was read.
    fn empty_slot(
        &self,
        place: &ItemPlaceOf<Self::Content>,
        id: &str,
        read: &ETag,
    ) -> impl Future<Output = Result<(), StoreError>> + Send {
        async move { self.container(place.tier).delete(place.partition_key.as_ref(), id, read).await }
    }

    /// Reads the location of an item. The item itself may be missing: its creation may have failed.
    fn location(
        &self,
        id: &str,
    ) -> impl Future<Output = Result<Option<Stored<Location<Self::Content>>>, StoreError>> + Send
    {
        self.locations().read(id, id)
    }

    /// Writes the location of an item and the version of its arrival there, under the ETag that was read.
    fn locate(
        &self,
        id: &str,
        (place, version): (&ItemPlaceOf<Self::Content>, u64),
        read: Option<&ETag>,
    ) -> impl Future<Output = Result<(), StoreError>> + Send {
        async move {
            let place = place.clone();
            let partition_key = id.to_owned();
            let location: Location<Self::Content> =
                Location { id: id.to_owned(), partition_key, place, version };
            self.locations().put(id, id, &location, read).await.map(drop)
        }
    }

    /// Finds an item of a logical partition in the containers, from the hottest: one point read for each,
    /// up to the container of the item.
    fn find(
        &self,
        key: &KeyOf<Self>,
        id: &str,
    ) -> impl Future<Output = Result<Option<FoundItem<Self::Content>>, StoreError>> + Send {
        async move {
            for &tier in TierOf::<Self>::ALL {
                let place = ItemPlaceOf::<Self::Content> { tier, partition_key: key.clone() };
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
        tier: TierOf<Self>,
        item: MovableItem<Self::Content>,
        read: Option<&ETag>,
    ) -> impl Future<Output = Result<Stored<MovableItem<Self::Content>>, StoreError>> + Send {
        async move {
            let id = item.public.id().to_owned();
            let partition_key = item.public.partition_key().clone();
            let slot = MovableSlot::from(item);
            let etag = self
                .put_slot(&ItemPlaceOf::<Self::Content> { tier, partition_key }, (&id, &slot), read)
                .await?;
            // The slot was made of an item.
            let item = slot.into_item().ok_or_else(StoreError::unexpected)?;
            Ok(Stored { item, etag })
        }
    }

    /// Writes a tombstone into a container, under the ETag that was read, or as a new item.
    fn vacate(
        &self,
        tier: TierOf<Self>,
        tombstone: Vacated<KeyOf<Self>>,
        read: Option<&ETag>,
    ) -> impl Future<Output = Result<Stored<MovableSlot<Self::Content>>, StoreError>> + Send {
        async move {
            let id = tombstone.id.clone();
            let partition_key = tombstone.partition_key.clone();
            let item = MovableSlot::Vacated(tombstone);
            let place = ItemPlaceOf::<Self::Content> { tier, partition_key };
            let etag = self.put_slot(&place, (&id, &item), read).await?;
            Ok(Stored { item, etag })
        }
    }
}

/// Returns the ETag of a slot that an item may overwrite: a tombstone, or a carried copy. A current item
/// in the slot is a lost race.
pub fn vacant<C: Content>(found: Stored<MovableSlot<C>>) -> Result<ETag, StoreError> {
    match found.item.current() {
        None => Ok(found.etag),
        Some(_) => Err(StoreError::race(false)),
    }
}
