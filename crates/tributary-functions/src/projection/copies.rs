//! Copies of one source: the same, or a part of it, in other partitions or containers.
//!
//! # How a domain uses it
//!
//! 1. Every write of a source raises its version; a deleted one leaves a
//!    [tombstone](crate::engines::tombstone).
//! 2. A type with the containers implements [`Copies`]. [`Copies::copies_of`] is the definition: the copies
//!    of a source in this state, with their partitions and ids. A deleted source has tombstones for copies.
//! 3. [`CopyProjection`] of it is a line among the projections of the domain.
//! 4. A line in `tests/it/` puts it under the proof (`tributary_testing::proof`).
//!
//! [`crate::projection`] has the argument why a copy under one id converges. The partition or id of a copy
//! may depend on the owner of the source, and the source may be created again by another owner. The change
//! feed may never deliver the tombstone between the two. So the source keeps its
//! [former owners](crate::engines::tombstone::FormerOwners). The definition has a tombstone for the copy of
//! each of them, in the version in which the owner lost the source.

use serde::{Serialize, de::DeserializeOwned};

use super::{Effect, NotedErrors, Origin, Projection, VersionedCopy};
use crate::cosmos::{Container, StoreError};

/// The definition of copies: their sources, their containers and their items.
pub trait Copies: Send + Sync + 'static {
    /// The function's name, in `functions/`.
    const FUNCTION: &'static str;
    /// The property of the sources that is the partition key of their container.
    const PARTITION_KEY: &'static str;
    /// The properties of the sources that a dead letter does not keep, such as a password.
    const SECRETS: &'static [&'static str] = &[];
    /// An item of the container of the sources, with its type.
    type Change: DeserializeOwned + Clone + Send + Sync;
    /// An item of the container of the copies, with its type.
    type Copy: Serialize + Send + Sync;

    /// Returns the container of the sources, whose change feed is read.
    fn sources(&self) -> &Container;

    /// Returns the container of the copies.
    fn copies(&self) -> &Container;

    /// Returns the source of a change and its version, for the source itself and for its tombstone;
    /// `None` for all else.
    fn origin(change: &Self::Change) -> Option<Origin>;

    /// Returns the copies of a change, each with its partition and id; tombstones have a time to live.
    fn copies_of(change: &Self::Change) -> Vec<VersionedCopy<Self::Copy>>;

    /// Returns true if the Functions host may have rewritten a text of this change that is copied
    /// ([`may_be_rewritten_by_host`](crate::values::may_be_rewritten_by_host)). Then the source is
    /// read again.
    fn may_be_rewritten(change: &Self::Change) -> bool;
}

/// The projection that updates copies from their sources.
pub struct CopyProjection<C>(pub C);

impl<C: Copies> Projection for CopyProjection<C> {
    const FUNCTION: &'static str = C::FUNCTION;
    const PARTITION_KEY: &'static str = C::PARTITION_KEY;
    const SECRETS: &'static [&'static str] = C::SECRETS;
    type Change = C::Change;

    fn container(&self) -> &Container {
        self.0.sources()
    }

    fn source(change: &C::Change) -> Option<(String, u64)> {
        C::origin(change).map(|origin| (origin.name(), origin.version))
    }

    async fn apply(&self, change: &C::Change) -> Result<Effect, StoreError> {
        let Some(change) = self.as_written(change).await? else {
            return Ok(Effect::Unchanged);
        };
        // A copy that cannot be written stops no other.
        let (mut effect, mut errors) = (Effect::Unchanged, NotedErrors::default());
        for copy in C::copies_of(&change) {
            // guard: copies: a copy that cannot be written keeps no other from being written =>
            //     `Some(copy.write(self.0.copies()).await?)`
            match errors.note(copy.write(self.0.copies()).await) {
                None | Some(Effect::Unchanged) => {}
                Some(written) => effect = written,
            }
        }
        errors.into_result().map(|()| effect)
    }
}

impl<C: Copies> CopyProjection<C> {
    /// Returns the change, read again where the host may have rewritten it; `None` when its source is
    /// gone.
    async fn as_written(&self, change: &C::Change) -> Result<Option<C::Change>, StoreError> {
        let origin = C::origin(change).filter(|_| C::may_be_rewritten(change));
        let Some(origin) = origin else {
            return Ok(Some(change.clone()));
        };
        origin.read_again(self.0.sources(), C::origin).await
    }
}
