//! The application of one change: it is read and applied, and a failure is classified.

use std::{error::Error, panic::AssertUnwindSafe};

use custom_handler::Document;
use futures::{FutureExt, future::BoxFuture};

use super::{Effect, Projection, unreadable};
use crate::cosmos::{Reason, StoreError};

#[derive(Debug)]
pub(super) enum ApplyError {
    /// The change would fail again. The sentence says why.
    Permanent(String),
    Transient(StoreError),
}

/// Reads a document of the change feed. The error names the unreadable field.
pub(super) fn read<P: Projection>(
    container: &str,
    document: &Document,
) -> Result<P::Change, String> {
    document.parse().map_err(|error| {
        let defect = unreadable::defect::<P::Change>(document, &error);
        format!("not an item of `{container}`: {defect}")
    })
}

pub(super) async fn apply<P: Projection>(
    projection: &P,
    change: &P::Change,
) -> Result<Effect, ApplyError> {
    caught(projection.apply(change).boxed()).await
}

pub(super) async fn apply_again<P: Projection>(
    projection: &P,
    change: &P::Change,
) -> Result<Effect, ApplyError> {
    caught(projection.apply_again(change).boxed()).await
}

pub(super) async fn apply_all<P: Projection>(
    projection: &P,
    changes: &[&P::Change],
) -> Result<Vec<Effect>, ApplyError> {
    caught(projection.apply_all(changes).boxed()).await
}

/// Catches a panic: it is a bug that the same change would meet again, and must not hold up other changes.
///
/// The work is on the heap: each layer around it keeps a copy on the stack in a debug build, 240 KB together.
async fn caught<T>(applying: BoxFuture<'_, Result<T, StoreError>>) -> Result<T, ApplyError> {
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
