//! Copies of one source: the same, or a part of it, in other partitions or containers.
//!
//! # How a domain uses it
//!
//! 1. Every write of a source raises its version; a deleted one leaves a
//!    [tombstone](crate::engines::tombstone).
//! 2. A type implements [`Copies`]. [`Copies::copies_of`] is the definition: the copies of a source in
//!    this state, with their partitions and ids. A deleted source has tombstones for copies.
//! 3. [`CopyProjection`] of it, with the containers, is a line among the projections of the domain.
//! 4. With [`AuditedCopies`], [`Audit::of_copies`](crate::audit::Audit::of_copies) checks and repairs them.
//! 5. A line in `tests/it/` puts it under the proof (`tributary_testing::proof`).
//!
//! [`crate::projection`] has the argument why a copy under one id converges. The partition or id of a copy
//! may depend on the owner of the source, and the source may be created again by another owner. The change
//! feed may never deliver the tombstone between the two. So the source keeps its
//! [former owners](crate::engines::tombstone::FormerOwners). The definition has a tombstone for the copy of
//! each of them, in the version in which the owner lost the source.

use std::marker::PhantomData;

use serde::{Serialize, de::DeserializeOwned};

use super::{ChangeFeedItem, Effect, NotedErrors, Projection, VersionedCopy};
use crate::cosmos::{Container, StoreError};

/// The definition of copies.
pub trait Copies: Send + Sync + 'static {
    /// The function's name, in `functions/`.
    const FUNCTION: &'static str;
    /// An item of the container of the sources, with its type.
    type Change: ChangeFeedItem;
    /// An item of the container of the copies, with its type.
    type Copy: Serialize + DeserializeOwned + Send + Sync;

    /// Returns the copies of a change, each with its partition and id; tombstones have a time to live.
    fn copies_of(change: &Self::Change) -> Vec<VersionedCopy<Self::Copy>>;

    /// Returns true if the Functions host may have rewritten a text of this change that is copied
    /// ([`may_be_rewritten_by_host`](crate::values::may_be_rewritten_by_host)). Then the source is
    /// read again. By default each source is: one point read for each change.
    fn may_be_rewritten(_change: &Self::Change) -> bool {
        true
    }
}

/// Copies that the audit checks by their definition (`CopiesChecks`). Their
/// container has no other items.
pub trait AuditedCopies: Copies {
    /// The property that is the partition key of the copies.
    const PARTITION_KEY: &'static str;

    /// Returns partition key and id of the source of a copy; `None` for an item that has none.
    fn source(copy: &Self::Copy) -> Option<(String, String)>;
}

/// The projection that updates copies from their sources.
pub struct CopyProjection<C> {
    sources: Container,
    copies: Container,
    definition: PhantomData<fn() -> C>,
}

impl<C: Copies> Projection for CopyProjection<C> {
    const FUNCTION: &'static str = C::FUNCTION;
    type Change = C::Change;

    fn container(&self) -> &Container {
        &self.sources
    }

    async fn apply(&self, change: &C::Change) -> Result<Effect, StoreError> {
        self.write_copies(change, false).await
    }

    async fn apply_again(&self, change: &C::Change) -> Result<Effect, StoreError> {
        self.write_copies(change, true).await
    }
}

impl<C: Copies> CopyProjection<C> {
    /// Creates the projection from a container of sources, whose change feed it reads, to one of copies.
    pub fn new(sources: &Container, copies: &Container) -> Self {
        let sources = sources.clone();
        let copies = copies.clone();
        Self { sources, copies, definition: PhantomData }
    }

    async fn write_copies(
        &self,
        change: &C::Change,
        may_be_there: bool,
    ) -> Result<Effect, StoreError> {
        let Some(change) = self.as_written(change).await? else {
            return Ok(Effect::Unchanged);
        };
        // A copy that cannot be written stops no other.
        let mut effect = Effect::Unchanged;
        let mut errors = NotedErrors::default();
        for copy in C::copies_of(&change) {
            match errors.note(copy.write(&self.copies, may_be_there).await) {
                None | Some(Effect::Unchanged) => {}
                Some(written) => effect = written,
            }
        }
        errors.into_result().map(|()| effect)
    }

    /// Returns the change, read again where the host may have rewritten it; `None` when its source is
    /// gone.
    async fn as_written(&self, change: &C::Change) -> Result<Option<C::Change>, StoreError> {
        let origin = change.origin().filter(|_| C::may_be_rewritten(change));
        let Some(origin) = origin else {
            return Ok(Some(change.clone()));
        };
        origin.read_again(&self.sources).await
    }
}
