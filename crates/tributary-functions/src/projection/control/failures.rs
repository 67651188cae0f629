//! A projection that pauses itself, since many of its changes fail.
//!
//! A bug may make every change fail. Without a limit all of them become dead letters, which an operator has
//! to replay. With one, the changes behind the first failures wait in the change feed.
//!
//! The failures are counted where all instances store them: among the dead letters of the projection, which
//! have one item for each change. Only those after the last resume count. So a repeated delivery, a second
//! instance or a restart changes no count. A batch under way is applied to its end: the dead letters exceed
//! the limit by a batch for each physical partition at most. A pause that follows from a stale state is not
//! written, since the write is under the ETag of that state: the failures are counted again since the latest
//! resume.

use std::time::Duration;

use super::{Pause, ProjectionStates};
use crate::{
    cosmos::{Attempt, StoreError, retry},
    projection::DeadLetters,
    values::Timestamp,
};

/// The user that a pause names which no operator has asked for.
const PAUSED_BY: &str = "the limit of failures";

/// The number of failures after which a projection pauses itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FailureLimit {
    /// The number of changes that fail for good: 1 to 1,000. Each has a dead letter of its own.
    pub changes: u32,
    /// The time in which they fail.
    pub within: Duration,
}

/// Pauses a projection whose failures have reached the limit: a read, and a query of one logical partition
/// for at most as many ids as the limit.
pub(in crate::projection) async fn pause_after_failures(
    states: &ProjectionStates,
    letters: &DeadLetters,
    function: &str,
    limit: FailureLimit,
) -> Result<(), StoreError> {
    retry(async |Attempt { reads, .. }| {
        let states = states.reading(reads);
        let (state, etag) = states.read(function).await?;
        let now = Timestamp::now();
        let since = now.before(limit.within).max(state.resumed_at.unwrap_or(Timestamp::EPOCH));
        let failures = letters.count_since(function, since, limit.changes).await?;
        if failures < limit.changes {
            return Ok(());
        }
        let reason = format!("{failures} changes have failed since {since}: see the dead letters");
        let pause = Pause { since: now, by: Some(PAUSED_BY.to_owned()), reason: Some(reason) };
        if let Some(paused) = state.paused(pause) {
            states.put(&paused, etag.as_ref()).await?;
            tracing::error!(projection = function, failures, "A projection has paused itself");
        }
        Ok(())
    })
    .await
}
