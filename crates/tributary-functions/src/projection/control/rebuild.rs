//! The rebuild of a projection, as it is stored: pure functions.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    cosmos::QueryPosition,
    values::{Timestamp, fresh_id},
};

/// Longer than a page of sources takes, with all retries of its changes.
pub(crate) const CLAIM: Duration = Duration::from_secs(90);

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Rebuild {
    pub id: String,
    pub requested_at: Timestamp,
    /// The user of the command; none of a request, whose function key has no name here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// A rewind: only the sources that were written at this time or later are applied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
    pub step: RebuildStep,
    #[serde(default)]
    pub progress: RebuildProgress,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worker: Option<RebuildWorker>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", tag = "name")]
pub(crate) enum RebuildStep {
    Sources {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        position: Option<QueryPosition>,
    },
    /// The domain is audited from the position on, and what differs is repaired.
    Audit {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        position: Option<Value>,
    },
    Done {
        ended_at: Timestamp,
    },
    Cancelled {
        ended_at: Timestamp,
    },
    /// The store has refused the stored position of a step too often.
    Failed {
        ended_at: Timestamp,
    },
}

/// The work of a rebuild so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(rename = "RebuildProgress")]
pub(crate) struct RebuildProgress {
    /// The items of the container of the sources as it began; none before they are counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub items: Option<u64>,
    /// The items that were read.
    pub read: u64,
    /// The changes that have written copies.
    pub applied: u64,
    /// The changes that were stored as dead letters.
    pub dead_letters: u64,
    /// The times that a step began again, since the store had refused its position.
    pub restarts: u32,
    /// The items that the audit has read.
    pub audited: u64,
    /// The divergences that the audit has found.
    pub findings: u64,
    /// Those of them that were repaired.
    pub repaired: u64,
    /// The request units of all.
    pub request_units: f64,
    /// The time of the work on the sources, in milliseconds, without the pauses between slices.
    pub sources_ms: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RebuildWorker {
    pub id: String,
    pub until: Timestamp,
}

impl Rebuild {
    pub(crate) fn new(by: Option<String>, since: Option<Timestamp>) -> Self {
        let step = RebuildStep::Sources { position: None };
        let progress = RebuildProgress::default();
        let (id, requested_at) = (fresh_id(), Timestamp::now());
        Self { id, requested_at, by, since, step, progress, worker: None }
    }

    pub(crate) fn is_under_way(&self) -> bool {
        matches!(self.step, RebuildStep::Sources { .. } | RebuildStep::Audit { .. })
    }

    pub(crate) fn worker_at(&self, now: Timestamp) -> Option<&RebuildWorker> {
        self.worker.as_ref().filter(|worker| self.is_under_way() && worker.until > now)
    }

    pub(crate) fn worker_id(&self) -> Option<&str> {
        self.worker.as_ref().map(|worker| worker.id.as_str())
    }

    pub(crate) fn claimed(&self, worker: &str, now: Timestamp) -> Option<Self> {
        let other = self.worker_at(now).filter(|holder| holder.id != worker);
        if !self.is_under_way() || other.is_some() {
            return None;
        }
        let worker = RebuildWorker { id: worker.to_owned(), until: now.after(CLAIM) };
        Some(Self { worker: Some(worker), ..self.clone() })
    }

    pub(crate) fn cancelled(&self, now: Timestamp) -> Option<Self> {
        let step = RebuildStep::Cancelled { ended_at: now };
        self.is_under_way().then(|| Self { step, worker: None, ..self.clone() })
    }
}

impl RebuildProgress {
    pub(crate) fn items_per_second(&self) -> Option<f64> {
        let seconds = Duration::from_millis(self.sources_ms).as_secs_f64();
        #[expect(clippy::cast_precision_loss, reason = "a rate")]
        let read = self.read as f64;
        (self.read > 0 && seconds > 0.0).then(|| read / seconds)
    }

    pub(crate) fn time_to_read(&self) -> Option<Duration> {
        let items = self.items?.saturating_sub(self.read);
        #[expect(clippy::cast_precision_loss, reason = "an estimate")]
        let items = items as f64;
        Duration::try_from_secs_f64(items / self.items_per_second()?).ok()
    }
}
