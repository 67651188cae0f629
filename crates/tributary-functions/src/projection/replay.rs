//! The replay of a dead letter, after its cause is repaired.

use custom_handler::Document;
use serde_json::value::RawValue;

use super::{
    DeadLetter, Effect, Projection, ReplayOutcome,
    apply::{ApplyError, apply, read},
};
use crate::cosmos::StoreError;

/// The error of a replay that keeps the dead letter.
#[derive(Debug)]
pub enum ReplayError {
    /// The change failed again; this dead letter has the reason.
    Permanent(Box<DeadLetter>),
    /// A transient error: a later replay may succeed.
    Store(StoreError),
}

/// Applies the change of a dead letter as a delivery would.
///
/// It takes the newest version of the document from its container, which an operator may have
/// repaired. The change feed delivers the versions after the dead letter's in any case, so a replay
/// may see any of them.
pub(super) async fn replay<P: Projection>(
    projection: &P,
    letter: &DeadLetter,
    invocation: &str,
) -> Result<ReplayOutcome, ReplayError> {
    let again = |letter: DeadLetter, reason: String| {
        ReplayError::Permanent(Box::new(letter.failed_again(reason, invocation)))
    };
    let document = match document(projection, letter).await {
        Ok(Some(document)) => document,
        Ok(None) => return Ok(ReplayOutcome::Gone),
        Err(ApplyError::Transient(error)) => return Err(ReplayError::Store(error)),
        Err(ApplyError::Permanent(reason)) => return Err(again(letter.clone(), reason)),
    };
    let applied = match read::<P>(projection.container().id(), &document) {
        // A document that is of no interest any more.
        Ok(change) if P::source(&change).is_none() => Ok(Effect::Unchanged),
        Ok(change) => apply(projection, &change).await,
        Err(reason) => Err(ApplyError::Permanent(reason)),
    };
    match applied {
        Ok(Effect::Applied) => Ok(ReplayOutcome::Applied),
        Ok(Effect::Unchanged | Effect::Older) => Ok(ReplayOutcome::Unchanged),
        Err(ApplyError::Transient(error)) => Err(ReplayError::Store(error)),
        Err(ApplyError::Permanent(reason)) => {
            Err(again(letter.with_document::<P>(&document), reason))
        }
    }
}

/// Returns the document of a dead letter: from its container, else as it was delivered.
async fn document<P: Projection>(
    projection: &P,
    letter: &DeadLetter,
) -> Result<Option<Document>, ApplyError> {
    if let Some((partition, id)) = letter.document_key() {
        // A stale read would apply an older version than the dead letter's, and delete the dead letter.
        let latest = projection.container().latest_committed();
        if let Some(stored) = latest.read::<Box<RawValue>>(partition, id).await? {
            return Ok(Document::from_json(stored.item.get()).ok());
        }
        // A tombstone expires, and its statement still holds: the item is deleted. Any other document
        // that is gone leaves nothing to copy.
        // guard: replay: an expired tombstone still deletes => `true`
        if !letter.is_of_tombstone() {
            return Ok(None);
        }
    }
    // A document that was cut is no JSON any more.
    Document::from_json(letter.raw.as_str()).map(Some).map_err(|_| {
        ApplyError::Permanent(
            "the document has no id and partition key to read it by, and was too long to keep"
                .into(),
        )
    })
}
