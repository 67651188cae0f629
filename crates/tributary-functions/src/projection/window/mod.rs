//! A window of the newest: the newest N items of a container, as copies in one logical partition of another
//! container, so that one query reads them.
//!
//! # How a domain uses it
//!
//! 1. Every write of a source that a copy shows raises its version; a deleted one leaves a
//!    [tombstone](crate::engines::tombstone).
//! 2. A source has a creation date that never changes. A source that is created over the tombstone of another has
//!    the later date.
//! 3. A container for the copies, with the partition key `/type`, a time to live of -1 (only items that say so
//!    expire), and an index of `creationDate` and `id`, both descending. Queries of readers leave out items
//!    without a `creationDate`: the head and tombstones.
//! 4. A type implements [`Window`]: [`Window::copy`] is the definition.
//! 5. [`WindowProjection`] of it, with the containers, is a line among the projections of the domain.
//! 6. A line in `tests/it/` puts it under the proof (`tributary_testing::proof`). The audit checks and repairs it
//!    from the same definition (`WindowChecks` in `src/audit/`).
//!
//! | item of the logical partition | content |
//! | --- | --- |
//! | [`WindowHead`] | the members, newest first; the flag of a due refill |
//! | a copy, under the name of its source ([`Origin::name`](super::Origin::name)) | the part of the source that readers see, and its version |
//! | `WindowTombstone`, under the same id | the version of the tombstone of a deleted source |
//!
//! # Why the window ends right
//!
//! The rules of [`crate::projection`] keep a copy up to date as long as it exists. Copies of a window come and go
//! with the membership, so four more rules hold.
//!
//! 1. *The membership changes only with the head*, under the head's ETag, in one transaction with the copies.
//! 2. *While a refill is due, only the refill admits sources* (`refill.rs`). Otherwise a source outside of the
//!    full window is admitted only if it is newer than a member. A gap in the full window and the flag of a due
//!    refill are written together.
//! 3. *The head is read in its latest committed state.* A change of a source that the head does not hold and does
//!    not admit is acknowledged without a write, so no ETag would catch a stale head, which may lack a member
//!    that a refill has admitted in an older version.
//! 4. *A tombstone is written for every deleted source*, member or not.
//!
//! The delivery of the newest version `n` of a live source finds one of three heads:
//!
//! - *The head holds the source*: the copy is written, or exists already. A missing copy, which an operator has
//!   deleted, is created in one transaction with the head.
//! - *The head admits the source*: the transaction writes version `n`.
//! - *Neither*: the source is older than N members. Only a refill admits it after a gap, and none older than `n`
//!   from then on. Until then, rule 2 keeps a late delivery of an older version out.
//!
//! The copies of a batch are read with Session consistency. A stale copy has an older ETag or is missing, so the
//! store refuses the transaction, and the batch reads again.

mod head;
mod plan;
mod refill;

use std::{collections::HashMap, marker::PhantomData};

use futures::future::try_join_all;
use serde::{Deserialize, Serialize, de::DeserializeOwned};

pub use self::head::{Member, WindowHead, WindowItem};
use self::{
    head::WindowTombstone,
    plan::{Plan, concerns, plan},
};
pub(crate) use self::{plan::SourceState, refill::newest};
use super::{ChangeFeedItem, Effect, Projection, StoredCopy, origin::sound};
use crate::{
    cosmos::{Container, ETag, Query, Reason, Scope, StoreError, Stored, Transaction},
    values::Timestamp,
};

/// The most copies that are read by point reads, which then cost less than a query.
const MAX_POINT_READS: usize = 4;

/// The definition of a window: its capacity and its copies.
pub trait Window: Send + Sync + 'static {
    /// The function's name, in `functions/`.
    const FUNCTION: &'static str;
    /// The most sources that the window shows.
    const CAPACITY: u32;
    /// The logical partition of the window: the `type` of its items.
    const PARTITION: &'static str;
    /// The `type` of the sources.
    const TYPE: &'static str = Self::PARTITION;
    /// An item of the container of the sources, with its type. No id of a source begins with a tilde.
    type Change: ChangeFeedItem;
    /// A source that exists.
    type Source;
    /// The copy of a source, with [`Origin::name`](super::Origin::name) as `id`, `version` and `creationDate`.
    type Copy: Serialize + DeserializeOwned + Send + Sync;

    /// Returns the source, unless the change is a tombstone.
    fn source(change: &Self::Change) -> Option<&Self::Source>;

    /// Returns the creation time of a source.
    fn creation_date(source: &Self::Source) -> Timestamp;

    /// Returns the copy of a source.
    fn copy(source: &Self::Source) -> Self::Copy;

    /// Returns true if the source is to be read again, as [`ChangeFeedItem::may_be_rewritten`] says.
    fn may_be_rewritten(change: &Self::Change) -> bool {
        change.may_be_rewritten()
    }

    /// Returns the query of at most so many of the newest sources, in any order within a millisecond.
    fn newest(at_most: u32) -> Result<Query, StoreError> {
        let query = format!(
            "SELECT TOP @capacity * FROM c WHERE c.type = '{}' ORDER BY c.creationDate DESC",
            Self::TYPE
        );
        Ok(Query::from(query).with_parameter("@capacity", at_most)?)
    }

    /// Returns the query of at most so many sources of one millisecond, those with the greatest ids.
    fn created_at(creation_date: Timestamp, at_most: u32) -> Result<Query, StoreError> {
        let query = format!(
            "SELECT TOP @capacity * FROM c WHERE c.type = '{}' AND c.creationDate = @date \
             ORDER BY c.id DESC",
            Self::TYPE
        );
        let query = Query::from(query).with_parameter("@capacity", at_most)?;
        Ok(query.with_parameter("@date", creation_date)?)
    }
}

/// The projection that updates a window from its sources. The changes of a batch are written in one transaction. That
/// which removes a member of the full window makes a refill due in the head, and the next delivery that reads this
/// head refills the window. So a crash between the two loses nothing.
pub struct WindowProjection<W> {
    pub(crate) sources: Container,
    pub(crate) window: Container,
    definition: PhantomData<fn() -> W>,
}

#[derive(Clone, Default)]
struct ReadHead {
    item: WindowHead,
    etag: Option<ETag>,
}

impl<W: Window> Projection for WindowProjection<W> {
    const FUNCTION: &'static str = W::FUNCTION;
    /// Changes of the membership would only lose races against each other.
    const CONCURRENCY: usize = 1;
    /// Each source may evict another one. With the head, these are 99 of the 100 operations of a transaction.
    const GROUP: usize = 49;
    type Change = W::Change;

    fn container(&self) -> &Container {
        &self.sources
    }

    async fn apply(&self, change: &W::Change) -> Result<Effect, StoreError> {
        let effects = self.apply_all(&[change]).await?;
        Ok(effects.first().copied().unwrap_or(Effect::Unchanged))
    }

    async fn apply_all(&self, changes: &[&W::Change]) -> Result<Vec<Effect>, StoreError> {
        let mut states = Vec::new();
        let mut indexes = Vec::new();
        for (index, change) in changes.iter().enumerate() {
            if let Some(state) = self.state(change).await? {
                states.push(state);
                indexes.push(index);
            }
        }
        let mut effects = vec![Effect::Unchanged; changes.len()];
        if states.is_empty() {
            return Ok(effects);
        }
        let (head, updated) = self.update(&states).await?;
        for (index, effect) in indexes.into_iter().zip(updated) {
            effects[index] = effect;
        }
        self.refill_if_noted(head).await?;
        Ok(effects)
    }
}

impl<W: Window> WindowProjection<W> {
    /// Creates the projection from a container of sources, whose change feed it reads, to that of the window.
    pub fn new(sources: &Container, window: &Container) -> Self {
        Self { sources: sources.clone(), window: window.clone(), definition: PhantomData }
    }

    async fn state(
        &self,
        change: &W::Change,
    ) -> Result<Option<SourceState<W::Change>>, StoreError> {
        let change = sound(change, W::may_be_rewritten(change), &self.sources).await?;
        Ok(change.and_then(SourceState::from_change::<W>))
    }

    /// Reads the head and, if any of the sources may have to be written, their copies.
    async fn update(
        &self,
        states: &[SourceState<W::Change>],
    ) -> Result<(ReadHead, Vec<Effect>), StoreError> {
        let head = self.head().await?;
        let capacity = W::CAPACITY as usize;
        if !states.iter().any(|state| concerns(&head.item, capacity, state)) {
            return Ok((head, vec![Effect::Unchanged; states.len()]));
        }
        let copies = self.copies(states).await?;
        let plan = plan(&head.item, capacity, states, &copies);
        let head = self.carry_out(&head, &plan).await?;
        Ok((head, plan.effects))
    }

    /// A copy to be deleted may be missing, since an operator has deleted it. The store names that operation, and the
    /// transaction is sent again without it. The head is in it, so no other instance creates the copy in between.
    async fn carry_out(
        &self,
        head: &ReadHead,
        plan: &Plan<'_, W::Change>,
    ) -> Result<ReadHead, StoreError> {
        let with_head = plan.after != head.item || plan.needs_head;
        if !with_head && plan.writes.is_empty() {
            return Ok(head.clone());
        }
        let mut evicted: Vec<&str> = plan.evicted.iter().map(String::as_str).collect();
        loop {
            let mut transaction = Transaction::new(W::PARTITION);
            if with_head {
                let item = WindowItem::new(W::PARTITION, plan.after.clone());
                transaction = transaction.put(WindowHead::ID, &item, head.etag.as_ref())?;
            }
            for (state, etag) in &plan.writes {
                transaction = write::<W>(transaction, state, etag.as_ref())?;
            }
            for id in &evicted {
                transaction = transaction.delete(id, None);
            }
            let refusal = match self.window.transact(transaction).await {
                Ok(etags) if with_head => {
                    return Ok(ReadHead {
                        item: plan.after.clone(),
                        etag: etags.into_iter().next().flatten(),
                    });
                }
                Ok(_) => return Ok(head.clone()),
                Err(refusal) => refusal,
            };
            if refusal.error.reason != Reason::NotFound {
                return Err(refusal.error);
            }
            let first_delete = usize::from(with_head) + plan.writes.len();
            match refusal.operation.and_then(|operation| operation.checked_sub(first_delete)) {
                Some(missing) if missing < evicted.len() => drop(evicted.remove(missing)),
                // A copy or the head that was read is gone by now.
                _ => return Err(StoreError::race(refusal.error.answer_lost)),
            }
        }
    }

    async fn head(&self) -> Result<ReadHead, StoreError> {
        let window = self.window.latest_committed();
        let stored = window.read::<WindowHead>(W::PARTITION, WindowHead::ID).await?;
        let read = |Stored { item, etag }| ReadHead { item, etag: Some(etag) };
        Ok(stored.map_or_else(ReadHead::default, read))
    }

    async fn copies(
        &self,
        states: &[SourceState<W::Change>],
    ) -> Result<HashMap<String, StoredCopy>, StoreError> {
        #[derive(Deserialize)]
        struct CopyRow {
            id: String,
            version: u64,
            #[serde(rename = "_etag")]
            etag: String,
        }
        let window = &self.window;
        let ids = states.iter().map(|state| state.id.as_str());
        if states.len() <= MAX_POINT_READS {
            let reads = ids.clone().map(|id| StoredCopy::read(window, W::PARTITION, id));
            let copies = try_join_all(reads).await?;
            let known = ids.zip(copies).filter_map(|(id, copy)| Some((id.to_owned(), copy?)));
            return Ok(known.collect());
        }
        let found: Vec<CopyRow> = window
            .query_ids(Scope::Partition(W::PARTITION), "c.id, c.version, c._etag", ids)
            .await?;
        let copied =
            |CopyRow { id, version, etag }| (id, StoredCopy { version, etag: ETag::from(etag) });
        Ok(found.into_iter().map(copied).collect())
    }
}

pub(crate) fn write<W: Window>(
    transaction: Transaction,
    state: &SourceState<W::Change>,
    read: Option<&ETag>,
) -> Result<Transaction, StoreError> {
    let id = state.id.as_str();
    if let Some(source) = W::source(&state.change) {
        transaction.put(id, &WindowItem::new(W::PARTITION, W::copy(source)), read)
    } else {
        let tombstone = WindowTombstone::new(id, state.version);
        transaction.put(id, &WindowItem::new(W::PARTITION, tombstone), read)
    }
}
