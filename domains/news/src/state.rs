//! The containers of the news.

use std::{collections::BTreeSet, sync::Arc, time::Instant};

use quick_cache::sync::Cache;
use serde::{Deserialize, Serialize};
use tributary_functions::{
    cosmos::{Background, containers},
    prelude::*,
    values::Clock,
};

use super::{
    model::{Ages, KeyClass, NewItem, Progress, ProviderId, Strategy, Tier},
    moves::Place,
    progress::{MAX_PROGRESS_AGE, MigrationProgress, ProgressRecord},
    settings::{NewsSettings, PageBounds},
};

/// The most providers that are remembered; some 100 bytes each.
const MAX_REMEMBERED_PROVIDERS: usize = 10_000;

/// The containers of the news. Cloning is cheap.
#[derive(Clone)]
pub struct News {
    /// The new items: `feeds_current`.
    pub hot: Container,
    /// The older items: `feeds_historical`.
    pub warm: Container,
    /// Items of old partitions: `feeds_archive`.
    pub archive: Container,
    /// The locations of the items: `feeds_locations`.
    pub locations: Container,
    pub(super) strategy: Arc<Strategy>,
    pub(super) ages: Ages,
    pub(super) pages: PageBounds,
    pub(super) background: Background,
    clock: Clock,
    /// The classes of keys that are recorded for a provider. A record is permanent.
    recorded_classes: Arc<Cache<(ProviderId, KeyClass), ()>>,
    /// The progress of the migration, if it is remembered.
    progress: Arc<Cache<(), (Instant, MigrationProgress)>>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ProviderKeys {
    id: String,
    partition_key: ProviderId,
    classes: BTreeSet<KeyClass>,
}

/// The id of [`ProviderKeys`]. Ids of items are UUIDs.
pub(super) const PROVIDER_KEYS_ID: &str = "keys";

containers!(News: hot, warm, archive, locations);

impl News {
    pub(super) fn container(&self, tier: Tier) -> &Container {
        match tier {
            Tier::Hot => &self.hot,
            Tier::Warm => &self.warm,
            Tier::Archive => &self.archive,
        }
    }

    pub(super) fn new(context: &Context<'_>) -> Result<Self, ConfigError> {
        let settings = NewsSettings::read(context.settings)?;
        let cosmos = context.cosmos;
        Ok(Self {
            hot: cosmos.container("feeds_current"),
            warm: cosmos.container("feeds_historical"),
            archive: cosmos.container("feeds_archive"),
            locations: cosmos.container("feeds_locations"),
            strategy: Arc::new(settings.strategy),
            ages: settings.ages,
            pages: settings.pages,
            background: context.background.clone(),
            clock: context.clock,
            progress: Arc::new(Cache::new(1)),
            recorded_classes: Arc::new(Cache::new(MAX_REMEMBERED_PROVIDERS)),
        })
    }

    pub(super) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Returns the current time and the progress of the migration, which decide about the place of an
    /// item with this date.
    pub(super) async fn progress_for(&self, published: Timestamp) -> Result<Progress, StoreError> {
        let now = self.now();
        match Progress::for_young_item(published, now) {
            Some(progress) => Ok(progress),
            None => Ok(Progress { now, migrated_before: self.migrated().await?.all_before }),
        }
    }

    pub(super) async fn place_of(&self, new: &NewItem) -> Result<Place, StoreError> {
        let progress = self.progress_for(new.published_date).await?;
        Ok(self.strategy.place(&self.ages, new, progress))
    }

    /// Returns the progress of the migration: one point read, at most once a minute.
    pub(super) async fn migrated(&self) -> Result<MigrationProgress, StoreError> {
        if let Some((since, known)) = self.progress.get(&())
            && since.elapsed() < MAX_PROGRESS_AGE
        {
            return Ok(known);
        }
        let read = ProgressRecord::read(&self.locations).await?;
        let migrated =
            read.map_or(MigrationProgress::NOTHING, |record| record.item.for_readers(self.now()));
        self.progress.insert((), (Instant::now(), migrated));
        Ok(migrated)
    }

    pub(super) async fn key_classes(
        &self,
        provider: &ProviderId,
    ) -> Result<BTreeSet<KeyClass>, StoreError> {
        let keys: Option<Stored<ProviderKeys>> =
            self.locations.read(provider.as_str(), PROVIDER_KEYS_ID).await?;
        Ok(keys.map(|keys| keys.item.classes).unwrap_or_default())
    }

    /// Records the class of keys that new items of a provider get, before the first such item. The
    /// record is permanent, so a class that this process has recorded takes no read.
    pub(super) async fn record_key_class(&self, provider: &ProviderId) -> Result<(), StoreError> {
        let class = self.strategy.class(provider);
        let recorded = (provider.clone(), class);
        if self.recorded_classes.get(&recorded).is_some() {
            return Ok(());
        }
        self.write_key_class(provider, class).await?;
        self.recorded_classes.insert(recorded, ());
        Ok(())
    }

    /// Adds a class of keys to the record of a provider, unless the record has it.
    pub(super) async fn write_key_class(
        &self,
        provider: &ProviderId,
        class: KeyClass,
    ) -> Result<(), StoreError> {
        let locations = self.locations.latest_committed();
        let read = locations.read::<ProviderKeys>(provider.as_str(), PROVIDER_KEYS_ID).await?;
        let (known, etag) = read.map(|keys| (keys.item.classes, keys.etag)).unzip();
        let mut classes = known.unwrap_or_default();
        if classes.insert(class) {
            let id = PROVIDER_KEYS_ID.to_owned();
            let keys = ProviderKeys { id, partition_key: provider.clone(), classes };
            locations.put(provider.as_str(), PROVIDER_KEYS_ID, &keys, etag.as_ref()).await?;
        }
        Ok(())
    }
}
