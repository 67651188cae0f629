//! `GET /news/search`.

use axum::{extract::State, response::Response};
use tributary_functions::{
    engines::child_list::SortKey,
    http::{ApiError, PageRequest},
};

use super::{filter::NewsFilter, router};
use crate::news::feeds::News;

/// Items of a window whose title, content or tags contain a text, newest first.
pub async fn search_items(
    State(news): State<News>,
    page: PageRequest<SortKey, NewsFilter<true>>,
) -> Result<Response, ApiError> {
    if page.filter.q.is_none() {
        return Err(ApiError::invalid("q", "is missing"));
    }
    router::page(&news, page).await
}
