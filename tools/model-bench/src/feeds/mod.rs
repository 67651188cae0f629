//! The partitioning guide's four architectures for news feeds: its query shapes and the writes, their
//! cost in each architecture, and the guide's estimates.

mod architecture;
mod data;
mod keys;
mod shape;

mod containers;
mod router;
mod writes;

mod calls;
mod run;

mod cli;
mod report;

#[cfg(test)]
mod tests;

pub(crate) use self::{cli::FeedsCli, run::run};

/// Seconds of a day.
const DAY_SECONDS: i64 = 24 * 60 * 60;
/// The age at which an item is migrated, in seconds. The guide: 30 days.
const MIGRATION_AGE: i64 = 30 * DAY_SECONDS;
/// The time that a migrated item stays in the hot container, in seconds. The guide: a day.
const EXPIRY_OF_MIGRATED: i64 = DAY_SECONDS;

/// A range of publication, in seconds since 1970: from inclusive, to exclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct TimeWindow {
    from: i64,
    to: i64,
}

impl TimeWindow {
    /// Returns the days before a moment.
    fn days_before(now: i64, days: i64) -> Self {
        Self { from: now - days * DAY_SECONDS, to: now }
    }

    /// Returns the intersection of two ranges; `None` if it is empty.
    fn and(self, other: Self) -> Option<Self> {
        let both = Self { from: self.from.max(other.from), to: self.to.min(other.to) };
        (both.from < both.to).then_some(both)
    }

    fn contains(self, moment: i64) -> bool {
        (self.from..self.to).contains(&moment)
    }
}
