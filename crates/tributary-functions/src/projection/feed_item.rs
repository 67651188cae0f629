//! The items of a container, as its change feed delivers them.

use serde::de::DeserializeOwned;

use super::Origin;

/// An item of a container whose change feed projections read, with its type: an `enum` of all types.
///
/// What all projections of a container need to know of its items stands here, once. What a projection
/// makes of an item stands in the definition of its shape.
pub trait FeedItem: DeserializeOwned + Clone + Send + Sync + 'static {
    /// The property that is the partition key of the container.
    const PARTITION_KEY: &'static str;
    /// The properties that a dead letter does not keep, such as a password.
    const SECRETS: &'static [&'static str] = &[];

    /// Returns the source of the change and its version, for a source and for its tombstone; `None` for
    /// all else.
    fn origin(&self) -> Option<Origin>;
}
