//! An operation on a parent or one of its children, and its outcomes.

use std::sync::Arc;

use super::Family;
use crate::{
    cosmos::{ETag, Reason, StoreError, Stored},
    values::CommandId,
};

pub(super) enum Change<F: Family> {
    Create(F::Child),
    Delete(F::ChildId, Option<F::Item>),
    Edit(F::Edit),
}

pub(super) enum ChildWrite<I> {
    Create(I),
    Delete(String, Option<ETag>),
    Replace(String, I, ETag),
}

pub(super) struct Operation<F: Family> {
    pub(super) change: Change<F>,
    pub(super) command: CommandId,
    pub(super) if_match: Option<ETag>,
    pub(super) parent_read: Option<ParentState<F>>,
    pub(super) on_latest: bool,
}

impl<F: Family> Operation<F> {
    pub(super) fn child_id(&self) -> Option<String> {
        match &self.change {
            Change::Create(child) => Some(F::child_id(child).to_string()),
            Change::Delete(id, _) => Some(id.to_string()),
            Change::Edit(_) => None,
        }
    }

    pub(super) fn write(&self, parent: &F::Parent) -> Option<ChildWrite<F::Item>> {
        match &self.change {
            Change::Create(child) => {
                let item = F::child_item(child, parent);
                Some(match self.if_match.clone() {
                    Some(etag) => ChildWrite::Replace(F::child_id(child).to_string(), item, etag),
                    None => ChildWrite::Create(item),
                })
            }
            Change::Delete(id, tombstone) => {
                let id = id.to_string();
                let if_match = self.if_match.clone();
                Some(match tombstone.clone().zip(if_match.clone()) {
                    Some((tombstone, etag)) => ChildWrite::Replace(id, tombstone, etag),
                    None => ChildWrite::Delete(id, if_match),
                })
            }
            Change::Edit(_) => None,
        }
    }

    pub(super) fn creates(&self) -> bool {
        matches!(self.change, Change::Create(_))
    }

    pub(super) fn created_once(&self) -> Option<String> {
        let Change::Create(child) = &self.change else { return None };
        Some(F::child_id(child)).filter(F::is_created_once).map(|id| id.to_string())
    }

    pub(super) fn deletes(&self) -> bool {
        matches!(self.change, Change::Delete(..))
    }

    /// Nothing else shows that it was carried out. An edit without a condition may be carried out twice.
    pub(super) fn is_remembered(&self) -> bool {
        match self.change {
            Change::Create(_) => false,
            Change::Delete(..) => true,
            Change::Edit(_) => self.if_match.is_some(),
        }
    }

    pub(super) fn contradicts(&self, parent: &Stored<F::Parent>) -> bool {
        let Change::Edit(edit) = &self.change else { return false };
        !F::takes(&parent.item, edit)
            || self.if_match.as_ref().is_some_and(|etag| *etag != parent.etag)
    }

    pub(super) fn is_refused_by(&self, reason: Reason) -> bool {
        match self.change {
            Change::Create(_) if self.if_match.is_none() => reason == Reason::Conflict,
            Change::Create(_) | Change::Delete(..) => {
                matches!(reason, Reason::NotFound | Reason::PreconditionFailed)
            }
            Change::Edit(_) => false,
        }
    }

    pub(super) fn replace_tombstone(&mut self, found: &Stored<F::Item>) {
        if let Change::Create(child) = &mut self.change
            && !F::is_created_once(&F::child_id(child))
            && let Some(again) = F::recreated(child, found.item.clone())
        {
            *child = again;
            self.if_match = Some(found.etag.clone());
        }
    }

    /// Returns `None` if the operation can be sent again. `refused` is the store's refusal that it has caused.
    pub(super) fn outcome_after_lookup(
        &self,
        found: Option<&Stored<F::Item>>,
        refused: Option<&StoreError>,
        answer_lost: bool,
    ) -> Option<OperationResult<F>> {
        match (found, refused) {
            // Its tombstone, which the child replaces.
            (Some(item), _) if self.creates() && self.if_match.as_ref() == Some(&item.etag) => None,
            (Some(item), _) if self.creates() => Some(Ok(OperationOutcome::InTheWay(item.clone()))),
            (_, Some(error)) if self.deletes() && error.reason == Reason::NotFound => {
                Some(Ok(OperationOutcome::Missing))
            }
            (None, None) if self.deletes() => Some(Ok(OperationOutcome::Missing)),
            // The tombstone has expired.
            (None, Some(error)) if error.reason == Reason::NotFound => {
                Some(Err(StoreError::race(answer_lost)))
            }
            // The existing child is gone by now, or the child to be deleted has changed: a lost race.
            (_, Some(error)) => Some(Err(error.with_lost_answer(answer_lost))),
            (Some(item), None)
                if self.deletes()
                    && self.if_match.as_ref().is_some_and(|etag| *etag != item.etag) =>
            {
                Some(Err(StoreError::race(answer_lost)))
            }
            (_, None) => None,
        }
    }
}

pub(crate) type ParentState<F> = Arc<Stored<<F as Family>::Parent>>;

pub(crate) enum OperationOutcome<F: Family> {
    Done { child: Option<ETag>, parent: ParentState<F> },
    InTheWay(Stored<F::Item>),
    Deleted,
    Refused(F::Refused),
    Missing,
    NoParent,
}

pub(super) type OperationResult<F> = Result<OperationOutcome<F>, StoreError>;
