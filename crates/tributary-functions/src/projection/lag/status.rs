//! The status of a lease: a pure function of a measurement.

use schemars::JsonSchema;
use serde::Serialize;

use super::MeasuredLease;
use crate::{projection::leases::LeaseTerms, values::Timestamp};

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
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Current => "current",
            Self::Behind => "behind",
            Self::Unowned => "unowned",
            Self::Unmoved => "unmoved",
            Self::Unmeasured => "unmeasured",
        }
    }

    /// Returns true for a lease whose changes wait in vain.
    pub(crate) fn is_stopped(self) -> bool {
        matches!(self, Self::Unowned | Self::Unmoved)
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::projection::{
        lag::Lag,
        leases::{Lease, STOPPED_AFTER},
    };

    const TERMS: LeaseTerms =
        LeaseTerms { expiration: Duration::from_mins(1), stopped_after: STOPPED_AFTER };
    const NOW: i64 = 10_000;

    fn ago(seconds: i64) -> Timestamp {
        Timestamp::from_unix_seconds(NOW - seconds).unwrap()
    }

    /// Returns a lease whose changes wait, which was renewed and seen at its position so many seconds ago.
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
            assert_eq!(is.is_stopped(), is.advice().is_some());
        }
        let nothing_waits =
            MeasuredLease { lag: Some(Lag::default()), ..lease(None, 0, 900, None) };
        assert_eq!(status(&nothing_waits), Current);
        let unmeasured = MeasuredLease { lag: None, ..nothing_waits };
        assert_eq!(status(&unmeasured), Unmeasured);
    }
}
