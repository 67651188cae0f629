//! A lease as operators see it.

use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    projection::{
        lag::{LeaseStatus, MeasuredLease},
        leases::LeaseTerms,
    },
    values::{Timestamp, checked_text, length_rule},
};

checked_text!(
    /// The name of a lease: the id of its physical partition, or its range of hashed keys, such as `-1F`
    /// and `1F-3F` after partitions were merged.
    LeaseName, "0", length_rule(1..=1_024)
);

/// A lease of a projection with its lag.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Lease")]
pub(crate) struct LeaseView {
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

impl LeaseView {
    pub(crate) fn new(measured: &MeasuredLease, terms: LeaseTerms, is_paused: bool) -> Self {
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
