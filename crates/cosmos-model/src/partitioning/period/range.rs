//! The periods of a range of time.

use std::ops::Range;

use time::OffsetDateTime;

use super::{Granularity, Period};

/// The periods that hold a moment of a range, oldest first; `rev` gives them newest first.
#[derive(Clone, Debug)]
pub struct Periods {
    /// The oldest and the newest of the remaining periods.
    rest: Option<(Period, Period)>,
}

impl Granularity {
    /// Returns the periods that hold a moment of `range`, oldest first; none when it is empty.
    ///
    /// The end of the range is exclusive: a range that ends with a month does not visit the next.
    pub fn periods(self, range: Range<OffsetDateTime>) -> Periods {
        if range.is_empty() {
            return Periods { rest: None };
        }
        let oldest = self.period(range.start);
        let end = self.period(range.end);
        let newest = match end.previous() {
            Some(previous) if range.end <= end.start() => previous,
            _ => end,
        };
        Periods { rest: Some((oldest, newest)) }
    }
}

impl Iterator for Periods {
    type Item = Period;

    fn next(&mut self) -> Option<Period> {
        let (oldest, newest) = self.rest?;
        self.rest = oldest.next().map(|second| (second, newest)).filter(|_| oldest < newest);
        Some(oldest)
    }
}

impl DoubleEndedIterator for Periods {
    fn next_back(&mut self) -> Option<Period> {
        let (oldest, newest) = self.rest?;
        self.rest = newest.previous().map(|last| (oldest, last)).filter(|_| oldest < newest);
        Some(newest)
    }
}
