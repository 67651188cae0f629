//! The replay of a dead letter, after its cause is repaired.

use custom_handler::Document;
use serde_json::value::RawValue;

use super::{
    DeadLetter, Effect, Outcome, Projection,
    apply::{Failure, apply, read},
};
use crate::cosmos::StoreError;

/// The error of a replay that keeps the dead letter.
#[derive(Debug)]
pub enum Setback {
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
) -> Result<Outcome, Setback> {
    let again = |letter: DeadLetter, reason: String| {
        Setback::Permanent(Box::new(letter.failed_again(reason, invocation)))
    };
    let document = match document(projection, letter).await {
        Ok(Some(document)) => document,
        Ok(None) => return Ok(Outcome::Gone),
        Err(Failure::Transient(error)) => return Err(Setback::Store(error)),
        Err(Failure::Permanent(reason)) => return Err(again(letter.clone(), reason)),
    };
    let applied = match read::<P>(projection.container().id(), &document) {
        // A document that is of no interest any more.
        Ok(change) if P::source(&change).is_none() => Ok(Effect::Unchanged),
        Ok(change) => apply(projection, &change).await,
        Err(reason) => Err(Failure::Permanent(reason)),
    };
    match applied {
        Ok(Effect::Applied) => Ok(Outcome::Applied),
        Ok(Effect::Unchanged | Effect::Older) => Ok(Outcome::Unchanged),
        Err(Failure::Transient(error)) => Err(Setback::Store(error)),
        Err(Failure::Permanent(reason)) => Err(again(letter.with_document::<P>(&document), reason)),
    }
}

/// Returns the document of a dead letter: from its container, else as it was delivered.
async fn document<P: Projection>(
    projection: &P,
    letter: &DeadLetter,
) -> Result<Option<Document>, Failure> {
    if let Some((partition, id)) = letter.place() {
        // A stale read would apply an older version than the dead letter's, and delete the dead letter.
        let latest = projection.container().latest_committed();
        if let Some(stored) = latest.read::<Box<RawValue>>(partition, id).await? {
            return Ok(Document::from_json(stored.item.get()).ok());
        }
        // A tombstone expires, and its statement still holds: the item is deleted. Any other document
        // that is gone leaves nothing to copy.
        if !letter.is_of_a_mark() {
            return Ok(None);
        }
    }
    // A document that was cut is no JSON any more.
    Document::from_json(letter.raw.as_str()).map(Some).map_err(|_| {
        Failure::Permanent(
            "the document has no id and partition key to read it by, and was too long to keep"
                .into(),
        )
    })
}
