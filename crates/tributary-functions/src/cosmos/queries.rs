//! The queries of a container: read to their end, row by row, or page by page.
//!
//! All calls of the SDK return rows as text: see [`JsonText`].

use std::num::NonZeroU32;

use azure_data_cosmos::{
    CosmosError, FeedScope, Query,
    feed::{ContinuationToken, QueryFeedPage, QueryPageIterator},
    options::{FeedOptions, MaxItemCountHint, QueryOptions},
};
use futures::{
    StreamExt, TryStreamExt,
    future::BoxFuture,
    stream::{self, BoxStream},
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::{
    JsonText, StoreError,
    budget::check_request_budget,
    container::{Container, measured},
    meter::timed,
};

/// The SDK's default refuses a query of more than 100 physical partitions, some 5 TB.
const UNLIMITED_FAN_OUT: u32 = u32::MAX;

/// A row of a query as a `T`, or as text if it has another form.
pub type RowResult<T> = Result<T, JsonText>;

/// The pages of a query, one by one.
pub type Pages<T> = BoxStream<'static, Result<T, StoreError>>;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct QueryPosition(String);

/// The partitions that a query reads.
#[derive(Debug, Clone, Copy)]
pub enum Scope<'a> {
    /// One logical partition: one store request a page.
    Partition(&'a str),
    /// All of them: at least one store request for each physical partition.
    Container,
}

impl Container {
    /// Runs a query that is bounded by a `TOP` of at most `limit`, and reads all of its pages.
    pub async fn query<T: DeserializeOwned>(
        &self,
        query: Query,
        scope: Scope<'_>,
        limit: u32,
    ) -> Result<Vec<T>, StoreError> {
        items(&self.text_pages(query, scope, limit).await?.try_concat().await?)
    }

    /// Runs a query as [`Self::query`] does, but returns a row that is no `T` as text, and logs its item.
    pub async fn query_rows<T: DeserializeOwned>(
        &self,
        query: Query,
        scope: Scope<'_>,
        limit: u32,
    ) -> Result<Vec<RowResult<T>>, StoreError> {
        Ok(self.query_rows_while(query, scope, limit, |_| true).await?.0)
    }

    /// Reads pages as [`Self::query_rows`] until `go_on` returns false for the rows; true if the query has no more.
    pub async fn query_rows_while<T: DeserializeOwned>(
        &self,
        query: Query,
        scope: Scope<'_>,
        page_size: u32,
        go_on: impl Fn(&[RowResult<T>]) -> bool,
    ) -> Result<(Vec<RowResult<T>>, bool), StoreError> {
        let mut pages = self.text_pages(query, scope, page_size).await?;
        let mut rows = Vec::new();
        while let Some(page) = pages.try_next().await? {
            rows.extend(page.into_iter().map(|row| self.row(row)));
            if !go_on(&rows) {
                return Ok((rows, false));
            }
        }
        Ok((rows, true))
    }

    fn row<T: DeserializeOwned>(&self, row: JsonText) -> RowResult<T> {
        let item = row.read().ok();
        item.ok_or_else(|| {
            tracing::error!(
                container = self.id(),
                item.id = row.id(),
                "Left out an item that is unreadable"
            );
            row
        })
    }

    /// As [`Self::pages`], but a row that is no `T` is there as text, and a log line names its item.
    pub(crate) async fn row_pages<T: DeserializeOwned + 'static>(
        &self,
        query: Query,
        scope: Scope<'_>,
        page_size: u32,
    ) -> Result<Pages<Vec<RowResult<T>>>, StoreError> {
        let pages = self.text_pages(query, scope, page_size).await?;
        let container = self.clone();
        let read =
            move |rows: Vec<JsonText>| rows.into_iter().map(|row| container.row(row)).collect();
        Ok(pages.map_ok(read).boxed())
    }

    /// Reads items by their ids, in one logical partition (one store request, or none for no ids) or in all, where an
    /// id may be several times. Missing items are left out. A tombstone is an item, too: that of a copy has its id,
    /// version and `ttl` alone. `select` lists the properties of each item `c`.
    pub async fn query_ids<T: DeserializeOwned>(
        &self,
        scope: Scope<'_>,
        select: &str,
        ids: impl IntoIterator<Item = impl AsRef<str>>,
    ) -> Result<Vec<T>, StoreError> {
        let ids: Vec<_> = ids.into_iter().collect();
        let limit = u32::try_from(ids.len()).unwrap_or(u32::MAX);
        if limit == 0 {
            return Ok(Vec::new());
        }
        let names: Vec<_> = (0..limit).map(|index| format!("@id{index}")).collect();
        let text = format!("SELECT {select} FROM c WHERE c.id IN ({})", names.join(", "));
        let query =
            names.into_iter().zip(&ids).try_fold(Query::from(text), |query, (name, id)| {
                query.with_parameter(name, id.as_ref())
            })?;
        self.query(query, scope, limit).await
    }

    /// Runs a query page by page. A page has at most `page_size` items; the store may cut it earlier.
    pub async fn pages<T: DeserializeOwned + 'static>(
        &self,
        query: Query,
        scope: Scope<'_>,
        page_size: u32,
    ) -> Result<Pages<Vec<T>>, StoreError> {
        let pages = self.text_pages(query, scope, page_size).await?;
        Ok(pages.map(|page| items(&page?)).boxed())
    }

    fn text_pages<'a>(
        &'a self,
        query: Query,
        scope: Scope<'a>,
        page_size: u32,
    ) -> BoxFuture<'a, Result<Pages<Vec<JsonText>>, StoreError>> {
        Box::pin(async move {
            let state = QueryState::begin(self, query, scope, feed_options(page_size)).await?;
            let pages = stream::try_unfold(state, async |mut state| {
                let page = state.next().await?;
                Ok(page.map(|page| (page, state)))
            });
            Ok(pages.boxed())
        })
    }

    /// Reads pages from a position of the same query on, each with the position behind it.
    pub(crate) async fn pages_behind(
        &self,
        query: Query,
        scope: Scope<'_>,
        page_size: u32,
        position: Option<QueryPosition>,
    ) -> Result<Pages<(Vec<JsonText>, QueryPosition)>, StoreError> {
        let mut feed = feed_options(page_size);
        if let Some(QueryPosition(token)) = position {
            feed = feed.with_continuation_token(ContinuationToken::from_string(token));
        }
        let state = QueryState::begin(self, query, scope, feed).await?;
        let pages = stream::try_unfold(state, async |mut state| {
            let Some(page) = state.next().await? else { return Ok(None) };
            let token = state.pages.to_continuation_token().map_err(StoreError::from_read)?;
            let position = QueryPosition(token.as_str().to_owned());
            Ok(Some(((page, position), state)))
        });
        Ok(pages.boxed())
    }

    async fn begin(
        &self,
        query: Query,
        partition: Option<&str>,
        feed: FeedOptions,
    ) -> Result<QueryPageIterator<JsonText>, StoreError> {
        let key = partition.map(|key| FeedScope::partition(key.to_owned()));
        let scope = key.unwrap_or_else(FeedScope::full_container);
        let (operation, token) = self.read_options();
        let mut options =
            QueryOptions::default().with_operation_options(operation).with_feed_options(feed);
        options.session_token = token;
        let client = self.client().await?;
        let pages = timed(client.query_items(query, scope, Some(options))).await;
        Ok(pages.map_err(StoreError::from_read)?.into_pages())
    }
}

struct QueryState {
    container: Container,
    partition: Option<String>,
    pages: QueryPageIterator<JsonText>,
    first: Option<(Query, FeedOptions)>,
}

fn feed_options(page_size: u32) -> FeedOptions {
    let page_size = NonZeroU32::new(page_size).unwrap_or(NonZeroU32::MIN);
    FeedOptions::default()
        .with_max_item_count(MaxItemCountHint::Limit(page_size))
        .with_max_fan_out(UNLIMITED_FAN_OUT)
}

impl QueryState {
    async fn begin(
        container: &Container,
        query: Query,
        scope: Scope<'_>,
        feed: FeedOptions,
    ) -> Result<Self, StoreError> {
        let partition = match scope {
            Scope::Partition(key) => Some(key.to_owned()),
            Scope::Container => None,
        };
        let pages = container.begin(query.clone(), partition.as_deref(), feed.clone()).await?;
        Ok(Self { container: container.clone(), partition, pages, first: Some((query, feed)) })
    }

    async fn next(&mut self) -> Result<Option<Vec<JsonText>>, StoreError> {
        // Queries in the background may ask all partitions. In a quiet hour they would outnumber all others.
        let is_foreground = self.container.options.throughput_control.is_none();
        let begins_query = is_foreground && self.first.is_some();
        let mut page = self.page(begins_query).await?;
        if let Some((query, feed)) = self.first.take()
            && page.as_ref().is_err_and(|error| self.container.lacks_position(error))
        {
            let latest = self.container.latest_committed();
            self.pages = latest.begin(query, self.partition.as_deref(), feed).await?;
            page = self.page(false).await?;
        }
        let page = page.map_err(StoreError::from_read)?;
        Ok(page.map(QueryFeedPage::into_items))
    }

    async fn page(
        &mut self,
        begins_query: bool,
    ) -> Result<Result<Option<QueryFeedPage<JsonText>>, CosmosError>, StoreError> {
        check_request_budget()?;
        let call = timed(self.pages.try_next());
        Ok(measured(self.container.id(), self.partition.as_deref(), begins_query, call).await)
    }
}

fn items<T: DeserializeOwned>(rows: &[JsonText]) -> Result<Vec<T>, StoreError> {
    rows.iter().map(JsonText::read).collect()
}
