//! The lag of the projections as it is: for each lease, the changes that wait and the time of the first, whether
//! the trigger runs or not.
//!
//! The method is that of the change feed estimator of the .NET SDK (`ChangeFeedEstimatorIterator`). The
//! continuation of the lease is the position behind the last acknowledged batch. The change feed is read from
//! there, for the first change behind it. The session token of the answer has the log sequence number (LSN) of
//! the partition's last write. Its distance from the LSN of the first change is the number of the waiting
//! changes.
//!
//! It is an upper bound: an item that is written twice counts twice, and a deletion after the first waiting
//! change counts, though the feed has none of it. A batch counts until it is acknowledged. After a split, the
//! lease of the parent has a part in each child, and the sum of the parts counts.
//!
//! A measurement moves no checkpoint. It costs a query of the leases (3 request units for each physical partition
//! of their container), a request for each monitored container, and one or two request units for each lease. A
//! lease beyond the limits of number and time has no lag.

mod measure;

use schemars::JsonSchema;
use serde::Serialize;

pub(crate) use self::measure::{MAX_MEASURED_LEASES, measure_lag};
use super::leases::{Lease, LeaseTerms};
use crate::{cosmos::FeedHead, values::Timestamp};

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Lag {
    pub changes: u64,
    pub waits_since: Option<Timestamp>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MeasuredLease {
    pub lease: Lease,
    pub lag: Option<Lag>,
    /// The time since which the lease has been seen at its position while changes waited.
    pub unmoved_since: Option<Timestamp>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ProjectionLag {
    pub leases: Vec<MeasuredLease>,
    pub unreadable: usize,
}

impl From<&FeedHead> for Lag {
    fn from(FeedHead { last_lsn, next, .. }: &FeedHead) -> Self {
        next.map_or_else(Self::default, |next| Self {
            changes: last_lsn.saturating_sub(next.lsn).saturating_add(1),
            waits_since: Some(next.written_at),
        })
    }
}

impl Lag {
    pub(super) fn and(self, other: Self) -> Self {
        let times = self.waits_since.into_iter().chain(other.waits_since);
        Self { changes: self.changes.saturating_add(other.changes), waits_since: times.min() }
    }

    pub(crate) fn seconds(self, now: Timestamp) -> u64 {
        self.waits_since.map_or(0, |since| now.millis_since(since) / 1_000)
    }
}

impl ProjectionLag {
    pub(crate) fn summary(&self, terms: LeaseTerms, is_paused: bool, now: Timestamp) -> LagSummary {
        // That of the lease that is the farthest behind: the most changes, and the longest wait.
        let measured = self.leases.iter().filter_map(|lease| lease.lag);
        let worst = measured.reduce(|one, other| Lag {
            changes: one.changes.max(other.changes),
            waits_since: one.waits_since.into_iter().chain(other.waits_since).min(),
        });
        let worst = worst.unwrap_or_default();
        let is_stopped = |lease: &&MeasuredLease| lease.status(terms, is_paused, now).is_stopped();
        let unmeasured = self.leases.iter().filter(|lease| lease.lag.is_none()).count();
        LagSummary {
            changes: worst.changes,
            seconds: worst.seconds(now),
            leases: self.leases.len(),
            stopped_leases: self.leases.iter().filter(is_stopped).count(),
            unmeasured_leases: self.unreadable + unmeasured,
        }
    }
}

/// The status of a lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) enum LeaseStatus {
    /// No change waits.
    Current,
    /// Changes wait. The lease moves, or they wait for less than five minutes, or the projection is paused.
    Behind,
    /// Changes have waited for five minutes, and no instance has the lease.
    Unowned,
    /// An instance has the lease, and it has not moved for five minutes while changes waited.
    Unmoved,
    /// The lag could not be measured.
    Unmeasured,
}

impl LeaseStatus {
    pub(crate) fn is_stopped(self) -> bool {
        self.advice().is_some()
    }

    pub(crate) fn advice(self) -> Option<&'static str> {
        match self {
            Self::Current | Self::Behind | Self::Unmeasured => None,
            Self::Unowned => Some(
                "No instance has this lease. Start the app. If it runs, release the lease, so that \
                 another instance acquires it.",
            ),
            Self::Unmoved => Some(
                "An instance renews this lease and acknowledges no batch. Find the error of the batch in \
                 the log. Without one, release the lease by force.",
            ),
        }
    }
}

impl MeasuredLease {
    pub(crate) fn status(&self, terms: LeaseTerms, is_paused: bool, now: Timestamp) -> LeaseStatus {
        let Some(lag) = self.lag else { return LeaseStatus::Unmeasured };
        let Some(waits_since) = lag.waits_since else { return LeaseStatus::Current };
        let before = now.before(terms.stopped_after);
        if is_paused || waits_since > before {
            return LeaseStatus::Behind;
        }
        if !self.lease.is_owned(terms.expiration, now) {
            return LeaseStatus::Unowned;
        }
        if self.unmoved_since.is_none_or(|since| since > before) {
            return LeaseStatus::Behind;
        }
        LeaseStatus::Unmoved
    }
}

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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::projection::leases::{Lease, STOPPED_AFTER};

    const TERMS: LeaseTerms =
        LeaseTerms { expiration: Duration::from_mins(1), stopped_after: STOPPED_AFTER };
    const NOW: i64 = 10_000;

    fn ago(seconds: i64) -> Timestamp {
        Timestamp::from_unix_seconds(NOW - seconds).unwrap()
    }

    fn lease(owner: Option<&str>, waits: i64, renewed: i64, unmoved: Option<i64>) -> MeasuredLease {
        MeasuredLease {
            lease: Lease {
                id: "l".into(),
                token: "0".into(),
                range: None,
                continuation: None,
                owner: owner.map(str::to_owned),
                written_at: ago(renewed),
            },
            lag: Some(Lag { changes: 1, waits_since: Some(ago(waits)) }),
            unmoved_since: unmoved.map(ago),
        }
    }

    #[test]
    fn a_lease_has_stopped_when_changes_wait_and_it_has_no_owner_or_does_not_move() {
        use LeaseStatus::{Behind, Current, Unmeasured, Unmoved, Unowned};
        let status = |lease: &MeasuredLease| lease.status(TERMS, false, ago(0));
        for (is, lease) in [
            (Behind, lease(None, 299, 900, Some(900))),
            (Unowned, lease(None, 300, 1, None)),
            (Unowned, lease(Some("dead"), 300, 61, Some(900))),
            (Behind, lease(Some("alive"), 900, 60, None)),
            (Behind, lease(Some("alive"), 900, 60, Some(299))),
            (Unmoved, lease(Some("alive"), 900, 60, Some(300))),
        ] {
            assert_eq!(status(&lease), is, "{lease:?}");
            let paused = lease.status(TERMS, true, ago(0));
            assert_eq!(paused, Behind, "a pause is no stop: {lease:?}");
        }
        let nothing_waits =
            MeasuredLease { lag: Some(Lag::default()), ..lease(None, 0, 900, None) };
        assert_eq!(status(&nothing_waits), Current);
        let unmeasured = MeasuredLease { lag: None, ..nothing_waits };
        assert_eq!(status(&unmeasured), Unmeasured);
    }
}
