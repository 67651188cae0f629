//! Copies with the version of their source.

use futures::{FutureExt, future::BoxFuture};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::{ChangeFeedItem, Effect, Origin};
use crate::cosmos::{Container, ETag, Reason, StoreError, Stored};

/// A copy, or the tombstone of a deleted one, to be written. The item has the version as its property
/// `version`.
pub struct VersionedCopy<T> {
    /// The logical partition of the copy.
    pub partition: String,
    /// The id of the copy, derived from that of the source.
    pub id: String,
    /// The version of the source.
    pub version: u64,
    /// The copy.
    pub item: T,
}

impl<T: ChangeFeedItem> VersionedCopy<T> {
    /// Returns a copy whose place and version are those of the item itself, in the container of the copies.
    pub fn from_item(item: T) -> Option<Self> {
        let Origin { partition, id, version } = item.origin()?;
        Some(Self { partition, id, version, item })
    }
}

impl<T: Serialize + DeserializeOwned + Sync> VersionedCopy<T> {
    /// Writes the copy, unless the store has this version or a newer one. One store request for the first
    /// version, which is nearly always a new item, and two for any other. Where even the first version
    /// `may_be_there`, it is read first: one request if it is, and two otherwise.
    ///
    /// The write replaces the item that was read, under its ETag, or creates a new item. So the slower of two
    /// writers loses the race and reads again. The newest version wins in any order, and with any number of
    /// deliveries.
    pub async fn write(
        &self,
        container: &Container,
        may_be_there: bool,
    ) -> Result<Effect, StoreError> {
        if self.version == 1 && !may_be_there {
            match container.create(&self.partition, &self.id, &self.item).await {
                Ok(_) => return Ok(Effect::Applied),
                Err(error) if error.reason == Reason::Conflict => {}
                Err(error) => return Err(error),
            }
        }
        let there = StoredCopy::read(container, &self.partition, &self.id).await?;
        match CopySlot::new(there.as_ref(), self.version) {
            CopySlot::Open(etag) => {
                container.put(&self.partition, &self.id, &self.item, etag.as_ref()).await?;
                Ok(Effect::Applied)
            }
            CopySlot::Taken(effect) => Ok(effect),
        }
    }
}

/// The stored version and ETag of a copy, or of the tombstone of a deleted one.
#[derive(Debug, Clone)]
pub(crate) struct StoredCopy {
    pub version: u64,
    pub etag: ETag,
}

impl StoredCopy {
    pub(crate) fn read<'a>(
        container: &'a Container,
        partition: &'a str,
        id: &'a str,
    ) -> BoxFuture<'a, Result<Option<Self>, StoreError>> {
        #[derive(Deserialize)]
        struct Version {
            version: u64,
        }
        let read = async move {
            let there = container.read(partition, id).await.inspect_err(|error| {
                if error.reason == Reason::Unreadable {
                    tracing::error!(
                        container = container.id(),
                        partition_key = partition,
                        id,
                        "A copy cannot be read"
                    );
                }
            })?;
            let copy =
                |Stored { item: Version { version }, etag }: Stored<_>| Self { version, etag };
            Ok(there.map(copy))
        };
        read.boxed()
    }
}

/// The state of the slot in which a copy is to be written.
#[derive(Debug)]
pub enum CopySlot {
    /// The slot is empty, or has an older version under this ETag.
    Open(Option<ETag>),
    /// The slot has the same version, or a newer one: there is nothing to write, and this is the effect.
    Taken(Effect),
}

impl CopySlot {
    pub(crate) fn new(there: Option<&StoredCopy>, version: u64) -> Self {
        match there {
            Some(copy) if copy.version > version => Self::Taken(Effect::Older),
            Some(copy) if copy.version == version => Self::Taken(Effect::Unchanged),
            older => Self::Open(older.map(|copy| copy.etag.clone())),
        }
    }
}
