//! `GET /news/items`.

use axum::{extract::State, response::Response};
use tributary_functions::{
    engines::child_list::SortKey,
    http::{ApiError, PageRequest},
};

use super::{filter::NewsFilter, router};
use crate::news::feeds::News;

/// Items of a window, newest first.
pub async fn list_items(
    State(news): State<News>,
    page: PageRequest<SortKey, NewsFilter<false>>,
) -> Result<Response, ApiError> {
    router::page(&news, page).await
}
