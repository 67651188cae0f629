//! Feed items and their ids, as callers write and read them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tributary_functions::{
    http::from_form,
    values::{self, Timestamp, id_rule},
};
use uuid::Uuid;

use super::{
    Content, KeyClass, Metadata, PartitionKey, SourceUrl, Tag, Title,
    text::{MAX_CONTENT_BYTES, MAX_METADATA_BYTES, MAX_TAGS, MAX_URL_BYTES},
};

from_form!(
    /// An item to store.
    #[derive(Debug, Clone, PartialEq)]
    pub struct NewItem {
        pub feed_provider_id: ProviderId = text("feedProviderId", ProviderId::parse),
        pub title: Title = text("title", Title::parse),
        pub content: Content = text("content", Content::parse),
        pub published_date: Timestamp = moment("publishedDate"),
        pub source_url: SourceUrl = text("sourceUrl", SourceUrl::parse),
        pub tags: Vec<Tag> = optional_texts("tags", 0..=MAX_TAGS, Tag::parse),
        /// Metadata of the crawler.
        pub metadata: Metadata = optional_object("metadata", Metadata::parse),
    }
);

/// An item, as the API shows it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FeedItem {
    /// The id, made of the provider and the address ([`ItemId::from_source`]).
    pub id: ItemId,
    /// The partition key.
    pub partition_key: PartitionKey,
    /// The feed provider that has published the item.
    pub feed_provider_id: ProviderId,
    /// The title.
    pub title: Title,
    /// The content.
    pub content: Content,
    /// The time of publication.
    pub published_date: Timestamp,
    /// The time of the last post of the item.
    pub crawled_date: Timestamp,
    /// The address of the published article, as it was written: of an item of an earlier release also what
    /// is refused now.
    #[schemars(with = "SourceUrl")]
    pub source_url: String,
    /// The tags.
    pub tags: Vec<Tag>,
    /// Metadata of the crawler.
    pub metadata: Metadata,
}

const ID_BYTES: usize = 128;
/// The most bytes that JSON takes for one character: a control character is `\u0000`.
const CHARACTER_BYTES: usize = 6;
/// The names of the fields, dates, punctuation.
const REST_BYTES: usize = 512;

/// The most bytes of an item as JSON. JSON takes at most two bytes for a byte of a content.
pub const ITEM_BYTES: usize = 4 * ID_BYTES
    + 500 * CHARACTER_BYTES
    + 2 * MAX_CONTENT_BYTES
    + 2 * MAX_URL_BYTES
    + MAX_TAGS * (100 * CHARACTER_BYTES + 3)
    + MAX_METADATA_BYTES
    + REST_BYTES;

impl FeedItem {
    pub fn key_class(&self) -> Option<KeyClass> {
        KeyClass::from_key(&self.partition_key, &self.feed_provider_id, self.published_date)
    }
}

impl NewItem {
    pub fn id(&self) -> ItemId {
        ItemId::from_source(&self.feed_provider_id, &self.source_url)
    }

    pub fn stored_in(&self, partition_key: PartitionKey, crawled_date: Timestamp) -> FeedItem {
        let new = self.clone();
        FeedItem {
            id: self.id(),
            partition_key,
            feed_provider_id: new.feed_provider_id,
            title: new.title,
            content: new.content,
            published_date: new.published_date,
            crawled_date,
            source_url: new.source_url.to_string(),
            tags: new.tags,
            metadata: new.metadata,
        }
    }
}

values::checked_text!(
    /// The id of a feed provider, such as `reuters`.
    ProviderId, "north-wire", id_rule;

    /// The id of a feed item.
    ItemId, "3f1b6a52-9d0c-5b8e-8a63-0d5f7c1e2b94", id_rule
);

impl ItemId {
    /// Returns the id of the item that a provider publishes under an address. So a second post by a
    /// crawler is a post of the same item, however it writes the address. Ids of providers contain no space,
    /// so different pairs give different texts.
    pub fn from_source(provider: &ProviderId, source_url: &SourceUrl) -> Self {
        let name = format!("{provider} {}", source_url.normal());
        Self(Uuid::new_v5(&Uuid::NAMESPACE_URL, name.as_bytes()).to_string())
    }
}
