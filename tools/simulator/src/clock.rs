//! A clock that runs faster than the real one, for an app whose items change with their age.

use std::time::Duration;

use time::OffsetDateTime;

/// A clock that has run `times` as fast since a moment.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    since: OffsetDateTime,
    times: u32,
}

impl Clock {
    /// Creates a clock that runs `times` as fast from now on.
    pub fn faster(times: u32) -> Self {
        // The settings have a resolution of a millisecond.
        let now = OffsetDateTime::now_utc();
        let since = now.replace_nanosecond(now.nanosecond() / 1_000_000 * 1_000_000);
        Self { since: since.unwrap_or(now), times }
    }

    /// Returns the current time.
    pub fn now(self) -> OffsetDateTime {
        self.since + (OffsetDateTime::now_utc() - self.since) * self.times
    }

    /// Returns the time that passes on it within a real duration.
    pub fn passes_in(self, duration: Duration) -> Duration {
        duration * self.times
    }

    /// Returns the moment at which it began, and its speed.
    pub fn parts(self) -> (OffsetDateTime, u32) {
        (self.since, self.times)
    }
}
