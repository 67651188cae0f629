//! The admission of batches.

use std::time::Duration;

use tokio::{sync::Mutex, time::Instant};

use super::{Pause, ProjectionStates};
use crate::{
    cosmos::{StoreError, retry},
    projection::DeadLetters,
    telemetry,
    values::Timestamp,
};

pub(crate) const STATE_MAX_AGE: Duration = Duration::from_secs(2);

const LOG_INTERVAL: Duration = Duration::from_mins(1);

pub(crate) struct ProjectionGate {
    function: &'static str,
    states: ProjectionStates,
    max_age: Duration,
    /// Held during a read, so that batches of several partitions share one.
    known: Mutex<KnownState>,
}

#[derive(Default)]
struct KnownState {
    read_at: Option<Instant>,
    pause: Option<Pause>,
    logged_at: Option<Instant>,
}

impl ProjectionGate {
    pub(crate) fn new(function: &'static str, states: ProjectionStates, max_age: Duration) -> Self {
        Self { function, states, max_age, known: Mutex::default() }
    }

    pub(crate) async fn refuses(&self) -> Result<Option<Pause>, StoreError> {
        let mut known = self.known.lock().await;
        let now = Instant::now();
        if known.read_at.is_none_or(|read_at| now - read_at >= self.max_age) {
            let (state, _) = self.states.read(self.function).await?;
            known.pause = state.pause;
            known.read_at = Some(now);
            telemetry::projection_state(self.function, known.pause.is_some());
        }
        let Some(pause) = known.pause.clone() else { return Ok(None) };
        if known.logged_at.is_none_or(|logged_at| now - logged_at >= LOG_INTERVAL) {
            known.logged_at = Some(now);
            tracing::info!(
                paused_ms = Timestamp::now().millis_since(pause.since),
                reason = pause.reason,
                "Refused a batch of changes: the projection is paused"
            );
        }
        Ok(Some(pause))
    }
}

const PAUSED_BY: &str = "the limit of failures";

/// The number of failures after which a projection pauses itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FailureLimit {
    /// The number of changes that fail for good: 1 to 1,000. Each has a dead letter of its own.
    pub changes: u32,
    /// The time in which they fail.
    pub within: Duration,
}

/// Pauses a projection whose failures have reached the limit: a read, and a query of one logical partition for at
/// most as many ids as the limit. The failures since the last resume are counted among the dead letters, which have
/// one item for each change: a repeated delivery, a second instance or a restart changes no count. A batch under way
/// is applied to its end. The pause is written under the ETag of the state that was read.
pub(in crate::projection) async fn pause_after_failures(
    states: &ProjectionStates,
    letters: &DeadLetters,
    function: &str,
    limit: FailureLimit,
) -> Result<(), StoreError> {
    retry(async |_| {
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
