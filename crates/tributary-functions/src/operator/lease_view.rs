//! The lag of a projection as operators see it.

use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    projection::{
        lag::{LeaseStatus, MeasuredLease, ProjectionLag},
        leases::LeaseTerms,
    },
    values::{Timestamp, checked_text, id_rule},
};

checked_text!(
    /// The name of a lease: the id of its physical partition.
    LeaseName, "0", id_rule
);

/// The lag of a projection, which is that of its farthest lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ProjectionLag")]
pub struct LagView {
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

/// A lease of a projection with its lag.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Lease")]
pub struct LeaseView {
    /// The name.
    #[schemars(with = "LeaseName")]
    pub lease: String,
    /// The status.
    pub status: LeaseStatus,
    /// The number of changes that wait; none if it could not be measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub changes: Option<u64>,
    /// The age of the oldest of them in seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seconds: Option<u64>,
    /// The instance that reads the partition.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// The last checkpoint or renewal.
    pub written_at: Timestamp,
    /// The log sequence number of the last acknowledged change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub position: Option<u64>,
    /// What is wrong with a stopped lease, and what to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub advice: Option<&'static str>,
}

impl LagView {
    /// Creates the view of a lag, of which at least one lease was measured or none exists.
    pub fn new(lag: &ProjectionLag, terms: LeaseTerms, is_paused: bool) -> Self {
        let now = Timestamp::now();
        let worst = lag.worst().unwrap_or_default();
        Self {
            changes: worst.changes,
            seconds: worst.seconds(now),
            leases: lag.leases.len(),
            stopped_leases: lag.stopped(terms, is_paused, now),
            unmeasured_leases: lag.unmeasured(),
        }
    }
}

impl LeaseView {
    /// Creates the view of a lease.
    pub fn new(measured: &MeasuredLease, terms: LeaseTerms, is_paused: bool) -> Self {
        let now = Timestamp::now();
        let status = measured.status(terms, is_paused, now);
        let MeasuredLease { lease, lag, .. } = measured;
        Self {
            lease: lease.token.clone(),
            status,
            changes: lag.map(|lag| lag.changes),
            seconds: lag.map(|lag| lag.seconds(now)),
            owner: lease.owner.clone(),
            written_at: lease.written_at,
            position: lease.lsn(),
            advice: status.advice(),
        }
    }
}
