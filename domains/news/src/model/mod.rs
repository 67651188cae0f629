//! The items and their rules. Pure: no input, no output, nothing of HTTP or of Cosmos DB.

mod ids;
mod item;
mod keys;
mod place;
mod text;
mod tier;

pub use ids::{ItemId, ProviderId};
pub use item::{FeedItem, ITEM_BYTES, NewItem};
pub use keys::{KeyClass, PartitionKey, Strategy};
pub use place::{Ages, Progress};
pub use text::{Content, MAX_TAGS, Metadata, SourceUrl, Tag, Title};
pub use tier::Tier;
