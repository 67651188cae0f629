//! `GET /news/items`.

use axum::{extract::State, response::Response};

use super::{filter::NewsFilter, router};
use crate::{
    engines::child_list::SortKey,
    http::{ApiError, PageRequest},
    news::feeds::News,
};

/// Items of a window, newest first.
pub async fn list_items(
    State(news): State<News>,
    page: PageRequest<SortKey, NewsFilter<false>>,
) -> Result<Response, ApiError> {
    router::page(&news, page).await
}
