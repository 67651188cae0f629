//! Children that their parent counts: replies and votes of a message, bookings of a room.
//!
//! Parent and children share one logical partition, whose key is the parent's id. One transaction creates or
//! deletes children and replaces the parent with their new count, under the ETag of the parent that was read.
//! Operations on one parent that come at the same time share one (group commit).
//!
//! # How a domain uses it
//!
//! 1. A marker type implements [`Family`]; [`item_types`](crate::values::item_types) implements the conversions
//!    between the items and their types.
//! 2. The state of the domain holds a [`CountedChildren`] of it, made once for each process.
//! 3. A command calls [`create_once`](CountedChildren::create_once) or [`edit`](CountedChildren::edit) inside
//!    [`retry`](crate::cosmos::retry), or [`delete_child`](crate::http::ItemCommand::delete_child). A command
//!    whose answer depends on the outcome of a creation calls [`create`](CountedChildren::create).
//!
//! Children that are toggled, such as favourites, implement [`Family::recreated`]. The id of a child is the same
//! in each attempt: derived from the parent and a user or from an idempotency key, or made before the first
//! attempt.
//!
//! # Why each operation ends right
//!
//! A group reads the parent, unless the group before it has just written it, and sends one transaction. An edit
//! that is alone replaces the parent, which is cheaper. A state machine without a store decides the next request
//! (`group.rs`). Its arms name these steps, and a model of the store takes it through all of them in any order.
//!
//! 1. *Another instance or a projection writes the parent meanwhile.* The store refuses the whole transaction.
//!    The group reads a remembered parent again, once. A parent that it had just read is a lost race for all
//!    members: each retries by itself, after back-off with jitter.
//! 2. *The parent is deleted meanwhile.* The group reads it again and finds none. All members get
//!    [`NoParent`](CreateOutcome::NoParent), and nothing was written.
//! 3. *An operation cannot be carried out*: the child to create exists, or the child to delete is missing or has
//!    changed. The store names only the first such operation. So the group reads a remembered parent again, looks
//!    up the children of all members in one query (a lone one by a point read), settles the operations that
//!    cannot be carried out, and sends the others again. If one more is refused then, another writer is at work,
//!    and the remaining members get a lost race. So an attempt ends after a few requests.
//! 4. *A replica is behind*: it returns an older parent, or none. The store refuses a write on such a state, and
//!    the retry reads the latest committed one ([`retry`](crate::cosmos::retry())). Before a group reports an
//!    existing child, it reads the parent in that state itself.
//! 5. *The response of the store is lost.* Either the SDK has repeated the transaction, and its own writes have
//!    caused a refusal: then step 3 finds them. Or all members get the error, retry, and find their writes then.
//! 6. *A crash in the middle* leaves the transaction carried out or not. No caller has had an answer.
//! 7. *The host repeats a command*, side by side with the first or after a crash. A delete, and an edit under a
//!    condition, leave the command in the parent ([`RecentCommands`](super::idempotency::RecentCommands)), and a
//!    group answers it as carried out. A creation is known by the id of its child, or by the command that the
//!    child keeps. The parent keeps the id of a deleted child for a while, so that a repeated creation creates
//!    nothing.
//! 8. *An edit under a condition* is decided on one state of the parent: its caller has compared the ETag. A
//!    group that has another state returns the edit as a lost race.
//! 9. *One child is created and deleted at once.* Two operations on one item are never in one group, so they are
//!    carried out in the order of their arrival.
//! 10. *The transaction is too large, or the partition full.* The group sends it in halves, again and again. A
//!     refused operation that is alone gets the error, and the others continue.
//! 11. *The parent refuses a child*, since a sibling excludes it. The parent keeps all data that decides this, so
//!     no write of another instance comes between the decision and the transaction. A child that is refused
//!     because of a sibling of its own transaction waits for the outcome of that. A refusal writes nothing, so it
//!     needs a state that was the latest one since the group began.
//!
//! # Why a toggled child ends right
//!
//! The store refuses to create a child in the place of its tombstone. The lookup of step 3 finds the tombstone,
//! and the [`recreated`](Family::recreated) child replaces it under its ETag.
//!
//! - *Its versions rise*: it has the version after that of this tombstone. So creations, deletions and
//!   re-creations are one order of versions, each of which a copy or a total can take ([`crate::projection`]).
//! - *It is counted once*: only one transaction can replace a tombstone, and the same one counts the child. If
//!   another instance has replaced it since, or it has expired, that is the second refusal of step 3.
//! - *A live child stays* [`Exists`](CreateOutcome::Exists), *and a deleted one missing*: only a tombstone is
//!   replaced, and a delete finds no child in it.
//! - *A repeated creation brings nothing back*: the tombstone knows the command that created the child, if the
//!   item keeps it (`created_by`), and a later child takes over this memory. Such a creation gets
//!   [`Deleted`](CreateOutcome::Deleted). A child that is created once stays deleted, too, after its parent has
//!   forgotten its id.

mod driver;
mod group;
mod operation;

use std::{fmt::Display, hash::Hash, sync::Arc};

use serde::{Serialize, de::DeserializeOwned};

pub(crate) use self::operation::OperationOutcome;
use self::{
    driver::Groups,
    operation::{Change, Operation},
};
use super::idempotency::RemembersCommands;
use crate::{
    cosmos::{Combiner, Container, ETag, ReadResult, StoreError, Stored, decides_on_latest},
    values::{CommandId, Timestamp},
};

/// A parent and the children that it counts, as a domain describes them.
pub trait Family: Send + Sync + 'static {
    /// The word for a parent, in a 404.
    const PARENT: &'static str;
    /// The word for a child, in a 404.
    const CHILD: &'static str;
    /// Makes the [tombstone](super::tombstone) of a deleted child, for projections that copy or count it.
    const TOMBSTONE: Option<fn(Self::Child) -> Self::Item> = None;
    /// The partition key of parent and children, which is the id of the parent, too.
    type Key: AsRef<str> + Clone + Eq + Hash + Send + Sync;
    /// An item of the container, with its type.
    type Item: Serialize + DeserializeOwned + Clone + Send + Sync;
    /// The parent. Each write raises its version, unless no copy shows the change ([`crate::projection`]).
    type Parent: RemembersCommands + TryFrom<Self::Item> + Into<Self::Item> + Clone + Send + Sync;
    /// A child: one type, or an `enum` of all kinds.
    type Child: TryFrom<Self::Item> + Send + Sync;
    /// The id of a child. Its text is the id of the item.
    type ChildId: Display + Send + Sync;
    /// Another text for the parent; [`Infallible`](std::convert::Infallible) where none is edited with children.
    type Edit: Send + Sync;
    /// The reason why a parent refuses a child; [`Infallible`](std::convert::Infallible) where none does.
    type Refused: Send + Sync;

    /// Returns the item of a child that `parent` has just counted.
    fn child_item(child: &Self::Child, parent: &Self::Parent) -> Self::Item;

    /// Returns the id of a child.
    fn child_id(child: &Self::Child) -> Self::ChildId;

    /// Returns the word for a child by its kind, where there are several.
    fn child_name(_id: &Self::ChildId) -> &'static str {
        Self::CHILD
    }

    /// Returns the parent in its next version, with all these changes.
    fn after(parent: &Self::Parent, changes: &Changes<'_, Self>) -> Self::Parent;

    /// Returns false if an edit was decided on another state of the parent: then the edit is a lost race.
    fn takes(_parent: &Self::Parent, _edit: &Self::Edit) -> bool {
        true
    }

    /// Returns the reason for which `parent` cannot have a child because of its siblings; `None` if it can. A child
    /// that exists already does not exclude itself: the command may be a repeated one.
    fn refuses(
        _parent: impl FnOnce() -> Self::Parent,
        _child: &Self::Child,
    ) -> Option<Self::Refused> {
        None
    }

    /// Returns true if a child with this id is not created again after it was deleted, so that a repeated command
    /// does not bring it back. The parent remembers the id for up to ten minutes.
    fn is_created_once(_id: &Self::ChildId) -> bool {
        false
    }

    /// Returns the child in the place of its tombstone, in the version after it; `None` for one that stays deleted.
    /// For children that are toggled: `child.recreated(tombstone)`, with `Some(LeavesTombstone::leave)` as
    /// [`Self::TOMBSTONE`] ([`LeavesTombstone`](crate::projection::LeavesTombstone)).
    fn recreated(_child: &Self::Child, _tombstone: Self::Item) -> Option<Self::Child> {
        None
    }

    /// Returns the approximate bytes of a child in a transaction.
    fn size(_child: &Self::Child) -> usize {
        CHILD_BYTES
    }
}

/// The approximate bytes of a child without a long text.
pub const CHILD_BYTES: usize = 1_024;

/// The changes of one transaction.
pub struct Changes<'a, F: Family + ?Sized> {
    /// The moment of the transaction.
    pub now: Timestamp,
    created: Vec<&'a F::Child>,
    deleted: Vec<&'a F::ChildId>,
    /// Another text for the parent.
    pub edit: Option<&'a F::Edit>,
}

impl<'a, F: Family + ?Sized> Changes<'a, F> {
    /// Returns the children that are created.
    pub fn created(&self) -> impl Iterator<Item = &'a F::Child> {
        self.created.iter().copied()
    }

    /// Returns true if the child with this id is deleted.
    pub fn deletes(&self, id: &F::ChildId) -> bool
    where
        F::ChildId: PartialEq,
    {
        self.deleted.contains(&id)
    }

    /// Returns a count of the parent after the changes of the children that `is_counted` selects.
    pub fn count(&self, before: u64, is_counted: impl Fn(&F::ChildId) -> bool) -> u64 {
        let created = self.created().filter(|child| is_counted(&F::child_id(child))).count();
        let deleted = self.deleted.iter().filter(|id| is_counted(id)).count();
        let [created, deleted] = [created, deleted].map(|n| u64::try_from(n).unwrap_or(u64::MAX));
        before.saturating_add(created).saturating_sub(deleted)
    }
}

/// The command of an operation, and the state on which it was decided.
pub struct FamilyRequest<'a, P> {
    command: &'a CommandId,
    if_match: Option<ETag>,
    parent_read: Option<Stored<P>>,
}

impl<'a, P> FamilyRequest<'a, P> {
    /// Creates a request without a condition.
    pub fn new(command: &'a CommandId) -> Self {
        Self { command, if_match: None, parent_read: None }
    }

    /// Adds a condition: the child to be deleted, or the parent to be edited, still has this ETag.
    pub fn if_match(self, etag: Option<ETag>) -> Self {
        Self { if_match: etag, ..self }
    }

    /// Adds the parent that the command has read already, which saves a read.
    pub(crate) fn with_parent(self, parent: Stored<P>) -> Self {
        Self { parent_read: Some(parent), ..self }
    }
}

/// The outcome of a creation.
#[derive(Debug)]
pub enum CreateOutcome<C, R> {
    /// The child was created, under this ETag.
    Created(ETag),
    /// A child with this id exists: from an earlier attempt, a repeated request, or another command.
    Exists(Stored<C>),
    /// A child with this id was created before, and has been deleted since.
    Deleted,
    /// The parent [refuses](Family::refuses) the child.
    Refused(R),
    /// There is no parent.
    NoParent,
}

/// Creates, deletes and counts the children of parents in one container. Cloning is cheap.
pub struct CountedChildren<F: Family> {
    pub(crate) container: Container,
    groups: Combiner<Groups<F>>,
}

impl<F: Family> Clone for CountedChildren<F> {
    fn clone(&self) -> Self {
        Self { container: self.container.clone(), groups: self.groups.clone() }
    }
}

impl<F: Family> CountedChildren<F> {
    /// Creates the engine for the families of a container.
    pub fn new(container: Container) -> Self {
        let groups = Combiner::new(Groups::new(container.clone()));
        Self { container, groups }
    }

    pub(crate) async fn parent(&self, key: &F::Key) -> ReadResult<F::Parent> {
        let key = key.as_ref();
        let stored = self.container.read::<F::Item>(key, key).await?;
        Ok(stored.and_then(Stored::of_type))
    }

    /// Creates a child and counts it.
    pub async fn create<C>(
        &self,
        key: &F::Key,
        child: C,
        request: FamilyRequest<'_, F::Parent>,
    ) -> Result<CreateOutcome<C, F::Refused>, StoreError>
    where
        F::Child: From<C> + TryInto<C>,
    {
        let request = request.if_match(None);
        match self.carry_out(key, Change::Create(child.into()), request).await? {
            OperationOutcome::Done { child, .. } => {
                Ok(CreateOutcome::Created(child.ok_or_else(StoreError::unexpected)?))
            }
            OperationOutcome::InTheWay(Stored { item, etag }) => match F::Child::try_from(item) {
                Ok(child) => {
                    let item = child.try_into().map_err(|_| StoreError::unexpected())?;
                    Ok(CreateOutcome::Exists(Stored { item, etag }))
                }
                // Its tombstone.
                Err(_) => Ok(CreateOutcome::Deleted),
            },
            OperationOutcome::Deleted => Ok(CreateOutcome::Deleted),
            OperationOutcome::Refused(reason) => Ok(CreateOutcome::Refused(reason)),
            OperationOutcome::Missing => Err(StoreError::race(false)),
            OperationOutcome::NoParent => Ok(CreateOutcome::NoParent),
        }
    }

    pub(crate) async fn delete(
        &self,
        key: &F::Key,
        id: F::ChildId,
        tombstone: Option<F::Item>,
        request: FamilyRequest<'_, F::Parent>,
    ) -> Result<OperationOutcome<F>, StoreError> {
        self.carry_out(key, Change::Delete(id, tombstone), request).await
    }

    /// Edits the parent in its turn among its children. Returns it as edited, now or before; `None` if there is none.
    pub async fn edit(
        &self,
        key: &F::Key,
        edit: F::Edit,
        request: FamilyRequest<'_, F::Parent>,
    ) -> ReadResult<F::Parent> {
        match self.carry_out(key, Change::Edit(edit), request).await? {
            OperationOutcome::Done { parent, .. } => Ok(Some(Arc::unwrap_or_clone(parent))),
            OperationOutcome::NoParent => Ok(None),
            _ => Err(StoreError::race(false)),
        }
    }

    async fn carry_out(
        &self,
        key: &F::Key,
        change: Change<F>,
        request: FamilyRequest<'_, F::Parent>,
    ) -> Result<OperationOutcome<F>, StoreError> {
        let FamilyRequest { command, if_match, parent_read } = request;
        let command = command.clone();
        let parent_read = parent_read.map(Arc::new);
        // The group decides apart from its members.
        let on_latest = decides_on_latest();
        let operation = Operation { change, command, if_match, parent_read, on_latest };
        let outcome = self.groups.submit(key.clone(), operation).await;
        outcome.unwrap_or_else(|_panicked| Err(StoreError::unexpected()))
    }
}
