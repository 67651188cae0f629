//! Projections: they update the copies from the change feed.
//!
//! The change feed delivers every change of a container at least once: late, again after a crash, and for a
//! moment to two instances. A projection gives the same result all the same.
//!
//! A batch (`batch.rs`) is the shared part of all projections. It keeps the newest change of each source, applies
//! the changes, several at a time, and succeeds only when each is applied or stored as a dead letter. Otherwise
//! the host delivers the whole batch again. A transient failure is retried for the [`RETRY_BUDGET`] of the
//! invocation. A permanent one (an unreadable document, a copy that cannot be read or is too large, a panic)
//! becomes a [`DeadLetter`] (`docs/dead-letters.md`), and the rest of the batch continues.
//!
//! # To write a projection
//!
//! 1. [`ChangeFeedItem`] for the items of the container whose change feed it reads, once for all projections.
//! 2. The items that it writes, as a pure function of the change: a type that implements one of a few shapes,
//!    which solve the hard part: [`copies`] of one source, an [`aggregate`], a [`fan_out`], a [`window`] of the
//!    newest. A projection of another shape implements [`Projection`] and writes with [`VersionedCopy::write`].
//!    Where several changes cost less together, it implements [`Projection::apply_all`].
//! 3. A line in the `mod.rs` of the domain, with the containers.
//! 4. A line in `tests/it/` that puts it under the proof (`tributary_testing::proof`): duplicate, late and
//!    reversed deliveries, to two instances, of sources whose ids come again under other owners.
//!
//! # Why the copies converge
//!
//! *Given*: (a) every write of a source that a copy shows raises its version, under the ETag that was read; (b)
//! the newest version of every source is delivered at least once after it was written, or stays as a dead letter;
//! (c) a copy is written only over an older version that was read, under its ETag, or where there is nothing, as
//! a new item. *Claim*: after the last delivery, each copy is that of its source's newest version `n`.
//!
//! By (c) the version of a copy never falls. By (b) some delivery or replay applies `n`. That write succeeds; or
//! it finds `n` in the store already; or it loses a race, and reads again. It cannot find a version above `n`,
//! since none exists. Afterwards no older version replaces the copy. So:
//!
//! - *Duplicate, late and out-of-order deliveries, and deliveries to two instances*: only the versions count, not
//!   their order. Leaving out older changes of a source within a batch changes nothing, either.
//! - *A crash or a lost answer in the middle*: the batch is not acknowledged, so the host retries it, and it
//!   finds the copies that were written.
//! - *A delete* is a tombstone with the version after the last, so it is one more version `n`. The tombstone
//!   outlives every late delivery (30 days), and a new item under the id continues its versions. The copy's
//!   tombstone is written after the source's and lives as long, so it never expires first. (An item that is
//!   created again between the two expiries begins at version 1, and is copied with its first change after that
//!   time.)
//! - *A change that no copy shows*, such as a count of children, may keep the version: `..self.clone()` instead
//!   of `..self.next()`. Two states of one version then have the same copies. The change is not skipped, since
//!   its delivery may be the only one of its version: it reads each copy, for 1 request unit, and writes none.
//!   Contents are not compared: after A, B and A again, a late B would win. The word holds for all projections of
//!   the container: a total or a window that shows the count needs the version raised.
//! - *A replay* is a delivery of the newest version. It deletes its dead letter only after applying, and only as
//!   it was read: a failure meanwhile has stored it anew, and the replay starts over. Hence (b).
//!
//! A change may also be applied before its delivery, by the instance of its command (`eager.rs`). Where copies
//! come and go, more is needed: the members of a [`window`], and values with many embedded copies ([`fan_out`]),
//! have an argument of their own.
//!
//! # Why stale reads lose nothing
//!
//! Session tokens are not shared between instances, so a read may return an older state than the one that was
//! delivered. A write always acts on the newest state, under an ETag. So a stale read does harm only if it leads
//! to acknowledging a change *without a write*:
//!
//! | read | may it be stale? |
//! | --- | --- |
//! | a copy that is to be written (`StoredCopy::read`) | yes: versions never fall, so a newer or equal version stays true; otherwise the copy is written, and the store refuses the older ETag, or an item that exists |
//! | the source of a delivered change (`Origin::read_again`) | no: a version below the delivered one is a lost race, after a second read of the latest committed state |
//! | the targets of a [`fan_out`]; the source of a new target | no, both are latest committed |
//! | the children of a deleted item ([`removal`]) | no, latest committed: none is written after the tombstone, so an empty answer is final |
//! | the head of a window, the newest sources of a refill | no, latest committed: [`window`] has the argument |
//! | the document of a dead letter | no, latest committed: the dead letter is deleted afterwards |
//!
//! The latest committed state is that of the region which is read, at twice the request units.

pub mod aggregate;
mod apply;
mod batch;
mod catch_up;
pub(crate) mod control;
pub mod copies;
mod dead_letter;
mod eager;
pub mod fan_out;
mod integrity;
pub(crate) mod lag;
pub(crate) mod leases;
mod origin;
mod registry;
pub mod removal;
mod unreadable;
pub mod window;

pub(crate) use self::{
    apply::{NotedErrors, ReplayError},
    catch_up::CopyFreshness,
    copies::{CopySlot, StoredCopy},
    dead_letter::{DeadLetterId, ReplayOutcome, function_of},
    eager::EAGER_TIME,
};
pub use self::{
    batch::{AppliedBatch, BatchSource, IncompleteBatch, RETRY_BUDGET, ReadBatch},
    control::FailureLimit,
    copies::VersionedCopy,
    dead_letter::{DeadLetter, DeadLetters},
    eager::{EagerOptions, apply_eagerly},
    integrity::IntegrityProjection,
    origin::{ChangeFeedItem, ContainerItem, FrameworkItem, LeavesTombstone, Origin, PublicItem},
    registry::{AnyProjection, ProjectionOptions, Projections},
};
pub use crate::cosmos::{Background, BackgroundOptions};
use crate::cosmos::{Container, StoreError};
pub use tributary_derive::{item, items};

/// A projection, which updates one kind of copy from its source.
pub trait Projection: Send + Sync + 'static {
    /// The function's name, in `functions/`, and of the leases: another name reads the feed from its beginning.
    const FUNCTION: &'static str;
    /// The number of changes, or of groups of them, that are applied at a time.
    const CONCURRENCY: usize = 16;
    /// The number of changes that [`Projection::apply_all`] gets at once.
    const GROUP: usize = 1;
    /// An item of the container whose change feed is read.
    type Change: ChangeFeedItem;

    /// Returns the container whose change feed is read.
    fn container(&self) -> &Container;

    /// Returns the source of the change, by a name that nothing else in the container has, and its version; `None`
    /// for a change of no interest.
    fn source(change: &Self::Change) -> Option<(String, u64)> {
        change.origin().map(|origin| (origin.name(), origin.version))
    }

    /// Updates the copies from the change. After an error they may be in any valid state: the change is
    /// applied again.
    fn apply(
        &self,
        change: &Self::Change,
    ) -> impl Future<Output = Result<Effect, StoreError>> + Send;

    /// As [`Projection::apply`], for a change that the instance of its command has probably applied: it may read
    /// first where that writes first.
    fn apply_again(
        &self,
        change: &Self::Change,
    ) -> impl Future<Output = Result<Effect, StoreError>> + Send {
        self.apply(change)
    }

    /// Updates the copies from changes of different sources, and returns the effect of each in their order. After an
    /// error the changes are applied again, in groups of half the size or each by itself.
    fn apply_all(
        &self,
        changes: &[&Self::Change],
    ) -> impl Future<Output = Result<Vec<Effect>, StoreError>> + Send {
        async move {
            let mut effects = Vec::with_capacity(changes.len());
            for change in changes {
                effects.push(self.apply(change).await?);
            }
            Ok(effects)
        }
    }
}

/// The effect of applying a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// Copies were written.
    Applied,
    /// All copies were up to date.
    Unchanged,
    /// A copy had a newer version.
    Older,
}
