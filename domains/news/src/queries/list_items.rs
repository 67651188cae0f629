//! `GET /news/items`.

use axum::{Json, extract::State, http::HeaderMap};
use tributary_functions::{
    engines::child_list::SortKey,
    http::{ApiError, List, PageRequest},
};

use super::{filter::NewsFilter, router};
use crate::{model::FeedItem, state::News};

/// Returns the items of a window, newest first.
pub async fn list_items(
    State(news): State<News>,
    page: PageRequest<SortKey, NewsFilter<false>>,
) -> Result<(HeaderMap, Json<List<FeedItem>>), ApiError> {
    router::page(&news, page).await
}
