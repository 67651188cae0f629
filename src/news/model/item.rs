//! Feed items, as callers write and read them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tributary_functions::values::Timestamp;

use super::{
    Content, ItemId, KeyClass, MAX_TAGS, Metadata, PartitionKey, ProviderId, SourceUrl, Tag, Title,
    text::{MAX_CONTENT, MAX_METADATA, MAX_URL},
};

/// An item to store.
#[derive(Debug, Clone, PartialEq)]
pub struct NewItem {
    /// The feed provider that has published the item.
    pub feed_provider_id: ProviderId,
    /// The title.
    pub title: Title,
    /// The content.
    pub content: Content,
    /// The time of publication.
    pub published_date: Timestamp,
    /// The address of the published article.
    pub source_url: SourceUrl,
    /// The tags.
    pub tags: Vec<Tag>,
    /// Metadata of the crawler.
    pub metadata: Metadata,
}

/// An item, as the API shows it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FeedItem {
    /// The id, made of the provider and the address ([`ItemId::of`]).
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
    /// The address of the published article.
    pub source_url: SourceUrl,
    /// The tags.
    pub tags: Vec<Tag>,
    /// Metadata of the crawler.
    pub metadata: Metadata,
}

const ID: usize = 128;
/// The most bytes that JSON takes for one character: a control character is `\u0000`.
const CHARACTER: usize = 6;
/// Names of fields, dates, punctuation.
const REST: usize = 512;

/// The most bytes of an item as JSON. No character of a content takes more than two bytes for one.
pub const ITEM_BYTES: usize = 4 * ID
    + 500 * CHARACTER
    + 2 * MAX_CONTENT
    + 2 * MAX_URL
    + MAX_TAGS * (100 * CHARACTER + 3)
    + MAX_METADATA
    + REST;

impl FeedItem {
    /// Returns the kind of the item's key, if the key belongs to its provider and published date.
    pub fn key_class(&self) -> Option<KeyClass> {
        KeyClass::of_key(&self.partition_key, &self.feed_provider_id, self.published_date)
    }
}

impl NewItem {
    /// Returns the id of the item.
    pub fn id(&self) -> ItemId {
        ItemId::of(&self.feed_provider_id, &self.source_url)
    }

    /// Returns the item in a partition, crawled now.
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
            source_url: new.source_url,
            tags: new.tags,
            metadata: new.metadata,
        }
    }
}
