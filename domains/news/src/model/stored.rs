//! Feed items as they are stored.

use serde::{Deserialize, Serialize};
use tributary_functions::engines::item_move::{
    self, Content, ItemPlaceOf, MovableItem, MovableSlot,
};

use super::{FeedItem, PartitionKey, Tag, Tier};

/// A place of a feed item.
pub type Place = ItemPlaceOf<FeedItem>;
/// The items of the containers of feeds.
pub type NewsItem = MovableSlot<FeedItem>;
/// A feed item as it is stored.
pub type StoredItem = MovableItem<FeedItem>;
/// A move of a feed item that has begun.
pub type Departure = item_move::ItemDeparture<FeedItem>;
/// The location of a feed item.
pub type Location = item_move::Location<FeedItem>;
/// The tombstone of a feed item that has moved to another place.
pub type Vacated = item_move::Vacated<PartitionKey>;

impl Content for FeedItem {
    const TYPE: &'static str = "feedItem";
    const DATE: &'static str = "publishedDate";
    type Tier = Tier;
    type Key = PartitionKey;
    type Derived = TagText;

    fn id(&self) -> &str {
        self.id.as_str()
    }

    fn partition_key(&self) -> &PartitionKey {
        &self.partition_key
    }

    fn derived(&self) -> TagText {
        let tags: Vec<&str> = self.tags.iter().map(Tag::as_str).collect();
        // No search text has this character.
        TagText { tag_text: tags.join("\n") }
    }
}

/// The tags in one text: a query searches it as it searches title and content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TagText {
    tag_text: String,
}
