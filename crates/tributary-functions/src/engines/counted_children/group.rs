//! One group of operations at work. The module above has the argument why it ends right.

use std::{collections::HashMap, marker::PhantomData, mem, sync::Arc};

use serde::Deserialize;

use super::{CHILD_BYTES, Changes, Family, Remembers};
use crate::{
    cosmos::{Combine, Container, ETag, Reads, Reason, Refusal, StoreError, Stored, Transaction},
    values::{CommandId, Timestamp},
};

/// A change of a parent or of its children.
pub(super) enum Change<F: Family> {
    Create(F::Child),
    Delete(F::ChildId),
    Edit(F::Edit),
}

/// A change that is to be carried out.
pub(super) struct Operation<F: Family> {
    pub(super) change: Change<F>,
    /// The command that asks for it.
    pub(super) command: CommandId,
    /// What is deleted or edited must not have changed since.
    pub(super) if_match: Option<ETag>,
    /// The parent, when the command has read it anyway.
    pub(super) seen: Option<Known<F>>,
    /// What its group is to read.
    pub(super) reads: Reads,
}

impl<F: Family> Operation<F> {
    /// Returns the id of the child that is created or deleted.
    fn child_id(&self) -> Option<String> {
        match &self.change {
            Change::Create(child) => Some(F::child_id(child).to_string()),
            Change::Delete(id) => Some(id.to_string()),
            Change::Edit(_) => None,
        }
    }

    fn creates(&self) -> bool {
        matches!(self.change, Change::Create(_))
    }

    /// Returns the id of a child that is not created again once it was deleted.
    fn created_once(&self) -> Option<String> {
        match &self.change {
            Change::Create(child) => {
                Some(F::child_id(child)).filter(F::is_created_once).map(|id| id.to_string())
            }
            Change::Delete(_) | Change::Edit(_) => None,
        }
    }

    fn deletes(&self) -> bool {
        matches!(self.change, Change::Delete(_))
    }

    /// Returns true if the parent has to remember the command, since nothing else tells that it was
    /// carried out. An edit without a condition may be repeated.
    fn is_remembered(&self) -> bool {
        match self.change {
            Change::Create(_) => false,
            Change::Delete(_) => true,
            Change::Edit(_) => self.if_match.is_some(),
        }
    }

    /// Returns true if it can only be carried out on another state of the parent.
    fn contradicts(&self, parent: &Stored<F::Parent>) -> bool {
        match &self.change {
            Change::Edit(edit) => {
                !F::takes(&parent.item, edit)
                    || self.if_match.as_ref().is_some_and(|etag| *etag != parent.etag)
            }
            Change::Create(_) | Change::Delete(_) => false,
        }
    }

    /// Returns true if `reason` means that the child exists (create), or is missing or has changed
    /// (delete).
    fn is_refused_by(&self, reason: Reason) -> bool {
        match self.change {
            Change::Create(_) => reason == Reason::Conflict,
            Change::Delete(_) => matches!(reason, Reason::NotFound | Reason::PreconditionFailed),
            Change::Edit(_) => false,
        }
    }
}

/// A parent as it was read or written last.
type Known<F> = Arc<Stored<<F as Family>::Parent>>;

/// The outcome of an operation.
pub(super) enum Outcome<F: Family> {
    /// It was carried out, now or before. A child that was created now has this ETag.
    Done { child: Option<ETag>, parent: Known<F> },
    /// Something has the id of the child that was to be created.
    InTheWay(Stored<F::Item>),
    /// The child that was to be created was created before, and has been deleted since.
    Deleted,
    /// The child that was to be deleted does not exist.
    Missing,
    /// There is no parent.
    NoParent,
}

type Settled<F> = Result<Outcome<F>, StoreError>;

/// Carries out groups of operations on the parents of a container.
pub(super) struct Groups<F>(Container, PhantomData<fn() -> F>);

impl<F> Groups<F> {
    pub(super) fn new(container: Container) -> Self {
        Self(container, PhantomData)
    }
}

impl<F: Family> Combine for Groups<F> {
    type Key = F::Key;
    type Operation = Operation<F>;
    type Outcome = Settled<F>;
    type Memory = Option<Known<F>>;

    /// With the parent itself, as many as a transaction takes.
    const MOST: usize = 99;
    /// A transaction takes 2 MB, of which the parent may need a good half. This is an estimate,
    /// since JSON writes some characters longer; what is too large all the same is sent in halves.
    const LARGEST: usize = 1_000_000;

    fn target(operation: &Operation<F>) -> String {
        // No child has the empty id: this is the parent.
        operation.child_id().unwrap_or_default()
    }

    fn size(operation: &Operation<F>) -> usize {
        match &operation.change {
            Change::Create(child) => F::size(child),
            Change::Delete(_) | Change::Edit(_) => CHILD_BYTES,
        }
    }

    async fn carry_out(
        &self,
        key: &F::Key,
        operations: Vec<Operation<F>>,
        remembered: &mut Option<Known<F>>,
    ) -> Vec<Settled<F>> {
        let seen = operations.iter().find_map(|operation| operation.seen.clone());
        let parent = remembered.take().or(seen);
        let latest = operations.iter().any(|operation| operation.reads == Reads::Latest);
        let mut group = Group::new(self.0.clone(), key, operations);
        if latest {
            group.read_latest();
        }
        match group.settle(parent).await {
            Ok(parent) => *remembered = parent,
            Err(error) => group.fail(&error),
        }
        group.outcomes()
    }
}

/// A group at work.
struct Group<'a, F: Family> {
    container: Container,
    /// What reads of `container` see.
    reads: Reads,
    /// The partition key, and the id of the parent.
    key: &'a F::Key,
    operations: Vec<Operation<F>>,
    outcomes: Vec<Option<Settled<F>>>,
    /// The indices of the operations that have no outcome yet.
    open: Vec<usize>,
    /// Whether the response to a transaction of this group was lost.
    answer_lost: bool,
}

/// An item that was looked up.
#[derive(Deserialize)]
struct Row<I> {
    id: String,
    etag: String,
    item: I,
}

impl<'a, F: Family> Group<'a, F> {
    fn new(container: Container, key: &'a F::Key, operations: Vec<Operation<F>>) -> Self {
        let open = (0..operations.len()).collect();
        let outcomes = operations.iter().map(|_| None).collect();
        let reads = Reads::Session;
        Self { container, reads, key, operations, outcomes, open, answer_lost: false }
    }

    /// Finds an outcome for each operation, or an error for the remaining ones. Returns the parent as
    /// it is now, if that is known.
    ///
    /// It ends: every write that succeeds settles an operation at least. One that is refused for an
    /// operation's sake settles that one, and the second ends the rest. One that is too large halves
    /// the next. And a parent that has changed is read again, but for one that was just read.
    async fn settle(
        &mut self,
        mut known: Option<Known<F>>,
    ) -> Result<Option<Known<F>>, StoreError> {
        let (mut at_once, mut looked) = (self.open.len(), false);
        while !self.open.is_empty() {
            let mut remembered = known.is_some();
            let Some(mut parent) = self.parent(known.take()).await? else {
                return Ok(None);
            };
            if remembered && self.contradicts(&parent) {
                remembered = false;
                let Some(read) = self.parent(None).await? else {
                    return Ok(None);
                };
                parent = read;
            }
            self.recognise(&parent);
            at_once = at_once.min(self.open.len());
            if at_once == 0 {
                return Ok(Some(parent));
            }
            let Refusal { operation, error } = match self.write(&parent, at_once).await {
                Ok(written) => {
                    known = Some(written);
                    continue;
                }
                Err(refusal) => refusal,
            };
            self.answer_lost |= error.answer_lost;
            if remembered {
                // The next replica may not know yet what this was refused for.
                self.read_latest();
            }
            let refused = operation.and_then(|place| self.children(at_once).nth(place));
            let refused = refused.filter(|&one| self.operations[one].is_refused_by(error.reason));
            match (refused, error.reason) {
                (Some(refused), _) => {
                    // The refusal tells nothing of the parent, which may be deleted by now.
                    let mut certain = Some(parent).filter(|_| !remembered);
                    if self.reads == Reads::Session && self.creates() {
                        // Nobody confirms the outcome that a child exists, and the replica that
                        // showed the parent may be behind.
                        self.read_latest();
                        certain = None;
                    }
                    let Some(parent) = self.parent(certain).await? else {
                        return Ok(None);
                    };
                    self.recognise(&parent);
                    if self.open.contains(&refused) {
                        self.look(refused, &error, &parent).await?;
                    }
                    if mem::replace(&mut looked, true) && !self.open.is_empty() {
                        return Err(StoreError::race(self.answer_lost));
                    }
                    known = Some(parent);
                }
                (None, Reason::TooLarge | Reason::PartitionFull) => {
                    if at_once > 1 {
                        at_once = at_once.div_ceil(2);
                    } else {
                        // Alone, it is refused for its own sake; a delete behind it is not.
                        let place = self.open.remove(0);
                        self.outcomes[place] = Some(Err(error));
                    }
                    known = Some(parent);
                }
                // Another writer has changed or deleted the parent since.
                (None, Reason::PreconditionFailed | Reason::NotFound) if remembered => {}
                _ => return Err(error),
            }
        }
        Ok(known)
    }

    /// Returns the parent, read if it is not known. If there is none, that is the outcome of all.
    async fn parent(&mut self, known: Option<Known<F>>) -> Result<Option<Known<F>>, StoreError> {
        if known.is_some() {
            return Ok(known);
        }
        let id = self.key.as_ref();
        if let Some(Stored { item, etag }) = self.container.read(id, id).await?
            && let Some(item) = F::parent(item)
        {
            return Ok(Some(Arc::new(Stored { item, etag })));
        }
        self.settle_all(|_| Some(Ok(Outcome::NoParent)));
        Ok(None)
    }

    /// Makes all further reads see everything that was committed.
    fn read_latest(&mut self) {
        self.reads = Reads::Latest;
        self.container = self.container.reading(self.reads);
    }

    /// Returns true if an open operation creates something.
    fn creates(&self) -> bool {
        self.open.iter().any(|&place| self.operations[place].creates())
    }

    /// Returns true if an open operation can only be carried out on another state of the parent.
    fn contradicts(&self, parent: &Stored<F::Parent>) -> bool {
        self.open.iter().any(|&place| self.operations[place].contradicts(parent))
    }

    /// Settles what was carried out before, and what was decided upon another state of the parent.
    fn recognise(&mut self, parent: &Known<F>) {
        let (answer_lost, now) = (self.answer_lost, Timestamp::now());
        self.settle_all(|(_, operation)| {
            if operation.is_remembered() && parent.item.knows(&operation.command) {
                return Some(Ok(Outcome::Done { child: None, parent: Arc::clone(parent) }));
            }
            let is_deleted = |id: String| parent.item.recent().has_deleted(&id, now);
            if operation.created_once().is_some_and(is_deleted) {
                return Some(Ok(Outcome::Deleted));
            }
            let decided_upon_another = operation.contradicts(parent);
            decided_upon_another.then(|| Err(StoreError::race(answer_lost)))
        });
    }

    /// The indices of those among the first `at_once` open operations that create or delete a child.
    fn children(&self, at_once: usize) -> impl Iterator<Item = usize> {
        let has_child = |&place: &usize| {
            let operation = &self.operations[place];
            operation.creates() || operation.deletes()
        };
        self.open[..at_once].iter().copied().filter(has_child)
    }

    /// Returns the parent after the first `at_once` open operations.
    fn after(&self, parent: &F::Parent, at_once: usize) -> F::Parent {
        let writing = || self.open[..at_once].iter().map(|&place| &self.operations[place]);
        let mut changes = Changes { created: Vec::new(), deleted: Vec::new(), edit: None };
        for operation in writing() {
            match &operation.change {
                Change::Create(child) => changes.created.push(F::child_id(child)),
                Change::Delete(id) => changes.deleted.push(id),
                Change::Edit(edit) => changes.edit = Some(edit),
            }
        }
        let mut after = F::after(parent, &changes);
        let remembered = writing().filter(|operation| operation.is_remembered());
        let commands = remembered.map(|operation| operation.command.clone());
        let now = Timestamp::now();
        after.recent_mut().remember(commands, now);
        let deleted = changes.deleted.iter().filter(|id| F::is_created_once(id));
        after.recent_mut().remember_deleted(deleted.map(ToString::to_string), now);
        after
    }

    /// Carries out the first `at_once` open operations, and returns the parent that counts them.
    async fn write(
        &mut self,
        parent: &Stored<F::Parent>,
        at_once: usize,
    ) -> Result<Known<F>, Refusal> {
        let whole = |error: StoreError| Refusal { operation: None, error };
        let after = self.after(&parent.item, at_once);
        let id = self.key.as_ref();
        let item = F::parent_item(after.clone());
        let children: Vec<usize> = self.children(at_once).collect();
        let (etags, etag) = if children.is_empty() {
            let replaced = self.container.replace(id, id, &item, &parent.etag).await;
            (Vec::new(), replaced.map_err(whole)?)
        } else {
            let mut transaction = Transaction::new(id);
            for Operation { change, if_match, .. } in
                children.iter().map(|&place| &self.operations[place])
            {
                transaction = match change {
                    Change::Create(child) => {
                        let item = F::child_item(child, &after);
                        transaction.create(&item).map_err(whole)?
                    }
                    Change::Delete(id) => transaction.delete(&id.to_string(), if_match.as_ref()),
                    Change::Edit(_) => transaction,
                };
            }
            let transaction = transaction.replace(id, &item, &parent.etag).map_err(whole)?;
            let mut etags = self.container.transact(transaction).await?;
            let etag = etags.pop().flatten().ok_or_else(|| whole(StoreError::unexpected()))?;
            (etags, etag)
        };
        let parent = Arc::new(Stored { item: after, etag });
        let mut etags = etags.into_iter();
        for place in self.open.drain(..at_once) {
            let edits = matches!(self.operations[place].change, Change::Edit(_));
            let child = if edits { None } else { etags.next().flatten() };
            self.outcomes[place] = Some(Ok(Outcome::Done { child, parent: parent.clone() }));
        }
        Ok(parent)
    }

    /// Settles the operation that was refused, and all others that would be.
    async fn look(
        &mut self,
        refused: usize,
        error: &StoreError,
        parent: &Known<F>,
    ) -> Result<(), StoreError> {
        let found = self.found(refused).await?;
        let answer_lost = self.answer_lost;
        self.settle_all(|(index, operation)| {
            let found = operation.child_id().and_then(|id| found.get(&id));
            let error = Some(error).filter(|_| index == refused);
            match judge(operation, found, error, answer_lost)? {
                // Its own transaction has deleted it, and the response was lost.
                Ok(Outcome::Missing) if answer_lost => {
                    Some(Ok(Outcome::Done { child: None, parent: Arc::clone(parent) }))
                }
                settled => Some(settled),
            }
        });
        Ok(())
    }

    /// Returns the items that have the ids of the open operations.
    async fn found(&self, refused: usize) -> Result<HashMap<String, Stored<F::Item>>, StoreError> {
        let partition = self.key.as_ref();
        let ids: Vec<_> = self
            .children(self.open.len())
            .filter_map(|place| self.operations[place].child_id())
            .collect();
        if let [id] = ids.as_slice() {
            // The refusal of a lone delete says it all.
            if !self.operations[refused].creates() {
                return Ok(HashMap::new());
            }
            let item = self.container.read(partition, id).await?;
            return Ok(item.map(|item| (id.clone(), item)).into_iter().collect());
        }
        let select = "c.id AS id, c._etag AS etag, c AS item";
        let rows: Vec<Row<F::Item>> = self.container.query_ids(select, partition, &ids).await?;
        let stored =
            |row: Row<F::Item>| (row.id, Stored { item: row.item, etag: ETag::from(row.etag) });
        Ok(rows.into_iter().map(stored).collect())
    }

    /// Gives outcomes to open operations; those that get none stay open.
    fn settle_all(&mut self, outcome: impl Fn((usize, &Operation<F>)) -> Option<Settled<F>>) {
        for index in mem::take(&mut self.open) {
            match outcome((index, &self.operations[index])) {
                None => self.open.push(index),
                outcome => self.outcomes[index] = outcome,
            }
        }
    }

    fn fail(&mut self, error: &StoreError) {
        let error = error.after(self.answer_lost);
        self.settle_all(|_| Some(Err(error.clone())));
    }

    fn outcomes(self) -> Vec<Settled<F>> {
        self.outcomes
            .into_iter()
            .map(|outcome| outcome.unwrap_or_else(|| Err(StoreError::unexpected())))
            .collect()
    }
}

/// Returns the outcome of an operation, by the item that has the id and by the store's refusal, if
/// that was for its sake; `None` when it can be sent again.
fn judge<F: Family>(
    operation: &Operation<F>,
    found: Option<&Stored<F::Item>>,
    refused: Option<&StoreError>,
    answer_lost: bool,
) -> Option<Settled<F>> {
    match (found, refused) {
        (Some(item), _) if operation.creates() => Some(Ok(Outcome::InTheWay(item.clone()))),
        (_, Some(error)) if operation.deletes() && error.reason == Reason::NotFound => {
            Some(Ok(Outcome::Missing))
        }
        (None, None) if operation.deletes() => Some(Ok(Outcome::Missing)),
        // What was in its way is gone by now, or what it deletes has changed: to be decided anew.
        (_, Some(error)) => Some(Err(error.after(answer_lost))),
        (Some(item), None)
            if operation.deletes()
                && operation.if_match.as_ref().is_some_and(|etag| *etag != item.etag) =>
        {
            Some(Err(StoreError::race(answer_lost)))
        }
        (_, None) => None,
    }
}
