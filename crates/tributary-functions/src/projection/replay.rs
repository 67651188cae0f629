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
/// The replay reads the newest version of the document from its container, since an operator may have
/// repaired it. The change feed delivers all later versions in any case, so a replay may apply any of them.
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
        // The projection ignores the document in its present form.
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

/// Returns the document of a dead letter: from its container, otherwise as it was delivered; `None` if it
/// does not exist any more.
async fn document<P: Projection>(
    projection: &P,
    letter: &DeadLetter,
) -> Result<Option<Document>, ApplyError> {
    if let Some((partition, id)) = letter.document_key() {
        // After a stale read, the replay would apply an older version and delete the dead letter.
        let latest = projection.container().latest_committed();
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
