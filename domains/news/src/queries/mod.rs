//! The queries.

mod filter;
mod merged_list;
mod part;
mod router;

use axum::http::HeaderMap;
use tributary_functions::prelude::*;

use self::{filter::NewsFilter, router::headers};
use crate::{
    model::{FeedItem, ItemId, PartitionKey, Tier},
    moves::{FoundItem, Places},
    state::News,
};

/// Returns an item from any container: a point read for each container up to its own.
pub async fn get_item(
    State(news): State<News>,
    Params((key, id)): Params<(PartitionKey, ItemId)>,
    conditions: Conditions,
) -> Result<(HeaderMap, ItemResponse<FeedItem>), ApiError> {
    let found = news.find(&key, id.as_str()).await?.ok_or(ApiError::NotFound("feed item"))?;
    let FoundItem { tier, stored: Stored { item, etag } } = found;
    let asked: Vec<Tier> = Tier::ALL.into_iter().filter(|read| *read <= tier).collect();
    Ok((headers(&asked), http::found(&conditions, &item.public, &etag)))
}

/// Returns the items of a window, newest first.
pub async fn list_items(
    State(news): State<News>,
    page: PageRequest<SortKey, NewsFilter<false>>,
) -> Result<(HeaderMap, Json<List<FeedItem>>), ApiError> {
    router::page(&news, page).await
}

/// Returns the items of a window whose title, content or tags contain a text, newest first.
pub async fn search_items(
    State(news): State<News>,
    page: PageRequest<SortKey, NewsFilter<true>>,
) -> Result<(HeaderMap, Json<List<FeedItem>>), ApiError> {
    if page.filter.q.is_none() {
        return Err(ApiError::invalid("q", "is missing"));
    }
    router::page(&news, page).await
}
