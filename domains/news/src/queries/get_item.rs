//! `GET /news/items/{partitionKey}/{id}`.

use axum::{extract::State, http::HeaderMap};
use tributary_functions::{
    cosmos::{Stored, confirm},
    http::{self, ApiError, Conditions, ItemResponse, Params},
};

use super::router::headers;
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
    let find = async |reads| {
        news.reading(reads).find(&key, id.as_str()).await?.ok_or(ApiError::NotFound("feed item"))
    };
    let FoundItem { tier, stored: Stored { item, etag } } = confirm(find).await?;
    let asked: Vec<Tier> = Tier::ALL.into_iter().filter(|read| *read <= tier).collect();
    Ok((headers(&asked), http::found(&conditions, &item.public, &etag)))
}
