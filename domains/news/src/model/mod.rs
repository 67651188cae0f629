//! The items, their rules, and bodies. Pure: no input, no output, nothing of Cosmos DB.

mod item;
mod keys;
mod place;
mod text;

pub use item::{FeedItem, ITEM_BYTES, ItemId, NewItem, ProviderId};
pub use keys::{KeyClass, PartitionKey, Strategy};
pub use place::{Ages, Progress, Tier};
pub use text::{Content, Metadata, SourceUrl, Tag, Title};
