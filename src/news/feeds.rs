//! Where the news keep their items.

use std::{collections::BTreeSet, sync::Arc};

use quick_cache::sync::Cache;
use serde::{Deserialize, Serialize};
use tributary_functions::{
    cosmos::{Container, Cosmos, ETag, Reads, StoreError, Stored, containers},
    values::{Clock, Timestamp},
};

use super::{
    model::{
        Ages, ItemId, KeyClass, NewItem, NewsItem, PartitionKey, Place, Progress, ProviderId,
        Store, StoredItem, Strategy, Vacated,
    },
    progress::KnownProgress,
    settings::{NewsSettings, PageBounds},
};

/// How many providers are remembered; some 100 bytes each.
const PROVIDERS_REMEMBERED: usize = 10_000;

/// The containers of the news. Cloning is cheap.
#[derive(Clone)]
pub struct News {
    /// Items that are new: `feeds_current`.
    pub hot: Container,
    /// Items that were new: `feeds_historical`.
    pub warm: Container,
    /// Items of old partitions: `feeds_archive`.
    pub archive: Container,
    /// Where each item is: `feeds_locations`.
    pub locations: Container,
    pub(super) strategy: Arc<Strategy>,
    pub(super) ages: Ages,
    pub(super) pages: PageBounds,
    clock: Clock,
    /// Kinds of keys that are written down for a provider, and so for good.
    known: Arc<Cache<(ProviderId, KeyClass), ()>>,
    pub(super) progress: KnownProgress,
    pub(super) reads: Reads,
}

/// Where an item is: one for each item, in a logical partition of its own, so that no partition grows
/// with the items of a provider.
///
/// It is there before the item is. The item may not follow: then nothing was acknowledged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Location {
    /// The id of the item.
    pub id: ItemId,
    /// The partition key: the id.
    pub partition_key: ItemId,
    /// Where the item was created, or has moved to. From there it goes to colder containers.
    pub place: Place,
    /// The version with which the item has come there.
    pub version: u64,
}

/// What kinds of keys the items of a provider have: one in the partition of each provider.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ProviderKeys {
    id: String,
    partition_key: ProviderId,
    classes: BTreeSet<KeyClass>,
}

/// The id of [`ProviderKeys`]. Ids of items are UUIDs.
pub(super) const KEYS: &str = "keys";

/// An item, and the container that it was found in.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) store: Store,
    pub(super) stored: Stored<StoredItem>,
}

containers!(News: hot, warm, archive, locations);

impl News {
    /// The news in a database.
    pub(super) fn new(cosmos: &Arc<Cosmos>, settings: NewsSettings, clock: Clock) -> Self {
        Self {
            hot: cosmos.container("feeds_current"),
            warm: cosmos.container("feeds_historical"),
            archive: cosmos.container("feeds_archive"),
            locations: cosmos.container("feeds_locations"),
            strategy: Arc::new(settings.strategy),
            ages: settings.ages,
            pages: settings.pages,
            clock,
            progress: KnownProgress::default(),
            known: Arc::new(Cache::new(PROVIDERS_REMEMBERED)),
            reads: Reads::Session,
        }
    }

    /// The current time.
    pub(super) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// One of the containers.
    pub(super) fn container(&self, store: Store) -> &Container {
        match store {
            Store::Hot => &self.hot,
            Store::Warm => &self.warm,
            Store::Archive => &self.archive,
        }
    }

    /// Returns how far time and the migration have come, for a place of an item of this date.
    ///
    /// The progress is not read for an item of the last day: the age at which items leave the hot
    /// container is at least a day, so the migration has not come as far.
    pub(super) async fn progress_for(&self, published: Timestamp) -> Result<Progress, StoreError> {
        let now = self.now();
        let is_young = published >= now.before(Ages::MIN_MIGRATE_AFTER);
        let migrated_before =
            if is_young { Timestamp::EPOCH } else { self.migrated().await?.all_before };
        Ok(Progress { now, migrated_before })
    }

    /// Returns the place of an item that is stored now.
    pub(super) async fn place_of(&self, new: &NewItem) -> Result<Place, StoreError> {
        let (provider, published) = (&new.feed_provider_id, new.published_date);
        let progress = self.progress_for(published).await?;
        Ok(Place::of(&self.strategy, &self.ages, provider, published, progress))
    }

    /// Returns an item, wherever it is: a point read for each container up to its own.
    pub(super) async fn find(
        &self,
        key: &PartitionKey,
        id: &ItemId,
    ) -> Result<Option<Found>, StoreError> {
        for store in [Store::Hot, Store::Warm, Store::Archive] {
            if let Some(Stored { item, etag }) = self.copy_in(store, key, id).await?
                && let Some(item) = item.truth()
            {
                return Ok(Some(Found { store, stored: Stored { item, etag } }));
            }
        }
        Ok(None)
    }

    /// Returns what a container has of an item.
    pub(super) async fn copy_in(
        &self,
        store: Store,
        key: &PartitionKey,
        id: &ItemId,
    ) -> Result<Option<Stored<NewsItem>>, StoreError> {
        self.container(store).read(key.as_str(), id.as_str()).await
    }

    /// Writes an item into a container, in the place of what was read there.
    pub(super) async fn write(
        &self,
        store: Store,
        item: StoredItem,
        read: Option<&ETag>,
    ) -> Result<Stored<StoredItem>, StoreError> {
        let (key, id) = (item.public.partition_key.clone(), item.public.id.clone());
        let item = NewsItem::from(item);
        let etag = self.container(store).put(key.as_str(), id.as_str(), &item, read).await?;
        // It was made of one.
        let item = item.truth().ok_or_else(StoreError::unexpected)?;
        Ok(Stored { item, etag })
    }

    /// Leaves a tombstone in a place, over what was read there.
    pub(super) async fn vacate(
        &self,
        store: Store,
        tombstone: Vacated,
        read: Option<&ETag>,
    ) -> Result<Stored<NewsItem>, StoreError> {
        let (key, id) = (tombstone.partition_key.clone(), tombstone.id.clone());
        let item = NewsItem::Vacated(tombstone);
        let etag = self.container(store).put(key.as_str(), id.as_str(), &item, read).await?;
        Ok(Stored { item, etag })
    }

    /// Returns where an item is, or was about to be created.
    pub(super) async fn location(
        &self,
        id: &ItemId,
    ) -> Result<Option<Stored<Location>>, StoreError> {
        self.locations.read(id.as_str(), id.as_str()).await
    }

    /// Writes where an item is, in the place of what was read.
    pub(super) async fn locate(
        &self,
        id: &ItemId,
        (place, version): (&Place, u64),
        read: Option<&ETag>,
    ) -> Result<(), StoreError> {
        let (partition_key, place) = (id.clone(), place.clone());
        let location = Location { id: id.clone(), partition_key, place, version };
        self.locations.put(id.as_str(), id.as_str(), &location, read).await.map(drop)
    }

    /// Returns the kinds of keys that the items of a provider have.
    pub(super) async fn classes(
        &self,
        provider: &ProviderId,
    ) -> Result<BTreeSet<KeyClass>, StoreError> {
        let keys: Option<Stored<ProviderKeys>> =
            self.locations.read(provider.as_str(), KEYS).await?;
        Ok(keys.map(|keys| keys.item.classes).unwrap_or_default())
    }

    /// Writes down that a provider has items with this kind of key, before the first such item. It is
    /// never taken back, so what this process has written down needs no look.
    pub(super) async fn note_class(&self, provider: &ProviderId) -> Result<(), StoreError> {
        let class = self.strategy.class(provider);
        let known = (provider.clone(), class);
        if self.known.get(&known).is_some() {
            return Ok(());
        }
        self.write_class(provider, class).await?;
        self.known.insert(known, ());
        Ok(())
    }

    /// Writes down that a provider has items with this kind of key, unless it is written down.
    pub(super) async fn write_class(
        &self,
        provider: &ProviderId,
        class: KeyClass,
    ) -> Result<(), StoreError> {
        let locations = self.locations.latest_committed();
        let read: Option<Stored<ProviderKeys>> = locations.read(provider.as_str(), KEYS).await?;
        let mut classes = read.as_ref().map(|keys| keys.item.classes.clone()).unwrap_or_default();
        if classes.insert(class) {
            let (id, partition_key) = (KEYS.to_owned(), provider.clone());
            let keys = ProviderKeys { id, partition_key, classes };
            let etag = read.as_ref().map(|keys| &keys.etag);
            locations.put(provider.as_str(), KEYS, &keys, etag).await?;
        }
        Ok(())
    }
}
