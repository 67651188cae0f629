//! The lag of a projection in a few numbers.

use schemars::JsonSchema;
use serde::Serialize;

use super::{MeasuredLease, ProjectionLag};
use crate::{projection::leases::LeaseTerms, values::Timestamp};

/// The lag of a projection, which is that of its farthest lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ProjectionLag")]
pub(crate) struct LagSummary {
    /// The most changes that wait for one lease.
    pub changes: u64,
    /// The age of the oldest of them in seconds; 0 if none waits.
    pub seconds: u64,
    /// The number of leases: one for each physical partition, none before the trigger has run.
    pub leases: usize,
    /// The number of leases that have stopped.
    pub stopped_leases: usize,
    /// The number of leases whose lag could not be measured.
    pub unmeasured_leases: usize,
}

impl ProjectionLag {
    pub(crate) fn summary(&self, terms: LeaseTerms, is_paused: bool, now: Timestamp) -> LagSummary {
        let worst = self.worst().unwrap_or_default();
        let is_stopped = |one: &&MeasuredLease| one.status(terms, is_paused, now).is_stopped();
        LagSummary {
            changes: worst.changes,
            seconds: worst.seconds(now),
            leases: self.leases.len(),
            stopped_leases: self.leases.iter().filter(is_stopped).count(),
            unmeasured_leases: self.unmeasured(),
        }
    }
}
