//! The items of a change feed, and their sources.

use serde::de::DeserializeOwned;

use super::DeliveredVersion;
use crate::cosmos::{Container, StoreError};

/// An item of a container whose change feed projections read, with its type: an `enum` of all types.
///
/// What all projections of a container need to know of its items stands here, once. What a projection
/// makes of an item stands in the definition of its shape.
pub trait ChangeFeedItem: DeserializeOwned + Clone + Send + Sync + 'static {
    /// The property that is the partition key of the container.
    const PARTITION_KEY: &'static str;
    /// The properties that a dead letter does not keep, such as a password.
    const SECRETS: &'static [&'static str] = &[];

    /// Returns the source of the change and its version, for a source and for its tombstone; `None` for
    /// all else.
    fn origin(&self) -> Option<Origin>;
}

/// The partition key, the id and the delivered version of a source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// The logical partition of the source.
    pub partition: String,
    /// The id of the source.
    pub id: String,
    /// The version that was delivered.
    pub version: u64,
}

impl Origin {
    /// Creates the origin of a change.
    pub fn new(partition: impl AsRef<str>, id: impl AsRef<str>, version: u64) -> Self {
        let [partition, id] = [partition.as_ref(), id.as_ref()].map(str::to_owned);
        Self { partition, id, version }
    }

    /// Creates the origin of a change of a source whose id is its partition key, too.
    pub fn root(id: impl AsRef<str>, version: u64) -> Self {
        Self::new(&id, &id, version)
    }

    /// Returns a name that no other source in the container has: an id alone is only unique within
    /// its logical partition. No id contains a space.
    pub fn name(&self) -> String {
        let Self { partition, id, .. } = self;
        if partition == id { id.clone() } else { format!("{partition} {id}") }
    }

    /// Splits a [name](Self::name) into partition key and id.
    pub(crate) fn split_name(name: &str) -> (&str, &str) {
        name.split_once(' ').unwrap_or((name, name))
    }

    /// Reads the source again, in the delivered version or a newer one: for a change that the Functions host
    /// may have rewritten on its way through the trigger. `None` if the source does not exist any more.
    pub(crate) async fn read_again<C: ChangeFeedItem>(
        &self,
        sources: &Container,
    ) -> Result<Option<C>, StoreError> {
        let version = |item: &C| item.origin().map(|origin| origin.version);
        let key = (self.partition.as_str(), self.id.as_str());
        let stored = DeliveredVersion(self.version).read(sources, key, version).await?;
        Ok(stored.map(|stored| stored.item))
    }
}
