//! A part of a list: the items of one partition, or of a whole container, in a window.
//!
//! A list reads the next items. A search reads the next *candidates*: the position and version of
//! each item of the window, and the item itself only if its texts have the search text. No index
//! helps to find a text, so the store loads each candidate in any case. This has three effects. The
//! number of candidates bounds the cost of one query, whatever the query finds. The search knows
//! its position. And an older copy that has the text does not count if a newer version is without
//! the text.

use std::ops::Range;

use serde::Deserialize;
use tributary_functions::{
    cosmos::{self, JsonText},
    prelude::*,
};

use super::{
    filter::NewsFilter,
    merged_list::{ListPart, PartRequest, PartRow, PartRows},
};
use crate::{
    model::{ItemId, PartitionKey, Tier},
    moves::{self, CopyState, NewsItem, StoredItem},
    state::News,
};

const MAX_CANDIDATES: u32 = 400;
/// The factor by which a search reads more candidates each time.
const CANDIDATES_GROWTH: u32 = 4;
/// The most candidates in a page of the store: a query of a whole container loads such a page from
/// each of its physical partitions.
const MAX_CANDIDATE_PAGE: u32 = 100;
/// The most rows that a read takes to find one with a readable position, after which it can continue.
const MAX_READ_ROWS: u32 = 1_000;

/// The items of one partition, or of a whole container, in a window.
pub(super) struct Items {
    news: News,
    tier: Tier,
    container: Container,
    /// `None` is the whole container.
    key: Option<PartitionKey>,
    window: Range<Timestamp>,
    /// The provider of the items, if the partition has items of other providers, too.
    provider: Option<String>,
    q: Option<String>,
}

/// A candidate of a search, with the item if its texts have the search text.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Candidate {
    id: ItemId,
    published_date: Timestamp,
    version: u64,
    found: Option<NewsItem>,
}

impl Items {
    pub(super) fn new<const SEARCH: bool>(
        news: &News,
        tier: Tier,
        key: Option<PartitionKey>,
        window: Range<Timestamp>,
        filter: &NewsFilter<SEARCH>,
    ) -> Self {
        let is_shared = key.as_ref().is_none_or(|key| key.provider().is_none());
        let provider = filter.provider.as_ref().filter(|_| is_shared);
        Self {
            news: news.clone(),
            tier,
            container: news.container(tier).clone(),
            key,
            window,
            provider: provider.map(ToString::to_string),
            q: filter.q.clone(),
        }
    }

    pub(super) fn tier(&self) -> Tier {
        self.tier
    }

    /// Returns the number of rows to read: more each time in a search, since few rows match.
    fn row_limit(&self, PartRequest { items, reads, .. }: PartRequest<'_>) -> u32 {
        if self.q.is_none() {
            return items;
        }
        let candidates = items.saturating_mul(CANDIDATES_GROWTH.saturating_pow(reads));
        candidates.min(MAX_CANDIDATES.max(items))
    }

    /// Returns the next rows that have a position, at most `row_limit` of them, and true if the part has
    /// no further rows.
    async fn rows(
        &self,
        after: Option<&SortKey>,
        row_limit: u32,
        wanted: PartRequest<'_>,
    ) -> Result<(Vec<PartRow<StoredItem>>, bool), StoreError> {
        let query = self.query(after, row_limit)?;
        let scope =
            self.key.as_ref().map_or(Scope::Container, |key| Scope::Partition(key.as_str()));
        if self.q.is_none() {
            let rows = self.container.query_rows(query, scope, row_limit).await?;
            let is_end = rows.len() < row_limit as usize;
            return Ok((rows.into_iter().filter_map(|row| self.item(row)).collect(), is_end));
        }
        // A page of the store has 4 MB at most, so a query may have many pages. The rows of the first
        // ones may be enough.
        let needs_more = |rows: &[cosmos::RowResult<Candidate>]| {
            let found = rows.iter().flatten().filter(|candidate| candidate.found.is_some()).count();
            found < wanted.items as usize && (rows.is_empty() || !wanted.budget.is_spent())
        };
        let page_size = match self.key {
            Some(_) => row_limit,
            None => row_limit.min(MAX_CANDIDATE_PAGE.max(wanted.items)),
        };
        let read = self.container.query_rows_while(query, scope, page_size, needs_more).await?;
        let (rows, has_all) = read;
        let is_end = has_all && rows.len() < row_limit as usize;
        Ok((rows.into_iter().filter_map(|row| self.candidate(row)).collect(), is_end))
    }

    fn item(&self, row: cosmos::RowResult<NewsItem>) -> Option<PartRow<StoredItem>> {
        row.map_or_else(|row| unreadable_row(&row), |item| Some(self.row(item.try_into().ok()?)))
    }

    fn candidate(&self, row: cosmos::RowResult<Candidate>) -> Option<PartRow<StoredItem>> {
        match row {
            Ok(Candidate { id, published_date, version, found }) => {
                if let Some(item) = found.and_then(|it| it.try_into().ok()) {
                    return Some(self.row(item));
                }
                Some(PartRow { key: SortKey(published_date, id.to_string()), version, item: None })
            }
            Err(row) => unreadable_row(&row),
        }
    }

    /// Returns the row of an item. The row of an archived item is empty, so that the list does not show
    /// the item.
    fn row(&self, item: StoredItem) -> PartRow<StoredItem> {
        let is_archived = self.tier == Tier::Warm && item.state == CopyState::Carried;
        let key = SortKey(item.public.published_date, item.public.id.to_string());
        PartRow { key, version: item.version, item: Some(item).filter(|_| !is_archived) }
    }

    /// Returns the query of the next rows. The filtered properties come first in its order, so that the
    /// composite index is entered at the first item.
    fn query(&self, after: Option<&SortKey>, row_limit: u32) -> Result<Query, StoreError> {
        let key = self.key.as_ref().map(|key| ("partitionKey", "@key", key.as_str()));
        let provider = self.provider.as_deref().map(|id| ("feedProviderId", "@provider", id));
        let equal = || key.into_iter().chain(provider);
        let filter = equal().map(|(property, value, _)| format!("c.{property} = {value} AND "));
        let order = equal().map(|(property, ..)| format!("c.{property} DESC, "));
        let shape = match self.q {
            Some(_) => {
                "c.id, c.publishedDate, c.version, (CONTAINS(c.title, @q, true) \
                 OR CONTAINS(c.content, @q, true) OR CONTAINS(c.tagText, @q, true) \
                 ? c : undefined) AS found"
            }
            None => "*",
        };
        let page = match after {
            Some(_) => " AND c.publishedDate <= @date AND (c.publishedDate < @date OR c.id < @id)",
            None => "",
        };
        let text = format!(
            "SELECT TOP @top {shape} FROM c WHERE {}c.publishedDate >= @from \
             AND c.publishedDate < @to{page} ORDER BY {}c.publishedDate DESC, c.id DESC",
            filter.collect::<String>(),
            order.collect::<String>(),
        );
        let mut query = Query::from(text)
            .with_parameter("@top", row_limit)?
            .with_parameter("@from", self.window.start)?
            .with_parameter("@to", self.window.end)?;
        for (_, name, value) in equal() {
            query = query.with_parameter(name, value)?;
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

/// Returns the empty row of an unreadable item, if its position is readable.
fn unreadable_row(row: &JsonText) -> Option<PartRow<StoredItem>> {
    let key = SortKey(row.field("publishedDate")?, row.field("id")?);
    Some(PartRow { key, version: row.field("version").unwrap_or(0), item: None })
}

impl ListPart for Items {
    type Item = StoredItem;

    fn before(&self) -> Timestamp {
        self.window.end
    }

    async fn read(
        &self,
        after: Option<&SortKey>,
        wanted: PartRequest<'_>,
    ) -> Result<PartRows<StoredItem>, StoreError> {
        let row_limit = self.row_limit(wanted);
        let (rows, is_end) = self.rows(after, row_limit, wanted).await?;
        if !rows.is_empty() || is_end {
            return Ok(PartRows { rows, is_end });
        }
        // No row has a readable position: the next read takes more rows.
        let (rows, _) = self.rows(after, MAX_READ_ROWS, wanted).await?;
        Ok(PartRows { is_end: rows.is_empty(), rows })
    }

    async fn keep(&self, item: &StoredItem) -> Result<bool, StoreError> {
        Ok(item.departure.is_none() || !moves::has_arrived(&self.news, item).await?)
    }
}
