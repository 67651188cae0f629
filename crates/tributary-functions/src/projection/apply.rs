//! The application of one change: it is read and applied, and a failure is classified.

use std::{error::Error, panic::AssertUnwindSafe, time::Duration};

use backon::ExponentialBuilder;
use custom_handler::Document;
use futures::{FutureExt, future::BoxFuture};
use serde_json::value::RawValue;

use super::{AnyProjection, DeadLetter, Effect, ReadBatch, ReplayOutcome};
use crate::cosmos::{Container, Reason, StoreError};

#[derive(Debug)]
pub(super) enum ApplyError {
    Permanent(String),
    Transient(StoreError),
}

/// A panic is a bug that the same change would meet again. The work is on the heap: each layer around it keeps a copy
/// on the stack in a debug build.
pub(super) async fn caught<T>(
    applying: BoxFuture<'_, Result<T, StoreError>>,
) -> Result<T, ApplyError> {
    match AssertUnwindSafe(applying).catch_unwind().await {
        Ok(applied) => applied.map_err(ApplyError::from),
        Err(_) => Err(ApplyError::Permanent("the projection panicked: a bug, see the log".into())),
    }
}

impl From<StoreError> for ApplyError {
    fn from(error: StoreError) -> Self {
        match error.reason {
            Reason::TooLarge => {
                Self::Permanent("a copy would be larger than the store takes (2 MB)".into())
            }
            Reason::PartitionFull => Self::Permanent(
                "the logical partition of a copy is full (20 GB): delete items in it, then replay"
                    .into(),
            ),
            Reason::Unreadable | Reason::Unexpected => {
                let cause = error.source().map(ToString::to_string).unwrap_or_default();
                // A log line of `StoredCopy::read` names a copy that cannot be read.
                tracing::error!(cause, "The store gave a projection an unexpected answer");
                Self::Permanent(
                    "a copy that is there cannot be read, or the store refused one; see the log"
                        .into(),
                )
            }
            _ => Self::Transient(error),
        }
    }
}

#[derive(Debug)]
pub(crate) enum ReplayError {
    /// The change failed again; this dead letter has the reason.
    Permanent(Box<DeadLetter>),
    /// A transient error: a later replay may succeed.
    Store(StoreError),
}

impl dyn AnyProjection + '_ {
    /// Applies the newest version of the document, since an operator may have repaired it. The caller deletes or
    /// keeps the dead letter.
    pub(crate) async fn replay(
        &self,
        letter: &DeadLetter,
        invocation: &str,
    ) -> Result<ReplayOutcome, ReplayError> {
        let again = |letter: DeadLetter, reason: String| {
            ReplayError::Permanent(Box::new(letter.failed_again(reason, invocation)))
        };
        let document = match document(self.sources(), letter).await {
            Ok(Some(document)) => document,
            Ok(None) => return Ok(ReplayOutcome::Gone),
            Err(ApplyError::Transient(error)) => return Err(ReplayError::Store(error)),
            Err(ApplyError::Permanent(reason)) => return Err(again(letter.clone(), reason)),
        };
        let ReadBatch { mut tasks, changes, .. } = self.read(vec![document]);
        // The projection may ignore the document in its present form.
        let Some(task) = tasks.pop() else { return Ok(ReplayOutcome::Unchanged) };
        let applied = match task.change {
            Ok(change) => changes.apply(change, false).await,
            Err(reason) => Err(ApplyError::Permanent(reason)),
        };
        match applied {
            Ok(Effect::Applied) => Ok(ReplayOutcome::Applied),
            Ok(Effect::Unchanged | Effect::Older) => Ok(ReplayOutcome::Unchanged),
            Err(ApplyError::Transient(error)) => Err(ReplayError::Store(error)),
            Err(ApplyError::Permanent(reason)) => {
                Err(again(letter.with_document(&task.document, self.secrets()), reason))
            }
        }
    }
}

async fn document(
    sources: &Container,
    letter: &DeadLetter,
) -> Result<Option<Document>, ApplyError> {
    if let Some((partition, id)) = letter.document_key() {
        // After a stale read, the replay would apply an older version and delete the dead letter.
        let latest = sources.latest_committed();
        if let Some(stored) = latest.read::<Box<RawValue>>(partition, id).await? {
            return Ok(Document::from_json(stored.item.get()).ok());
        }
        // An expired tombstone still holds: the item is deleted. Any other missing document leaves nothing to
        // copy.
        if !letter.is_of_tombstone() {
            return Ok(None);
        }
    }
    // A truncated document is no JSON any more.
    Document::from_json(letter.raw.as_str()).map(Some).map_err(|_| {
        ApplyError::Permanent(
            "the document has no id and partition key to read it by, and was too long to keep"
                .into(),
        )
    })
}

/// Some 0.4 s in all.
pub(super) fn short_pauses() -> ExponentialBuilder {
    ExponentialBuilder::default()
        .with_min_delay(Duration::from_millis(2))
        .with_max_delay(Duration::from_millis(64))
        .with_max_times(8)
        .with_jitter()
}

/// The errors of several items, none of which stops the others. A transient one replaces a permanent one, of which
/// the change would become a dead letter: the items that failed for the moment would wait for its replay.
#[derive(Debug, Default)]
pub(crate) struct NotedErrors {
    error: Option<StoreError>,
    pub(super) count: usize,
}

impl NotedErrors {
    pub(crate) fn note<T>(&mut self, result: Result<T, StoreError>) -> Option<T> {
        match result {
            Ok(value) => Some(value),
            Err(error) => {
                if self.error.as_ref().is_none_or(StoreError::is_permanent) {
                    self.error = Some(error);
                }
                self.count += 1;
                None
            }
        }
    }

    /// Fails with an error that the next item would meet, too.
    pub(crate) fn pass_over<T>(
        &mut self,
        result: Result<T, StoreError>,
    ) -> Result<Option<T>, StoreError> {
        match result {
            Err(error) if !error.is_race() && !error.is_permanent() => Err(error),
            result => Ok(self.note(result)),
        }
    }

    pub(crate) fn into_result(self) -> Result<(), StoreError> {
        self.error.map_or(Ok(()), Err)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_that_may_pass_is_told_before_one_that_stays() {
        let race = StoreError::race(false);
        let unreadable = StoreError::unreadable();
        for errors in [[&race, &unreadable], [&unreadable, &race]] {
            let mut noted = NotedErrors::default();
            assert_eq!(noted.note(Ok(1)), Some(1));
            for error in errors {
                assert_eq!(noted.note::<()>(Err(error.clone())), None);
            }
            let reason = noted.into_result().unwrap_err().reason;
            assert_eq!(reason, Reason::PreconditionFailed);
        }
        assert!(NotedErrors::default().into_result().is_ok());
    }

    #[tokio::test]
    async fn a_projection_that_panics_fails_for_good() {
        let panics = async { panic!("a bug") as Result<(), StoreError> };
        assert!(matches!(caught(panics.boxed()).await, Err(ApplyError::Permanent(_))));
    }
}
