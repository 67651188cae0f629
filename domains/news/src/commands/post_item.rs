//! `POST /news/items`.

use axum::{extract::State, http::StatusCode};
use tributary_functions::{
    http::{self, ApiError, Form, FromForm, ItemResponse, JsonBody},
    values::{CommandId, Timestamp},
};

use super::save::{Saved, save};
use crate::{
    model::{Content, FeedItem, MAX_TAGS, Metadata, NewItem, ProviderId, SourceUrl, Tag, Title},
    state::News,
};

impl FromForm for NewItem {
    fn from_form(form: &mut Form) -> Option<Self> {
        let feed_provider_id = form.text("feedProviderId", ProviderId::parse);
        let title = form.text("title", Title::parse);
        let content = form.text("content", Content::parse);
        let published_date = form.text("publishedDate", |text| Timestamp::parse(&text));
        let source_url = form.text("sourceUrl", SourceUrl::parse);
        let tags = form.optional_texts("tags", 0..=MAX_TAGS, Tag::parse);
        let metadata = form.optional_object("metadata", Metadata::parse);
        Some(Self {
            feed_provider_id: feed_provider_id?,
            title: title?,
            content: content?,
            published_date: published_date?,
            source_url: source_url?,
            tags: tags?.unwrap_or_default(),
            metadata: metadata?.unwrap_or_default(),
        })
    }
}

/// Stores an item, or its new state if the provider has published it under this address before.
pub async fn post_item(
    State(news): State<News>,
    command: CommandId,
    JsonBody(new): JsonBody<NewItem>,
) -> Result<ItemResponse<FeedItem>, ApiError> {
    let Saved { status, item } = save(&news, &new, &command).await?;
    let location = format!("/api/news/items/{}/{}", item.item.partition_key, item.item.id);
    Ok(if status == StatusCode::CREATED {
        http::created(&location, &item.item, &item.etag)
    } else {
        http::item(status, &item.item, &item.etag)
    })
}
