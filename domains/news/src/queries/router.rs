//! The containers and partitions that a list of items is read from.
//!
//! | part of the window | container |
//! | --- | --- |
//! | from [`Ages::hot_since`](super::super::model::Ages::hot_since) on | hot alone |
//! | before that, but after the known progress of the migration | hot and warm |
//! | before the known progress of the migration | warm alone |
//!
//! The migration writes its progress at the end of whole runs, and readers use it an hour later. So
//! a late migration, a stopped migration and a replica that is behind hide no item. With another
//! age in the settings, the wider range counts: the list reads the warm container for all items
//! that were migrated at a lower age, and the hot one for all items that may be written there at a
//! higher age.
//!
//! A list does not show the archive. So it does not show a copy in the warm container that was
//! carried to the archive either: otherwise it would show a former state of the item for a day,
//! whatever edits the archive has.
//!
//! The router names partitions as a page needs them, from the newest: a window may have any length.

use std::{cmp::Reverse, collections::BTreeSet, iter, ops::Range};

use axum::http::{HeaderMap, HeaderName, HeaderValue};
use cosmos_model::partitioning::period::Period;
use tributary_functions::{cosmos::Budget, http::refused_cursor, prelude::*};

use super::{
    filter::NewsFilter,
    merged_list::{ListPart, MergedPage, PageLimits, merge},
    part::Items,
};
use crate::{
    model::{FeedItem, PartitionKey, Strategy, Tier},
    state::News,
};

const CONTAINERS_HEADER: HeaderName = HeaderName::from_static("x-containers-queried");
const PARTITIONS_HEADER: HeaderName = HeaderName::from_static("x-partitions-queried");

pub(super) async fn page<const SEARCH: bool>(
    news: &News,
    page: PageRequest<SortKey, NewsFilter<SEARCH>>,
) -> Result<(HeaderMap, Json<List<FeedItem>>), ApiError> {
    let window = page.filter.window(news.now())?;
    let after = page.after.clone();
    if after.as_ref().is_some_and(|after| !page.filter.can_continue_after(&window, after)) {
        return Err(refused_cursor());
    }
    let budget = Budget::start(news.pages.limits);
    let limits = PageLimits { items: page.fetch(), parts: news.pages.partitions, budget };
    let to = after.as_ref().map_or(window.end, |after| window.end.min(after.end()));
    let parts = parts(news, &page.filter, window.start..to).await?;
    let MergedPage { items, opened_parts, continues_after } =
        merge(parts, after.as_ref(), &limits).await?;
    let tiers: Vec<Tier> = opened_parts.iter().map(Items::tier).collect();
    let items: Vec<FeedItem> = items.into_iter().map(|item| item.public).collect();
    let list =
        page.page(items, continues_after, |item| SortKey(item.published_date, item.id.to_string()));
    Ok((headers(&tiers), Json(list)))
}

/// Returns headers with the containers and the number of partitions that a response was read from.
/// `tiers` has the container of each of these partitions.
///
/// A query of a whole container counts as one partition: it is a fan-out to the physical
/// partitions, and a hot container has few of these.
pub(super) fn headers(tiers: &[Tier]) -> HeaderMap {
    let containers: BTreeSet<Tier> = tiers.iter().copied().collect();
    let names: Vec<&str> = containers.into_iter().map(Tier::as_str).collect();
    let names = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
    let mut headers = HeaderMap::new();
    if let Ok(names) = HeaderValue::from_str(&names) {
        headers.insert(CONTAINERS_HEADER, names);
    }
    headers.insert(PARTITIONS_HEADER, HeaderValue::from(tiers.len()));
    headers
}

/// Parts of a list from the newest to the oldest, as they are needed.
type Parts<'a> = iter::Peekable<Box<dyn Iterator<Item = Items> + Send + 'a>>;

/// Returns the parts of a window, from the newest to the oldest. Of parts that end at the same
/// moment, the part of the hot container comes first.
async fn parts<'a, const SEARCH: bool>(
    news: &'a News,
    filter: &'a NewsFilter<SEARCH>,
    window: Range<Timestamp>,
) -> Result<impl Iterator<Item = Items> + 'a, ApiError> {
    let mut sources: Vec<Parts<'a>> = Vec::new();
    let classes = match &filter.provider {
        Some(provider) => news.key_classes(provider).await?,
        None => [].into(),
    };
    for (tier, range) in ranges(news, window).await? {
        let start = range.start;
        let end = range.end;
        let part = move |(key, period): (PartitionKey, Period)| {
            let within = start.max(period.start().into())..end.min(period.end().into());
            Items::new(news, tier, Some(key), within, filter)
        };
        match (&filter.provider, &*news.strategy) {
            (Some(provider), _) => sources.extend(
                classes
                    .iter()
                    .map(|class| boxed(class.keys(provider, range.clone()).rev().map(part))),
            ),
            (None, Strategy::Monthly) => {
                sources.push(boxed(PartitionKey::months(range).rev().map(part)));
            }
            (None, Strategy::Hybrid { .. }) => {
                sources.push(boxed(iter::once(Items::new(news, tier, None, range, filter))));
            }
        }
    }
    let newest = move || {
        let ends = sources.iter_mut().enumerate();
        let ends = ends.filter_map(|(n, parts)| Some((parts.peek()?.before(), Reverse(n))));
        let (_, Reverse(n)) = ends.max()?;
        sources[n].next()
    };
    Ok(iter::from_fn(newest))
}

fn boxed<'a>(parts: impl Iterator<Item = Items> + Send + 'a) -> Parts<'a> {
    let parts: Box<dyn Iterator<Item = Items> + Send + 'a> = Box::new(parts);
    parts.peekable()
}

async fn ranges(
    news: &News,
    window: Range<Timestamp>,
) -> Result<impl Iterator<Item = (Tier, Range<Timestamp>)>, ApiError> {
    let now = news.now();
    let migrated = news.migrated().await?;
    let hot_from = migrated.all_before.min(news.ages.migrated_before(now));
    let warm_to = migrated.none_since.max(news.ages.hot_since(now));
    let ranges = [
        (Tier::Hot, window.start.max(hot_from)..window.end),
        (Tier::Warm, window.start..window.end.min(warm_to)),
    ];
    Ok(ranges.into_iter().filter(|(_, range)| !range.is_empty()))
}
