//! `POST /news/items`.

use tributary_functions::prelude::*;

use super::save::save;
use crate::{
    model::{Content, FeedItem, MAX_TAGS, Metadata, NewItem, ProviderId, SourceUrl, Tag, Title},
    moves::StoredItem,
    state::News,
};

from_form!(NewItem {
    feed_provider_id: text("feedProviderId", ProviderId::parse),
    title: text("title", Title::parse),
    content: text("content", Content::parse),
    published_date: moment("publishedDate"),
    source_url: text("sourceUrl", SourceUrl::parse),
    tags: optional_texts("tags", 0..=MAX_TAGS, Tag::parse),
    metadata: optional_object("metadata", Metadata::parse),
});

/// Stores an item, or its new state if the provider has published it under this address before.
pub async fn post_item(
    State(news): State<News>,
    command: CommandId,
    JsonBody(new): JsonBody<NewItem>,
) -> Result<ItemResponse<FeedItem>, ApiError> {
    let written = save(&news, &new, &command).await?;
    let location = |StoredItem { public, .. }: &StoredItem| {
        format!("/api/news/items/{}/{}", public.partition_key, public.id)
    };
    Ok(written.answer(&written.stored.item.public, location))
}
