//! Which containers and partitions a list of items is read from.
//!
//! | part of the window | container |
//! | --- | --- |
//! | from [`Ages::hot_since`](super::super::model::Ages::hot_since) on | hot alone |
//! | before that, but after all that is known to be migrated | hot and warm |
//! | what is known to be migrated | warm alone |
//!
//! What is known to be migrated the migration writes down at the end of whole runs, and readers believe
//! it an hour later: so a migration that is late, or does not run at all, hides nothing, and neither
//! does a replica that is behind.
//!
//! The archive is not listed.

use std::ops::Range;

use axum::{
    Json,
    http::{HeaderName, HeaderValue},
    response::{IntoResponse, Response},
};
use serde::{Deserialize, Serialize};

use super::filter::NewsFilter;
use crate::{
    cosmos::{Container, Query, Scope, StoreError},
    engines::{
        child_list::SortKey,
        merged_list::{Merged, Part, merge},
    },
    http::{ApiError, PageRequest},
    news::{
        feeds::News,
        model::{FeedItem, NewsItem, PartitionKey, Store, StoredItem, Strategy},
        moves,
    },
    values::Timestamp,
};

const CONTAINERS: HeaderName = HeaderName::from_static("x-containers-queried");
const PARTITIONS: HeaderName = HeaderName::from_static("x-partitions-queried");

/// Where a page ends, and where the window of its list begins: it must not move with the time between
/// two pages.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct NewsKey(Timestamp, SortKey);

/// Returns a page of items.
pub(super) async fn page<const SEARCH: bool>(
    news: &News,
    page: PageRequest<NewsKey, NewsFilter<SEARCH>>,
) -> Result<Response, ApiError> {
    let window = page.filter.window(news.now())?;
    let (from, after) = match page.after.clone() {
        Some(NewsKey(from, last)) => (from, Some(last)),
        None => (window.start, None),
    };
    // What comes after the last item of a page is not newer.
    let to = after.as_ref().map_or(window.end, |SortKey(date, _)| window.end.min(date.next()));
    let parts = parts(news, &page.filter, from..to).await?;
    let Merged { items, asked } = merge(&parts, after.as_ref(), page.fetch()).await?;
    let places: Vec<Store> = asked.iter().map(|part| part.store).collect();
    let items: Vec<FeedItem> = items.into_iter().map(|item| item.public).collect();
    let list = page.page(items, |item| NewsKey(from, sort_key(item)));
    Ok(with_headers(Json(list), &places))
}

/// Adds the containers and the number of partitions that an answer was read from.
///
/// A query of a whole container counts as one: it goes to the physical partitions, and these are few
/// in a hot container.
pub(super) fn with_headers(answer: impl IntoResponse, places: &[Store]) -> Response {
    let mut containers = places.to_vec();
    containers.sort();
    containers.dedup();
    let names: Vec<&str> = containers.into_iter().map(Store::as_str).collect();
    let names = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
    let mut response = answer.into_response();
    let headers = response.headers_mut();
    if let Ok(names) = HeaderValue::from_str(&names) {
        headers.insert(CONTAINERS, names);
    }
    headers.insert(PARTITIONS, HeaderValue::from(places.len()));
    response
}

/// The items of one partition, or of a whole container, in a window.
struct Items {
    news: News,
    store: Store,
    container: Container,
    /// `None` is the whole container.
    key: Option<PartitionKey>,
    window: Range<Timestamp>,
    /// Whose items, where the partition has those of others, too.
    provider: Option<String>,
    q: Option<String>,
}

async fn parts<const SEARCH: bool>(
    news: &News,
    filter: &NewsFilter<SEARCH>,
    window: Range<Timestamp>,
) -> Result<Vec<Items>, ApiError> {
    let hot_since = news.ages.hot_since(news.now());
    let mut ranges = Vec::new();
    if window.start < hot_since {
        let migrated_before = news.migrated_before().await?;
        ranges.push((Store::Hot, window.start.max(migrated_before)..window.end));
        ranges.push((Store::Warm, window.start..window.end.min(hot_since)));
    } else {
        ranges.push((Store::Hot, window));
    }
    let classes = match &filter.provider {
        Some(provider) => news.classes(provider).await?,
        None => [].into(),
    };
    let mut parts = Vec::new();
    for (store, range) in ranges.into_iter().filter(|(_, range)| !range.is_empty()) {
        let part = |key: Option<PartitionKey>, window: Range<Timestamp>| {
            let is_shared = key.as_ref().is_none_or(|key| key.provider().is_none());
            let provider = filter.provider.as_ref().filter(|_| is_shared);
            Items {
                news: news.clone(),
                store,
                container: news.container(store).clone(),
                key,
                window,
                provider: provider.map(ToString::to_string),
                q: filter.q.clone(),
            }
        };
        let within = |period: tributary_partitioning::period::Period| {
            range.start.max(period.start().into())..range.end.min(period.end().into())
        };
        match (&filter.provider, &*news.strategy) {
            (Some(provider), _) => {
                let keys = classes.iter().flat_map(|class| class.keys(provider, range.clone()));
                parts.extend(keys.map(|(key, period)| part(Some(key), within(period))));
            }
            (None, Strategy::Monthly) => {
                let keys = PartitionKey::months(range.clone());
                parts.extend(keys.map(|(key, period)| part(Some(key), within(period))));
            }
            (None, Strategy::Hybrid { .. }) => parts.push(part(None, range)),
        }
    }
    Ok(parts)
}

fn sort_key(item: &FeedItem) -> SortKey {
    SortKey(item.published_date, item.id.to_string())
}

impl Part for Items {
    type Item = StoredItem;

    fn before(&self) -> Timestamp {
        self.window.end
    }

    async fn read(
        &self,
        after: Option<&SortKey>,
        most: u32,
    ) -> Result<Vec<StoredItem>, StoreError> {
        let scope =
            self.key.as_ref().map_or(Scope::Container, |key| Scope::Partition(key.as_str()));
        let found: Vec<NewsItem> =
            self.container.query(self.query(after, most)?, scope, most).await?;
        let items = found.into_iter().filter_map(|item| match item {
            NewsItem::FeedItem(item) => Some(*item),
            NewsItem::Vacated(_) => None,
        });
        Ok(items.collect())
    }

    fn key(item: &StoredItem) -> SortKey {
        sort_key(&item.public)
    }

    fn version(item: &StoredItem) -> u64 {
        item.version
    }

    async fn keep(&self, item: &StoredItem) -> Result<bool, StoreError> {
        Ok(item.departure.is_none() || !moves::has_arrived(&self.news, item).await?)
    }
}

impl Items {
    /// Filters first in the order, so that the composite index is entered at the first item.
    fn query(&self, after: Option<&SortKey>, most: u32) -> Result<Query, StoreError> {
        let (of_key, by_key) = match self.key {
            Some(_) => ("c.partitionKey = @key AND ", "c.partitionKey DESC, "),
            None => ("", ""),
        };
        let (filter, first) = match self.provider {
            Some(_) => ("c.feedProviderId = @provider AND ", "c.feedProviderId DESC, "),
            None => ("", ""),
        };
        let found = match self.q {
            Some(_) => {
                " AND (CONTAINS(c.title, @q, true) OR CONTAINS(c.content, @q, true) \
                 OR CONTAINS(c.tagText, @q, true))"
            }
            None => "",
        };
        let page = match after {
            Some(_) => " AND c.publishedDate <= @date AND (c.publishedDate < @date OR c.id < @id)",
            None => "",
        };
        let text = format!(
            "SELECT TOP @top * FROM c WHERE {of_key}{filter}c.publishedDate >= @from \
             AND c.publishedDate < @to{page}{found} \
             ORDER BY {by_key}{first}c.publishedDate DESC, c.id DESC"
        );
        let mut query = Query::from(text)
            .with_parameter("@top", most)?
            .with_parameter("@from", self.window.start)?
            .with_parameter("@to", self.window.end)?;
        if let Some(key) = &self.key {
            query = query.with_parameter("@key", key)?;
        }
        if let Some(provider) = &self.provider {
            query = query.with_parameter("@provider", provider)?;
        }
        if let Some(q) = &self.q {
            query = query.with_parameter("@q", q)?;
        }
        if let Some(SortKey(date, id)) = after {
            query = query.with_parameter("@date", date)?.with_parameter("@id", id)?;
        }
        Ok(query)
    }
}
