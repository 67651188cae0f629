//! An architecture in its containers: the container of an item, and the scopes of a query.
//!
//! The code is the same for all of them. A query reads the containers and their partitions from the
//! newest to the oldest, one after the other, and no further than its page needs. So each architecture
//! is measured at its best: the guide's own code reads everything and sorts it in memory.

use std::collections::{BTreeMap, HashSet};

use anyhow::{Context, bail};
use futures::TryStreamExt;
use serde::Deserialize;
use tributary_functions::{
    cosmos::{Container, Query, Scope},
    values::Timestamp,
};
use tributary_local::cosmos::StoreRequest;

use super::{
    EXPIRY_OF_MIGRATED, MIGRATION_AGE, TimeWindow,
    architecture::Architecture,
    containers::plans,
    data::{DataSet, FeedItem, ItemPlan},
    keys::{KeyStrategy, Provider},
};
use crate::store::{Database, ModelStore};

/// The database of each container, in an account of its own.
const DATABASE: &str = "model-bench-feeds";
/// The pages of a query that reads many items for a sum.
const LARGE_PAGE: u32 = 1_000;

/// An architecture with its containers.
pub(super) struct Feeds {
    pub(super) architecture: Architecture,
    pub(super) keys: KeyStrategy,
    pub(super) now: i64,
    /// Newest items first.
    pub(super) places: Vec<FeedContainer>,
}

/// A container of an architecture.
pub(super) struct FeedContainer {
    pub(super) container: Container,
    database: Database,
    /// The range of its items' publication.
    pub(super) span: TimeWindow,
    /// The number of the data set's items.
    pub(super) items: usize,
    logical_partitions: usize,
    pub(super) physical_partitions: u32,
}

/// A query for items.
#[derive(Clone, Debug)]
pub(super) struct Ask<'a> {
    pub(super) window: TimeWindow,
    pub(super) provider: Option<Provider<'a>>,
    pub(super) word: Option<&'a str>,
    pub(super) limit: u32,
    pub(super) page_size: u32,
}

/// The checked properties of a query's result.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct FoundItem {
    pub(super) id: String,
    pub(super) published_date: Timestamp,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct OfProvider {
    feed_provider_id: String,
}

impl Feeds {
    /// Creates the containers of an architecture, with a physical partition for each
    /// `items_per_partition` items.
    pub(super) async fn make(
        architecture: Architecture,
        data: &DataSet,
        items_per_partition: usize,
    ) -> anyhow::Result<Self> {
        let keys = architecture.keys();
        let now = data.shape.now;
        let oldest = data.items.first().map_or(now, |item| item.published);
        let mut places = Vec::new();
        for plan in plans(architecture, oldest, now) {
            let mut partitions = HashSet::new();
            let mut items = 0_usize;
            for item in data.items.iter().filter(|item| plan.span.contains(item.published)) {
                let provider = data.provider(item.provider);
                partitions.insert(keys.of_item(&data.id_of(item), provider, item.published));
                items += 1;
            }
            let physical_partitions = u32::try_from(items.div_ceil(items_per_partition).max(1))?;
            let database =
                ModelStore::Local.make(DATABASE, &plan.file()?, physical_partitions).await?;
            places.push(FeedContainer {
                container: database.cosmos.container(plan.id),
                database,
                span: plan.span,
                items,
                logical_partitions: partitions.len(),
                physical_partitions,
            });
        }
        Ok(Self { architecture, keys, now, places })
    }

    /// Returns the requests to the store since the last call.
    pub(super) fn take_requests(&self) -> Vec<StoreRequest> {
        let databases = self.places.iter().map(|place| &place.database);
        databases.filter_map(Database::take_requests).flatten().collect()
    }

    /// Returns the number of logical partitions of a container.
    pub(super) fn logical_partitions(&self, container: &str) -> usize {
        let place = self.places.iter().find(|place| place.container.id() == container);
        place.map_or(0, |place| place.logical_partitions)
    }

    /// Returns the container of items of a time of publication.
    pub(super) fn place(&self, published: i64) -> anyhow::Result<&Container> {
        let place = self.places.iter().find(|place| place.span.contains(published));
        Ok(&place.context("there is no container for this moment")?.container)
    }

    /// Returns the containers of a migration, hot and warm.
    pub(super) fn hot_and_warm(&self) -> anyhow::Result<(&Container, &Container)> {
        match self.places.as_slice() {
            [hot, warm] if self.architecture.migrates() => Ok((&hot.container, &warm.container)),
            _ => bail!("{} has no migration", self.architecture),
        }
    }

    /// Returns the age limit of the hot container.
    pub(super) fn threshold(&self) -> i64 {
        self.now - MIGRATION_AGE
    }

    /// Returns an item with its key.
    pub(super) fn item(&self, data: &DataSet, plan: &ItemPlan) -> anyhow::Result<FeedItem> {
        let provider = data.provider(plan.provider);
        data.item(plan, self.keys.of_item(&data.id_of(plan), provider, plan.published))
    }

    /// Writes an item of the data set to its container at `now`: an item that was migrated within the
    /// last day is still in the hot container, with the flags of the migration.
    pub(super) async fn load(&self, data: &DataSet, plan: &ItemPlan) -> anyhow::Result<()> {
        let mut item = self.item(data, plan)?;
        let key = item.partition_key.clone();
        let id = item.id.clone();
        self.place(plan.published)?.create(&key, &id, &item).await?;
        let threshold = self.threshold();
        let flagged = TimeWindow { from: threshold - EXPIRY_OF_MIGRATED, to: threshold };
        if self.architecture.migrates() && flagged.contains(plan.published) {
            (item.migrated, item.ttl) = (Some(true), Some(EXPIRY_OF_MIGRATED));
            self.hot_and_warm()?.0.create(&key, &id, &item).await?;
        }
        Ok(())
    }

    /// Returns the newest items of a window.
    pub(super) async fn page(&self, ask: &Ask<'_>) -> anyhow::Result<Vec<FoundItem>> {
        let mut found: Vec<FoundItem> = Vec::new();
        for (container, key, window) in self.scopes(ask.provider, ask.window) {
            let missing = ask.limit.saturating_sub(u32::try_from(found.len())?);
            if missing == 0 {
                break;
            }
            let query = query("TOP @limit *", ask, window, " ORDER BY c.publishedDate DESC")?;
            let query = query.with_parameter("@limit", missing)?;
            let pages = container.pages::<FoundItem>(query, scope(key.as_deref()), ask.page_size);
            found.extend(pages.await?.try_concat().await?);
        }
        Ok(found)
    }

    /// Counts the items of a window by provider. The SDK refuses GROUP BY over partitions, so the
    /// caller counts.
    pub(super) async fn counts(&self, window: TimeWindow) -> anyhow::Result<BTreeMap<String, u64>> {
        let mut counts = BTreeMap::new();
        for item in self.scan::<OfProvider>("c.feedProviderId", window).await? {
            *counts.entry(item.feed_provider_id).or_default() += 1;
        }
        Ok(counts)
    }

    /// Loads all items of a window, as a search does that reads their texts.
    pub(super) async fn looked_at(&self, window: TimeWindow) -> anyhow::Result<usize> {
        Ok(self.scan::<serde::de::IgnoredAny>("c.id", window).await?.len())
    }

    async fn scan<T: for<'a> Deserialize<'a> + Send + 'static>(
        &self,
        select: &str,
        window: TimeWindow,
    ) -> anyhow::Result<Vec<T>> {
        let ask = Ask { window, provider: None, word: None, limit: 0, page_size: LARGE_PAGE };
        let mut all = Vec::new();
        for (container, key, window) in self.scopes(None, window) {
            let query = query(select, &ask, window, "")?;
            let pages = container.pages::<T>(query, scope(key.as_deref()), ask.page_size);
            all.extend(pages.await?.try_concat().await?);
        }
        Ok(all)
    }

    /// Reads an item by its key and id: in the containers that can have its partition, newest first.
    pub(super) async fn read(&self, key: &str, id: &str) -> anyhow::Result<FoundItem> {
        let all = TimeWindow { from: i64::MIN, to: i64::MAX };
        let window = self.keys.window_of(key).unwrap_or(all);
        for place in self.places.iter().filter(|place| place.span.and(window).is_some()) {
            if let Some(stored) = place.container.read(key, id).await? {
                return Ok(stored.item);
            }
        }
        bail!("there is no item {id} in {key}")
    }

    /// Returns the scopes of a window's items, newest first: a container, one of its logical partitions
    /// or all of it, and the part of the window in it.
    fn scopes(
        &self,
        provider: Option<Provider<'_>>,
        window: TimeWindow,
    ) -> Vec<(&Container, Option<String>, TimeWindow)> {
        let mut scopes = Vec::new();
        for place in &self.places {
            let Some(window) = place.span.and(window) else { continue };
            match self.keys.of_window(provider, window) {
                None => scopes.push((&place.container, None, window)),
                Some(keys) => {
                    let keys = keys.into_iter();
                    scopes.extend(keys.map(|key| (&place.container, Some(key), window)));
                }
            }
        }
        scopes
    }
}

/// Returns a logical partition, or all of the container.
pub(super) fn scope(key: Option<&str>) -> Scope<'_> {
    key.map_or(Scope::Container, Scope::Partition)
}

fn query(select: &str, ask: &Ask<'_>, window: TimeWindow, order: &str) -> anyhow::Result<Query> {
    let mut filter = "c.publishedDate >= @from AND c.publishedDate < @to".to_owned();
    if ask.provider.is_some() {
        filter.insert_str(0, "c.feedProviderId = @provider AND ");
    }
    if ask.word.is_some() {
        filter.push_str(
            " AND (CONTAINS(c.title, @word, true) OR CONTAINS(c.content, @word, true) \
             OR ARRAY_CONTAINS(c.tags, @word))",
        );
    }
    let mut query = Query::from(format!("SELECT {select} FROM c WHERE {filter}{order}"))
        .with_parameter("@from", text(window.from)?)?
        .with_parameter("@to", text(window.to)?)?;
    if let Some(provider) = ask.provider {
        query = query.with_parameter("@provider", provider.id)?;
    }
    if let Some(word) = ask.word {
        query = query.with_parameter("@word", word)?;
    }
    Ok(query)
}

/// Returns a moment in its stored form.
pub(super) fn text(moment: i64) -> anyhow::Result<Timestamp> {
    Timestamp::from_unix_seconds(moment).context("no such moment")
}
