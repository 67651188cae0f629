//! Copies that carry the version of their source.

use serde::{Deserialize, Serialize};

use super::Effect;
use crate::cosmos::{Container, ETag, StoreError, Stored};

/// A copy, or the mark of a deleted one, as it is to be stored. Its item has the version as
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

impl<T: Serialize + Sync> VersionedCopy<T> {
    /// Writes the copy, unless there is one of this version or a newer one: two store requests.
    ///
    /// It is written as what was read is replaced, or as new where there was nothing, so of two
    /// writers one looks again: the newest version wins in whatever order, and however often,
    /// versions come.
    pub async fn write(&self, container: &Container) -> Result<Effect, StoreError> {
        match Place::of(container, &self.partition, &self.id, self.version).await? {
            Place::Open(etag) => {
                container.put(&self.partition, &self.id, &self.item, etag.as_ref()).await?;
                Ok(Effect::Applied)
            }
            Place::Taken(effect) => Ok(effect),
        }
    }
}

/// What stands where a copy is to be written.
#[derive(Debug)]
pub enum Place {
    /// Nothing, or an older version under this ETag.
    Open(Option<ETag>),
    /// The same version, or a newer one: nothing is to be written, and this is what to answer.
    Taken(Effect),
}

impl Place {
    /// Looks where a copy of `version` is to be written: one point read.
    pub async fn of(
        container: &Container,
        partition: &str,
        id: &str,
        version: u64,
    ) -> Result<Self, StoreError> {
        #[derive(Deserialize)]
        struct Copied {
            version: u64,
        }
        let there: Option<Stored<Copied>> = container.read(partition, id).await?;
        Ok(match there {
            Some(copy) if copy.item.version > version => Self::Taken(Effect::Older),
            Some(copy) if copy.item.version == version => Self::Taken(Effect::Unchanged),
            older => Self::Open(older.map(|copy| copy.etag)),
        })
    }
}
