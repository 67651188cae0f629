//! Reads that are at least as new as the change for which they are made.

use serde::de::DeserializeOwned;

use crate::cosmos::{Container, StoreError, Stored};

/// The version in which the change feed has delivered a source.
///
/// The change feed and the reads of a projection may be answered by different replicas, and session
/// tokens are not shared between instances. So a read may return an older version than the delivered one. A
/// decision on that version would be acknowledged, and the change lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DeliveredVersion(pub u64);

impl DeliveredVersion {
    /// Reads the source in this version or a newer one; `None` when it is gone.
    ///
    /// A read with Session consistency is enough as a rule. If it returns nothing or an older version, the
    /// latest committed state is read. If that is older, too, it is a lost race: the caller's region is
    /// behind, and the change is applied again later.
    pub(crate) async fn read<T: DeserializeOwned>(
        self,
        container: &Container,
        (partition, id): (&str, &str),
        version: impl Fn(&T) -> Option<u64>,
    ) -> Result<Option<Stored<T>>, StoreError> {
        let is_older =
            |stored: &Stored<T>| version(&stored.item).is_none_or(|known| known < self.0);
        if let Some(stored) = container.read(partition, id).await?
            && !is_older(&stored)
        {
            return Ok(Some(stored));
        }
        match container.latest_committed().read(partition, id).await? {
            Some(stored) if is_older(&stored) => Err(StoreError::race(false)),
            latest => Ok(latest),
        }
    }
}
