//! The partitioning guide's four architectures for news feeds: its query shapes and the writes, what
//! each takes in each architecture, and what the guide estimates.

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
const DAY: i64 = 24 * 60 * 60;
/// When an item is migrated, in seconds. The guide: 30 days.
const MIGRATION_AGE: i64 = 30 * DAY;
/// How long a marked item stays in the hot container, in seconds. The guide: a day.
const EXPIRY_OF_MIGRATED: i64 = DAY;

/// A range of publication, in seconds since 1970: from inclusive, to exclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Window {
    from: i64,
    to: i64,
}

impl Window {
    /// The days before a moment.
    fn days_before(now: i64, days: i64) -> Self {
        Self { from: now - days * DAY, to: now }
    }

    /// What two ranges have in common; `None` where that is nothing.
    fn and(self, other: Self) -> Option<Self> {
        let both = Self { from: self.from.max(other.from), to: self.to.min(other.to) };
        (both.from < both.to).then_some(both)
    }

    fn contains(self, moment: i64) -> bool {
        (self.from..self.to).contains(&moment)
    }
}
