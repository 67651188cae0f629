//! The admission of batches.

use std::{fmt, time::Duration};

use tokio::{sync::Mutex, time::Instant};

use super::{Pause, ProjectionStates};
use crate::{cosmos::StoreError, telemetry, values::Timestamp};

/// The time for which an instance may use the state that it has read, unless a setting says otherwise.
pub(crate) const STATE_MAX_AGE: Duration = Duration::from_secs(2);

/// The interval between two log lines about the refused batches of a projection.
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

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RefusedBatch {
    function: &'static str,
    pause: Pause,
}

impl fmt::Display for RefusedBatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { function, pause: Pause { since, .. } } = self;
        write!(
            f,
            "{function} is paused since {since}. The host keeps the batch, and invokes {function} again \
             within a minute after it is resumed."
        )
    }
}

impl ProjectionGate {
    pub(crate) fn new(function: &'static str, states: ProjectionStates, max_age: Duration) -> Self {
        Self { function, states, max_age, known: Mutex::default() }
    }

    /// Returns the refusal of a batch while the projection is paused; `None`: the batch is applied.
    pub(crate) async fn refuses(&self) -> Result<Option<RefusedBatch>, StoreError> {
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
        Ok(Some(RefusedBatch { function: self.function, pause }))
    }
}
