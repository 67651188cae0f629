//! Relocation: an item goes from one container to a colder one, in the same logical partition, and is
//! neither lost nor shown twice.
//!
//! No transaction reaches two containers, so a relocation is two writes:
//!
//! 1. The item is copied to the colder container, in the version that was read.
//! 2. The copy in the hotter container is marked as *carried*, under the ETag of that version. It gets
//!    a time to live, at the end of which the store deletes it.
//!
//! Until the second write the hotter copy is the item: edits go there. From then on the colder copy is
//! the item.
//!
//! # How a domain uses it
//!
//! 1. The items implement [`Relocatable`].
//! 2. Whoever looks for an item asks the hotter container first, and takes what is there unless it is
//!    carried. Whoever lists items asks both containers, and takes the newest version of each item.
//! 3. A command that changes where an item stands in a list, or its place, first brings it to the end
//!    of a relocation that may be under way ([`relocate`]), and then deletes the carried copy
//!    ([`remove_carried_copy`]). It leaves a tombstone in a place from which the item moves.
//!
//! # Why it ends right
//!
//! *Nothing is lost.* The hotter copy gets its time to live with the mark, when the colder container
//! has acknowledged the version that is marked, or has shown it. An edit between copy and mark changes
//! the ETag: the mark is refused, and the newer version is copied.
//!
//! *An older version never replaces a newer one.* A copy is written under what was read at the target:
//! where there is none, or over an older version under its ETag.
//!
//! *A copy that is late does no harm.* A worker reads the target, then the source, and only then
//! writes the target. Say that another has brought the item over meanwhile: then the target is no
//! longer as it was read, and the write is refused. That also holds when the item has then moved on, as
//! it leaves a tombstone. And a worker that has read the tombstone has read the source after it, which
//! is the item only when it has come back.
//!
//! *A reader finds the item, in whatever order it asks.* The carried copy stays for a day with its
//! content, so an item that was not yet in the colder container when a reader asked there is in the
//! hotter one when it asks there, within this day. Both copies stand in the same place of a list,
//! since a command that changes that place removes the carried copy first: so a list that merges them
//! sees them side by side.
//!
//! *It ends.* Each step that is left out is found again by the query for what is due.

use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::cosmos::{Container, Reason, StoreError, Stored};

/// An item that can be brought to a colder container.
pub trait Relocatable: Clone + Serialize + DeserializeOwned + Send + Sync {
    /// What this copy is, and the version of the item that it has; `None` of the tombstone of an item that
    /// has moved to another partition.
    fn copy(&self) -> Option<(CopyState, u64)>;

    /// Returns the copy that stays behind, with a time to live.
    fn carried(&self) -> Self;

    /// Returns true if this is the item in this version, or in a later one.
    fn has_version(&self, version: u64) -> bool {
        self.copy().is_some_and(|(_, here)| here >= version)
    }
}

/// What a copy of an item is in its container. An item stores it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum CopyState {
    /// It is the item.
    Live,
    /// It is the item, which is about to move to another partition: that comes first.
    Departing,
    /// The item is in the colder container; this copy goes away.
    Carried,
}

/// How a relocation has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RelocationOutcome {
    /// The item was brought over.
    Moved,
    /// The colder container had this version already; the hotter copy is marked now.
    AlreadyThere,
    /// There is nothing to do: the item is not in the hotter container, or departs from there.
    Nothing,
}

/// Brings an item to the colder container. Both containers must read the latest committed state.
///
/// Four store requests: two reads, two writes. An error leaves it in any valid state; a lost race is
/// one ([`StoreError::is_race`]).
pub async fn relocate<T: Relocatable>(
    from: &Container,
    to: &Container,
    partition: &str,
    id: &str,
) -> Result<RelocationOutcome, StoreError> {
    // In this order: see above.
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
        to.put(partition, id, &source.item, etag).await?;
    }
    // guard: relocation: the tombstone replaces only the version that was copied =>
    //     `from.replace(partition, id, &source.item.carried(), &ETag::from("*")).await?`
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
