//! One group of operations as a state machine: it takes an answer of the store and returns the next
//! request. The [driver](super::driver) sends the requests. The module above has the argument why each
//! operation ends right, and the arms here name its steps.

use std::{collections::HashMap, mem, sync::Arc};

use super::{
    Changes, Family, RemembersCommands,
    operation::{Change, ChildWrite, Operation, OperationOutcome, OperationResult, ParentState},
};
use crate::{
    cosmos::{ETag, Reason, Refusal, StoreError, Stored},
    values::Timestamp,
};

pub(super) enum GroupStep<F: Family> {
    ReadParent,
    Write(Write<F::Item>),
    Find(Vec<String>),
    /// Each operation has its outcome. With the parent as it is now, if that is known.
    End(Option<ParentState<F>>),
}

pub(super) struct Write<I> {
    pub(super) parent: I,
    pub(super) upon: ETag,
    pub(super) children: Vec<ChildWrite<I>>,
}

pub(super) enum StoreAnswer<F: Family> {
    Parent(Option<ParentState<F>>),
    Written(NewETags),
    Refused(Refusal),
    Found(HashMap<String, Stored<F::Item>>),
    Failed(StoreError),
}

/// The ETags of what was written; `None` of a child that was deleted.
pub(super) struct NewETags {
    pub(super) parent: ETag,
    pub(super) children: Vec<Option<ETag>>,
}

/// The answer that a group waits for, and what it needs to go on.
enum WaitsFor<F: Family> {
    Parent,
    Write { before: ParentState<F>, after: F::Parent, sent: usize, is_remembered: bool },
    ParentOfRefused { refused: usize, error: StoreError },
    Items { refused: usize, error: StoreError, parent: ParentState<F> },
    Nothing,
}

/// The open operations, by their indices, of the next transaction and of a later one, and the refused ones.
struct Choice<F: Family> {
    sent: Vec<usize>,
    others: Vec<usize>,
    refused: Vec<(usize, F::Refused)>,
}

/// A group ends: a transaction settles its operations, or the one because of which it is refused. A second such
/// refusal ends the remaining ones, one that is too large halves the next, and a parent is read again only if it was
/// remembered.
#[expect(clippy::struct_excessive_bools, reason = "independent facts of a state machine")]
pub(super) struct Group<F: Family> {
    operations: Vec<Operation<F>>,
    outcomes: Vec<Option<OperationResult<F>>>,
    open: Vec<usize>,
    max_sent: usize,
    pub(super) on_latest: bool,
    /// True if the parent in hand is the latest committed state of a moment since the group began.
    is_confirmed: bool,
    answer_lost: bool,
    /// True if an operation was refused before.
    has_looked_up: bool,
    waits_for: WaitsFor<F>,
    now: Timestamp,
}

impl<F: Family> Group<F> {
    pub(super) fn new(operations: Vec<Operation<F>>, now: Timestamp) -> Self {
        Self {
            on_latest: operations.iter().any(|operation| operation.on_latest),
            outcomes: operations.iter().map(|_| None).collect(),
            open: (0..operations.len()).collect(),
            max_sent: operations.len(),
            operations,
            is_confirmed: false,
            answer_lost: false,
            has_looked_up: false,
            waits_for: WaitsFor::Nothing,
            now,
        }
    }

    pub(super) fn begin(&mut self, parent: Option<ParentState<F>>) -> GroupStep<F> {
        match parent {
            Some(parent) => self.write(parent, true),
            None => self.read_parent(WaitsFor::Parent),
        }
    }

    pub(super) fn next(&mut self, answer: StoreAnswer<F>) -> GroupStep<F> {
        if matches!(answer, StoreAnswer::Parent(_)) {
            self.is_confirmed = self.on_latest;
        }
        match (mem::replace(&mut self.waits_for, WaitsFor::Nothing), answer) {
            (WaitsFor::Parent, StoreAnswer::Parent(Some(parent))) => self.write(parent, false),
            (WaitsFor::Write { after, sent, .. }, StoreAnswer::Written(written)) => {
                self.written(after, sent, written)
            }
            (
                WaitsFor::Write { before, sent, is_remembered, .. },
                StoreAnswer::Refused(refusal),
            ) => self.refused(before, sent, is_remembered, refusal),
            (WaitsFor::ParentOfRefused { refused, error }, StoreAnswer::Parent(Some(parent))) => {
                self.look_up(refused, error, parent)
            }
            (WaitsFor::Items { refused, error, parent }, StoreAnswer::Found(found)) => {
                self.settle_looked_up(refused, &error, parent, &found)
            }
            // Step 2: there is none, or no more.
            (_, StoreAnswer::Parent(None)) => {
                self.settle(|_| Some(Ok(OperationOutcome::NoParent)));
                GroupStep::End(None)
            }
            (_, StoreAnswer::Failed(error)) => self.fail(&error),
            // No step has asked for this answer.
            _ => self.fail(&StoreError::unexpected()),
        }
    }

    pub(super) fn outcomes(self) -> Vec<OperationResult<F>> {
        let outcomes = self.outcomes.into_iter();
        outcomes.map(|outcome| outcome.unwrap_or_else(|| Err(StoreError::unexpected()))).collect()
    }

    fn read_parent(&mut self, waits_for: WaitsFor<F>) -> GroupStep<F> {
        self.waits_for = waits_for;
        GroupStep::ReadParent
    }

    fn write(&mut self, parent: ParentState<F>, is_remembered: bool) -> GroupStep<F> {
        // Step 8: the parent may have come to the state that the edit demands.
        let contradicts = |&index: &usize| self.operations[index].contradicts(&parent);
        if is_remembered && self.open.iter().any(contradicts) {
            return self.read_parent(WaitsFor::Parent);
        }
        self.recognise(&parent);
        let Choice { sent, others, refused } = self.choose(&parent.item);
        // Step 11: the latest state of the parent may have a place for the child.
        if !self.is_confirmed && !refused.is_empty() {
            self.on_latest = true;
            return self.read_parent(WaitsFor::Parent);
        }
        for (index, reason) in refused {
            self.outcomes[index] = Some(Ok(OperationOutcome::Refused(reason)));
        }
        self.open = [&sent[..], &others].concat();
        let sent = sent.len();
        if sent == 0 {
            return GroupStep::End(Some(parent));
        }
        let after = self.after(&parent.item, &self.open[..sent]);
        let write = Write {
            parent: after.clone().into(),
            upon: parent.etag.clone(),
            children: self
                .children(sent)
                .filter_map(|index| self.operations[index].write(&after))
                .collect(),
        };
        self.waits_for = WaitsFor::Write { before: parent, after, sent, is_remembered };
        GroupStep::Write(write)
    }

    fn choose(&self, parent: &F::Parent) -> Choice<F> {
        let mut choice = Choice { sent: Vec::new(), others: Vec::new(), refused: Vec::new() };
        for &index in &self.open {
            if choice.sent.len() == self.max_sent {
                choice.others.push(index);
            } else if self.refusal(parent, &choice.sent, index).is_none() {
                choice.sent.push(index);
            } else if let Some(reason) = self.refusal(parent, &[], index) {
                choice.refused.push((index, reason));
            } else {
                choice.others.push(index);
            }
        }
        choice
    }

    fn refusal(&self, parent: &F::Parent, earlier: &[usize], index: usize) -> Option<F::Refused> {
        let Change::Create(child) = &self.operations[index].change else { return None };
        F::refuses(|| self.after(parent, earlier), child)
    }

    fn written(
        &mut self,
        after: F::Parent,
        sent: usize,
        NewETags { parent: etag, children }: NewETags,
    ) -> GroupStep<F> {
        self.is_confirmed = true;
        let parent = Arc::new(Stored { item: after, etag });
        let mut etags = children.into_iter();
        for index in self.open.drain(..sent) {
            let edits = matches!(self.operations[index].change, Change::Edit(_));
            let child = if edits { None } else { etags.next().flatten() };
            self.outcomes[index] =
                Some(Ok(OperationOutcome::Done { child, parent: Arc::clone(&parent) }));
        }
        self.write(parent, true)
    }

    fn refused(
        &mut self,
        parent: ParentState<F>,
        sent: usize,
        is_remembered: bool,
        refusal: Refusal,
    ) -> GroupStep<F> {
        let Refusal { operation, error } = refusal;
        self.answer_lost |= error.answer_lost;
        // Step 5: where an answer was lost, the parent may have what the group itself has written.
        let mut is_certain = !is_remembered && !self.answer_lost;
        if !is_certain {
            // Step 4: the next replica may lack the write that caused the refusal.
            self.on_latest = true;
        }
        let refused = operation.and_then(|index| self.children(sent).nth(index));
        let refused = refused.filter(|&index| self.operations[index].is_refused_by(error.reason));
        match (refused, error.reason) {
            // Step 3. The refusal tells nothing of a remembered parent, which may be deleted by now.
            (Some(refused), _) => {
                let creates = |&index: &usize| self.operations[index].creates();
                if !self.on_latest && self.open.iter().any(creates) {
                    // Step 4: no later read confirms that a child exists, and the replica that returned
                    // the parent may be behind.
                    self.on_latest = true;
                    is_certain = false;
                }
                if is_certain {
                    self.look_up(refused, error, parent)
                } else {
                    self.read_parent(WaitsFor::ParentOfRefused { refused, error })
                }
            }
            // Step 10.
            (None, Reason::TooLarge | Reason::PartitionFull) => {
                if sent > 1 {
                    self.max_sent = sent.div_ceil(2);
                } else {
                    // Alone, it is refused for its own sake; a delete behind it is not.
                    let alone = self.open.remove(0);
                    self.outcomes[alone] = Some(Err(error));
                }
                self.write(parent, true)
            }
            // Steps 1 and 2: another writer has changed or deleted the parent since.
            (None, Reason::PreconditionFailed | Reason::NotFound) if is_remembered => {
                self.read_parent(WaitsFor::Parent)
            }
            // Step 1: the parent was just read. Step 5: the response was lost.
            _ => self.fail(&error),
        }
    }

    fn look_up(
        &mut self,
        refused: usize,
        error: StoreError,
        parent: ParentState<F>,
    ) -> GroupStep<F> {
        self.recognise(&parent);
        if !self.open.contains(&refused) {
            return self.send_remaining(parent);
        }
        let children = self.children(self.open.len());
        let ids: Vec<_> = children.filter_map(|index| self.operations[index].child_id()).collect();
        // The refusal of a lone delete tells its outcome.
        if ids.len() == 1 && self.operations[refused].deletes() {
            return self.settle_looked_up(refused, &error, parent, &HashMap::new());
        }
        self.waits_for = WaitsFor::Items { refused, error, parent };
        GroupStep::Find(ids)
    }

    fn settle_looked_up(
        &mut self,
        refused: usize,
        error: &StoreError,
        parent: ParentState<F>,
        found: &HashMap<String, Stored<F::Item>>,
    ) -> GroupStep<F> {
        let answer_lost = self.answer_lost;
        for &index in &self.open {
            let operation = &mut self.operations[index];
            if let Some(found) = operation.child_id().and_then(|id| found.get(&id)) {
                operation.replace_tombstone(found);
            }
        }
        self.settle(|(index, operation)| {
            let found = operation.child_id().and_then(|id| found.get(&id));
            let error = Some(error).filter(|_| index == refused);
            operation.outcome_after_lookup(found, error, answer_lost)
        });
        self.send_remaining(parent)
    }

    fn send_remaining(&mut self, parent: ParentState<F>) -> GroupStep<F> {
        if mem::replace(&mut self.has_looked_up, true) && !self.open.is_empty() {
            return self.fail(&StoreError::race(self.answer_lost));
        }
        self.write(parent, true)
    }

    fn recognise(&mut self, parent: &ParentState<F>) {
        let answer_lost = self.answer_lost;
        let now = self.now;
        self.settle(|(_, operation)| {
            // Steps 5 and 7.
            if operation.is_remembered() && parent.item.knows(&operation.command) {
                let parent = Arc::clone(parent);
                return Some(Ok(OperationOutcome::Done { child: None, parent }));
            }
            let is_deleted = |id: String| parent.item.recent().has_deleted(&id, now);
            if operation.created_once().is_some_and(is_deleted) {
                return Some(Ok(OperationOutcome::Deleted));
            }
            // Step 8.
            operation.contradicts(parent).then(|| Err(StoreError::race(answer_lost)))
        });
    }

    fn children(&self, n: usize) -> impl Iterator<Item = usize> {
        let has_child = |&index: &usize| !matches!(self.operations[index].change, Change::Edit(_));
        self.open[..n].iter().copied().filter(has_child)
    }

    fn after(&self, parent: &F::Parent, operations: &[usize]) -> F::Parent {
        if operations.is_empty() {
            return parent.clone();
        }
        let writing = || operations.iter().map(|&index| &self.operations[index]);
        let (now, edit) = (self.now, None);
        let mut changes = Changes { now, created: Vec::new(), deleted: Vec::new(), edit };
        for operation in writing() {
            match &operation.change {
                Change::Create(child) => changes.created.push(child),
                Change::Delete(id, _) => changes.deleted.push(id),
                Change::Edit(edit) => changes.edit = Some(edit),
            }
        }
        let mut after = F::after(parent, &changes);
        let remembered = writing().filter(|operation| operation.is_remembered());
        let commands = remembered.map(|operation| operation.command.clone());
        after.recent_mut().remember(commands, self.now);
        let deleted = changes.deleted.iter().filter(|id| F::is_created_once(id));
        after.recent_mut().remember_deleted(deleted.map(ToString::to_string), self.now);
        after
    }

    fn settle(&mut self, outcome: impl Fn((usize, &Operation<F>)) -> Option<OperationResult<F>>) {
        for index in mem::take(&mut self.open) {
            match outcome((index, &self.operations[index])) {
                None => self.open.push(index),
                outcome => self.outcomes[index] = outcome,
            }
        }
    }

    fn fail(&mut self, error: &StoreError) -> GroupStep<F> {
        let error = error.with_lost_answer(self.answer_lost);
        self.settle(|_| Some(Err(error.clone())));
        GroupStep::End(None)
    }
}

#[cfg(test)]
mod tests;
