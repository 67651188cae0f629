//! The removal of the children that a deleted parent has left in its logical partition.
//!
//! # How a domain uses it
//!
//! 1. A deleted parent leaves a tombstone under its id, with the version after its last. Each child keeps the
//!    version of the parent that counted it first, so a child of a later parent with the same id is newer than
//!    the tombstone ([`counted_children`](crate::engines::counted_children)).
//! 2. [`ChildrenOf`] the tombstone is the projection that removes all children with a `child_of`, a line among
//!    the projections of the domain. For others, or beside repairs, a type with the container implements
//!    [`Removal`]: the query of the children that are older than the tombstone.
//! 3. The projection that reads the change feed of the parents calls [`remove_for_a_slice`] for a tombstone.
//! 4. A command that replaces the tombstone by a new parent calls [`remove_some`] first, and continues only if no
//!    child remains.
//! 5. Where copies or totals of the children exist, [`Removal::tombstone`] makes the tombstone of a child.
//!
//! # Why no child stays for good
//!
//! 1. Every child is written in one transaction with its live parent, so none is written after the tombstone. A
//!    query of the latest committed state that finds no child has missed none.
//! 2. The tombstone is acknowledged only after such a query, or after it was written again: then the change feed
//!    delivers it again, and the removal continues, after a crash at any point, too.
//! 3. A new parent replaces the tombstone only after such a query, under the ETag of the tombstone.
//! 4. Steps of several instances, of a command and of the audit may run at once. Of two transactions that delete
//!    the same item, the store refuses one, and that step queries again.
//! 5. A child that is copied or counted elsewhere is replaced by its tombstone, under the ETag that the query has
//!    returned, so the change feed takes it to the copies as any other. The query finds no tombstones, so it
//!    finds fewer children after each step.

use std::marker::PhantomData;

use tokio::time::Instant;

use super::{Background, ChangeFeedItem, ContainerItem, Effect, Projection};
use crate::cosmos::{
    Container, JsonText, Query, Reason, Refusal, Scope, StoreError, Stored, Transaction,
};

/// Some 350 request units at once.
const MAX_STEP_CHILDREN: u32 = 50;

const MAX_REQUEST_STEPS: usize = 4;

/// The definition of a removal: the container, the tombstone and the children of a deleted parent.
pub trait Removal: Sync {
    /// The tombstone of a parent.
    type Tombstone: ContainerItem + Send + Sync;

    /// Returns the container of parents and children.
    fn container(&self) -> &Container;

    /// Returns the query of at most so many children that are older than the tombstone: `SELECT … VALUE c.id`, or of
    /// whole items (`SELECT … *`) if some of them leave a tombstone, which it must not find again.
    fn children(tombstone: &Self::Tombstone, at_most: u32) -> Result<Query, StoreError>;

    /// Returns the tombstone of a child, where copies or totals of it exist; `None` for a child that leaves none:
    /// `Favourite::try_from(child).ok().map(LeavesTombstone::leave)`.
    fn tombstone(
        _child: <Self::Tombstone as ContainerItem>::Items,
    ) -> Option<<Self::Tombstone as ContainerItem>::Items> {
        None
    }
}

/// The removal of the children that `child_of` of [`item`](macro@super::item) declares, by the tombstones `T` of
/// their parents. The index has `/parentVersion`.
pub struct ChildrenOf<T> {
    container: Container,
    background: Background,
    tombstone: PhantomData<fn() -> T>,
}

impl<T> ChildrenOf<T> {
    /// Creates the projection of a container of parents and children. It works in the background.
    pub fn new(container: &Container, background: &Background) -> Self {
        let background = background.clone();
        Self { container: container.in_background(), background, tombstone: PhantomData }
    }
}

impl<T: ContainerItem<Items: ChangeFeedItem> + Send + Sync> Removal for ChildrenOf<T> {
    type Tombstone = T;

    fn container(&self) -> &Container {
        &self.container
    }

    /// A tombstone of a child has no version of its parent.
    fn children(tombstone: &T, at_most: u32) -> Result<Query, StoreError> {
        let query = Query::from("SELECT TOP @batch * FROM c WHERE c.parentVersion < @version");
        let query = query.with_parameter("@batch", at_most)?;
        Ok(query.with_parameter("@version", tombstone.version())?)
    }

    fn tombstone(child: T::Items) -> Option<T::Items> {
        child.left()
    }
}

impl<T: ContainerItem<Items: ChangeFeedItem> + Send + Sync + 'static> Projection for ChildrenOf<T> {
    const FUNCTION: &'static str = T::CHILDREN;
    type Change = T::Items;

    fn container(&self) -> &Container {
        &self.container
    }

    async fn apply(&self, change: &T::Items) -> Result<Effect, StoreError> {
        let Ok(tombstone) = T::try_from(change.clone()) else { return Ok(Effect::Unchanged) };
        remove_for_a_slice(self, &self.background, &tombstone).await
    }
}

enum RemovalStep {
    Empty,
    Last,
    Full,
}

/// Removes a few hundred children of a deleted parent, while a caller waits. True if no child remains, for good.
pub async fn remove_some<R: Removal>(
    removal: &R,
    tombstone: &R::Tombstone,
) -> Result<bool, StoreError> {
    for _ in 0..MAX_REQUEST_STEPS {
        if !matches!(step(removal, tombstone).await?, RemovalStep::Full) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Removes the children of a deleted parent for a slice of time. If some may remain, writes the tombstone again.
pub async fn remove_for_a_slice<R: Removal>(
    removal: &R,
    background: &Background,
    tombstone: &R::Tombstone,
) -> Result<Effect, StoreError> {
    let deadline = background.deadline();
    let mut effect = Effect::Unchanged;
    // The first step waits for no other: most parents need no second one.
    let mut next = Some(background.pacer.charge(step(removal, tombstone)).await);
    while let Some(done) = next {
        match done? {
            RemovalStep::Empty => return Ok(effect),
            RemovalStep::Last => return Ok(Effect::Applied),
            RemovalStep::Full => effect = Effect::Applied,
        }
        if Instant::now() >= deadline {
            break;
        }
        next = background.pacer.run(deadline, step(removal, tombstone)).await;
    }
    background.pacer.charge(continue_later(removal, tombstone)).await?;
    Ok(effect)
}

async fn step<R: Removal>(
    removal: &R,
    tombstone: &R::Tombstone,
) -> Result<RemovalStep, StoreError> {
    let (partition, _) = tombstone.key();
    let container = removal.container().latest_committed();
    let query = R::children(tombstone, MAX_STEP_CHILDREN)?;
    let children: Vec<JsonText> =
        container.query(query, Scope::Partition(partition), MAX_STEP_CHILDREN).await?;
    if children.is_empty() {
        return Ok(RemovalStep::Empty);
    }
    let mut transaction = Transaction::new(partition);
    for child in &children {
        let id = child.id().or_else(|| child.parse()).ok_or_else(StoreError::unexpected)?;
        // A mere id, or a child that cannot be read, leaves no tombstone.
        let stored =
            child.parse().and_then(|Stored { item, etag }| Some((R::tombstone(item)?, etag)));
        transaction = match stored {
            Some((tombstone, etag)) => transaction.replace(&id, &tombstone, &etag)?,
            None => transaction.delete(&id, None),
        };
    }
    match container.transact(transaction).await {
        // The query has returned fewer than its limit: these were all.
        Ok(_) if children.len() < MAX_STEP_CHILDREN as usize => Ok(RemovalStep::Last),
        // Another instance has removed some of them: the next query finds the remaining ones.
        Err(Refusal { error, .. }) if error.reason != Reason::NotFound && !error.is_race() => {
            Err(error)
        }
        _ => Ok(RemovalStep::Full),
    }
}

async fn continue_later<R: Removal>(
    removal: &R,
    tombstone: &R::Tombstone,
) -> Result<(), StoreError> {
    let (partition, id) = tombstone.key();
    let container = removal.container();
    let stored = container.latest_committed().read(partition, id).await?;
    let (item, etag) = match stored {
        // The tombstone has expired.
        None => (tombstone.clone(), None),
        Some(Stored { item, etag }) => match R::Tombstone::try_from(item) {
            // The newer tombstone is delivered, too, and its removal covers the older children.
            Ok(newer) if newer.version() > tombstone.version() => return Ok(()),
            Ok(same) => (same, Some(etag)),
            // A new parent comes only after the removal: so the next query finds no child.
            Err(_) => return Err(StoreError::race(false)),
        },
    };
    container.save(item, etag.as_ref()).await?;
    tracing::info!(
        document.id = id,
        "The removal of the children of a deleted parent goes on with the next delivery"
    );
    Ok(())
}
