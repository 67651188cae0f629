//! `GET /news/items/{partitionKey}/{id}`.

use axum::{extract::State, http::HeaderMap};
use tributary_functions::{
    cosmos::{Stored, confirm},
    http::{self, ApiError, Conditions, ItemResponse, Params},
};

use super::router::headers;
use crate::news::{
    feeds::{Found, News},
    model::{FeedItem, ItemId, PartitionKey, Store},
};

/// An item, wherever it lives: a point read for each container up to its own.
pub async fn get_item(
    State(news): State<News>,
    Params((key, id)): Params<(PartitionKey, ItemId)>,
    conditions: Conditions,
) -> Result<(HeaderMap, ItemResponse<FeedItem>), ApiError> {
    let find = async |reads| {
        news.reading(reads).find(&key, &id).await?.ok_or(ApiError::NotFound("feed item"))
    };
    let Found { store, stored: Stored { item, etag } } = confirm(find).await?;
    let asked: Vec<Store> =
        [Store::Hot, Store::Warm, Store::Archive].into_iter().filter(|one| *one <= store).collect();
    Ok((headers(&asked), http::found(&conditions, &item.public, &etag)))
}
