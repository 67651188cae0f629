//! Relocation: an item goes from one container to a colder one, in the same logical partition. No item is
//! lost, and no list shows one twice.
//!
//! No transaction reaches two containers, so a relocation is two writes:
//!
//! 1. The item is copied to the colder container, in the version that was read.
//! 2. The copy in the hotter container gets the state *carried*, under the ETag of that version, and a
//!    time to live, after which the store deletes it.
//!
//! Until the second write the hotter copy is the item, and edits go there. From then on the colder copy is
//! the item.
//!
//! # How a domain uses it
//!
//! 1. The items implement [`Relocatable`].
//! 2. A read of an item asks the hotter container first, and takes the item there unless it is carried. A
//!    list asks both containers, and takes the newest version of each item.
//! 3. A command that changes the position of an item in a list, or its place, first ends a relocation
//!    that may be under way ([`relocate`]), and then deletes the carried copy ([`remove_carried_copy`]).
//!    It leaves a tombstone in a place from which the item moves.
//!
//! # Why it ends right
//!
//! *Nothing is lost.* The hotter copy becomes carried, and gets its time to live, in one write. Before that
//! write, the colder container has acknowledged the same version, or a read has returned it from there. An
//! edit between the two writes changes the ETag: the store refuses the second write, and the newer version
//! is copied.
//!
//! *An older version never replaces a newer one.* A copy is created where the target was read as empty, or
//! replaces an older version under its ETag.
//!
//! *A late copy does no harm.* A worker reads the target, then the source, and only then writes the target.
//! Suppose that another worker has relocated the item meanwhile: then the target has changed since it was
//! read, and the store refuses the write. That also holds if the item has moved on since, as it leaves a
//! tombstone. And a worker that has read the tombstone reads the source after it: the source is the item
//! only if the item has come back.
//!
//! *A reader finds the item, whatever container it asks first.* The carried copy keeps its content for a
//! day. So an item that was not yet in the colder container when a reader asked there is still in the
//! hotter one when the reader asks there within this day. Both copies have the same position in a list,
//! since a command that changes the position removes the carried copy first. So a list that merges the
//! containers meets both copies side by side.
//!
//! *A relocation ends.* The query for due items finds each relocation that was interrupted.

use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::cosmos::{Container, Reason, StoreError, Stored};

/// An item that can be relocated to a colder container.
pub trait Relocatable: Clone + Serialize + DeserializeOwned + Send + Sync {
    /// Returns the state of this copy and the version of the item in it; `None` for the tombstone of an
    /// item that has moved to another partition.
    fn copy(&self) -> Option<(CopyState, u64)>;

    /// Returns the copy that stays behind, with a time to live.
    fn carried(&self) -> Self;

    /// Returns true if this copy has the item in this version, or in a later one.
    fn has_version(&self, version: u64) -> bool {
        self.copy().is_some_and(|(_, here)| here >= version)
    }
}

/// The state of a copy of an item in its container, as the copy stores it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum CopyState {
    /// The copy is the item.
    Live,
    /// The copy is the item, which is about to move to another partition. The move comes before any
    /// relocation.
    Departing,
    /// The item is in the colder container, and the store will delete this copy.
    Carried,
}

/// The outcome of a relocation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RelocationOutcome {
    /// The item was copied to the colder container.
    Moved,
    /// The colder container had this version already. The hotter copy is carried now.
    AlreadyThere,
    /// There was nothing to do: the item is not in the hotter container, or departs from there.
    Nothing,
}

/// Relocates an item to the colder container. Both containers must read the latest committed state.
///
/// Four store requests: two reads, two writes. An error, such as a lost race ([`StoreError::is_race`]),
/// leaves the relocation in any valid state.
pub async fn relocate<T: Relocatable>(
    from: &Container,
    to: &Container,
    partition: &str,
    id: &str,
) -> Result<RelocationOutcome, StoreError> {
    // The order matters: see the module's documentation.
    let target: Option<Stored<T>> = to.read(partition, id).await?;
    let Some(source) = from.read::<T>(partition, id).await? else {
        return Ok(RelocationOutcome::Nothing);
    };
    let Some((CopyState::Live, version)) = source.item.copy() else {
        return Ok(RelocationOutcome::Nothing);
    };
    let is_there = target.as_ref().is_some_and(|target| target.item.has_version(version));
    if !is_there {
        let etag = target.as_ref().map(|target| &target.etag);
        to.put_moved(partition, id, &source.item, (&source.etag, etag)).await?;
    }
    from.replace(partition, id, &source.item.carried(), &source.etag).await?;
    Ok(if is_there { RelocationOutcome::AlreadyThere } else { RelocationOutcome::Moved })
}

/// Deletes the carried copy of an item, if there is one.
pub async fn remove_carried_copy<T: Relocatable>(
    container: &Container,
    partition: &str,
    id: &str,
) -> Result<(), StoreError> {
    let Some(copy) = container.read::<T>(partition, id).await? else { return Ok(()) };
    if !matches!(copy.item.copy(), Some((CopyState::Carried, _))) {
        return Ok(());
    }
    match container.delete(partition, id, &copy.etag).await {
        Err(StoreError { reason: Reason::NotFound, .. }) => Ok(()),
        deleted => deleted,
    }
}
