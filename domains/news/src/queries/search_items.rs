//! `GET /news/search`.

use axum::{Json, extract::State, http::HeaderMap};
use tributary_functions::{
    engines::child_list::SortKey,
    http::{ApiError, List, PageRequest},
};

use super::{filter::NewsFilter, router};
use crate::{model::FeedItem, state::News};

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
