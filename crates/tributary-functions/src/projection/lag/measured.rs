//! The lag of a lease and of a projection: pure functions.

use crate::{cosmos::FeedHead, projection::leases::Lease, values::Timestamp};

/// The changes behind a position.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Lag {
    /// The number of writes that wait.
    pub changes: u64,
    /// The time of the first; none if nothing waits.
    pub waits_since: Option<Timestamp>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MeasuredLease {
    pub lease: Lease,
    /// The lag; none if it could not be measured.
    pub lag: Option<Lag>,
    /// The time since which the lease has been seen at its position while changes waited.
    pub unmoved_since: Option<Timestamp>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ProjectionLag {
    pub leases: Vec<MeasuredLease>,
    /// The number of items among the leases that are none.
    pub unreadable: usize,
}

impl From<&FeedHead> for Lag {
    fn from(FeedHead { last_lsn, next }: &FeedHead) -> Self {
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

    /// Returns the age of the first waiting change, in seconds; 0 if nothing waits.
    pub fn seconds(self, now: Timestamp) -> u64 {
        self.waits_since.map_or(0, |since| now.millis_since(since) / 1_000)
    }
}

impl ProjectionLag {
    /// Returns the lag of the lease that is the farthest behind: the most changes, and the longest wait. None
    /// if no lease was measured.
    pub(crate) fn worst(&self) -> Option<Lag> {
        let measured = self.leases.iter().filter_map(|one| one.lag);
        measured.reduce(|one, other| Lag {
            changes: one.changes.max(other.changes),
            waits_since: one.waits_since.into_iter().chain(other.waits_since).min(),
        })
    }

    /// Returns the number of leases whose lag could not be measured, and of items that are no leases.
    pub(crate) fn unmeasured(&self) -> usize {
        self.unreadable + self.leases.iter().filter(|lease| lease.lag.is_none()).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cosmos::NextChange;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_unix_seconds(seconds).unwrap()
    }

    fn lag(last_lsn: u64, next: Option<(u64, i64)>) -> Lag {
        let next = next.map(|(lsn, written)| NextChange { lsn, written_at: at(written) });
        Lag::from(&FeedHead { last_lsn, next })
    }

    #[test]
    fn the_lag_is_the_distance_from_the_first_waiting_change_to_the_last_write() {
        assert_eq!(lag(120, None), Lag::default(), "deletes raise the LSN and bring no change");
        assert_eq!(lag(120, Some((120, 5))).changes, 1);
        let behind = lag(120, Some((111, 5)));
        assert_eq!((behind.changes, behind.seconds(at(9)), behind.seconds(at(2))), (10, 4, 0));
        assert_eq!(lag(0, Some((7, 5))).changes, 1, "a replica that is behind");
        assert_eq!(lag(u64::MAX, Some((0, 5))).changes, u64::MAX);
    }

    #[test]
    fn the_parts_of_a_lease_are_added_and_the_worst_lease_counts() {
        let (one, other) = (lag(20, Some((11, 7))), lag(9, Some((9, 3))));
        assert_eq!(one.and(other), Lag { changes: 11, waits_since: Some(at(3)) });
        assert_eq!(one.and(Lag::default()), one);
        let lease = |lag| MeasuredLease {
            lease: Lease {
                id: "l".into(),
                token: "0".into(),
                range: None,
                continuation: None,
                owner: None,
                written_at: at(0),
            },
            lag,
            unmoved_since: None,
        };
        let leases = [Some(one), None, Some(other)].map(lease).into();
        let projection = ProjectionLag { leases, unreadable: 1 };
        assert_eq!(projection.worst(), Some(Lag { changes: 10, waits_since: Some(at(3)) }));
        assert_eq!(projection.unmeasured(), 2);
        assert_eq!(ProjectionLag::default().worst(), None);
    }
}
