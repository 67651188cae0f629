//! The rounds of a batch, and its end: decided without a store and without a clock.
//!
//! A round attempts all open changes, in groups. A change that failed transiently is open in the next round, in
//! groups of half the size: so one that is stuck is alone after a few rounds, and holds up no other. A change
//! that failed permanently is a dead letter by then, or a failure of the batch. The batch is over when no change
//! is open, or when its caller ends it: then each open change is a failure.

use std::mem;

use custom_handler::Document;

use super::super::Effect;
use crate::cosmos::{Reason, StoreError};

pub(in crate::projection) struct Task {
    pub(in crate::projection) document: Document,
    /// The number of the change among those of the batch, or the reason for which it cannot be read.
    pub(in crate::projection) change: Result<usize, String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ChangeOutcome {
    Done(Effect),
    DeadLetter,
}

pub(super) struct FailedAttempt {
    pub(super) reason: Reason,
    pub(super) is_retryable: bool,
}

impl FailedAttempt {
    pub(super) const NOT_BEGUN: Self = Self { reason: Reason::Unavailable, is_retryable: true };
}

impl From<&StoreError> for FailedAttempt {
    fn from(error: &StoreError) -> Self {
        // The item that was read was deleted before the write.
        let lost_race = error.is_race() || error.reason == Reason::NotFound;
        Self { reason: error.reason, is_retryable: lost_race || error.is_transient() }
    }
}

pub(super) type AttemptedTask = (Task, Result<ChangeOutcome, FailedAttempt>);

#[derive(Debug, Default)]
pub(super) struct BatchOutcomes {
    pub(super) done: Vec<ChangeOutcome>,
    pub(super) failures: Vec<Reason>,
}

#[derive(Default)]
pub(super) struct Rounds {
    tasks: Vec<Task>,
    /// The reason for which each task failed in the round before; empty before the first round.
    reasons: Vec<Reason>,
    group: usize,
    outcomes: BatchOutcomes,
}

impl Rounds {
    pub(super) fn new(tasks: Vec<Task>, group: usize) -> Self {
        Self { tasks, group: group.max(1), ..Self::default() }
    }

    pub(super) fn begin_round(&mut self) -> Vec<Vec<Task>> {
        groups(mem::take(&mut self.tasks), self.group)
    }

    pub(super) fn end_round(&mut self, attempted: Vec<AttemptedTask>) {
        self.reasons.clear();
        for (task, result) in attempted {
            match result {
                Ok(outcome) => self.outcomes.done.push(outcome),
                Err(FailedAttempt { reason, is_retryable: true }) => {
                    self.tasks.push(task);
                    self.reasons.push(reason);
                }
                Err(FailedAttempt { reason, .. }) => self.outcomes.failures.push(reason),
            }
        }
        self.group = (self.group / 2).max(1);
    }

    pub(super) fn is_over(&self) -> bool {
        self.tasks.is_empty()
    }

    pub(super) fn failed(&self) -> impl Iterator<Item = (&Task, Reason)> {
        self.tasks.iter().zip(self.reasons.iter().copied())
    }

    pub(super) fn end(self) -> BatchOutcomes {
        let BatchOutcomes { done, mut failures } = self.outcomes;
        failures.extend(self.reasons);
        BatchOutcomes { done, failures }
    }
}

fn groups(tasks: Vec<Task>, size: usize) -> Vec<Vec<Task>> {
    let (readable, unreadable): (Vec<_>, Vec<_>) =
        tasks.into_iter().partition(|task| task.change.is_ok());
    let mut groups: Vec<_> = unreadable.into_iter().map(|task| vec![task]).collect();
    let mut readable = readable.into_iter().peekable();
    while readable.peek().is_some() {
        groups.push(readable.by_ref().take(size).collect());
    }
    groups
}

#[cfg(test)]
mod tests;
