//! Time keys: the day, ISO week, month, quarter or year of UTC that holds a moment.
//!
//! The week that holds a year's first Thursday is its first, so each day is in exactly one week, also at the new year. In
//! the guide a week ends with the year.
//!
//! Years are −9999 to 9999. The last period of each granularity holds the last representable moment. An [`OffsetDateTime`]
//! that its offset puts beyond the ends belongs to the first or the last period.

use std::{fmt, ops::Range, str::FromStr};

use thiserror::Error;
use time::{
    Date, Month, OffsetDateTime, PrimitiveDateTime, UtcOffset, Weekday, ext::NumericalDuration,
    macros::format_description,
};

#[cfg(test)]
mod tests;

/// The length of a [`Period`].
///
/// `Display` writes its name, such as `month`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Granularity {
    /// A calendar day, such as `2026-11-22`.
    Day,
    /// An ISO week, Monday to Sunday, such as `2026-W47`. Its year is that of its Thursday.
    Week,
    /// A calendar month, such as `2026-11`.
    Month,
    /// A calendar quarter, such as `2026-Q4`.
    Quarter,
    /// A calendar year, such as `2026`.
    Year,
}

/// A day, ISO week, month, quarter or year of UTC.
///
/// `Display` writes its key, and [`FromStr`] parses the key. Keys of one granularity sort as their
/// periods do, from the year 0 on; an earlier year has a minus sign before its four digits.
/// Periods are ordered by their start, then from short to long.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Period {
    first_day: Date,
    granularity: Granularity,
}

/// The periods that hold a moment of a range, oldest first; `rev` gives them newest first.
#[derive(Clone, Debug)]
pub struct Periods {
    /// The oldest and the newest of the remaining periods.
    rest: Option<(Period, Period)>,
}

/// The error of a text that is the key of no [`Period`].
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "not a period: write a day as 2026-11-22, a week as 2026-W47, a month as 2026-11, a quarter as 2026-Q4 or a year as 2026"
)]
pub struct ParsePeriodError;

impl Granularity {
    /// All granularities, from short to long.
    pub const ALL: [Self; 5] = [Self::Day, Self::Week, Self::Month, Self::Quarter, Self::Year];

    /// Returns the granularity with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|granularity| granularity.name() == name)
    }

    fn name(self) -> &'static str {
        match self {
            Self::Day => "day",
            Self::Week => "week",
            Self::Month => "month",
            Self::Quarter => "quarter",
            Self::Year => "year",
        }
    }

    /// Returns the days of the longest period.
    pub fn most_days(self) -> u16 {
        match self {
            Self::Day => 1,
            Self::Week => 7,
            Self::Month => 31,
            Self::Quarter => 92,
            Self::Year => 366,
        }
    }

    /// Returns the period that holds `at`.
    pub fn period(self, at: OffsetDateTime) -> Period {
        let date = match at.checked_to_offset(UtcOffset::UTC) {
            Some(utc) => utc.date(),
            None if at.year() < 0 => Date::MIN,
            None => Date::MAX,
        };
        self.period_of(date)
    }

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

    fn period_of(self, date: Date) -> Period {
        let first_of = |month| Date::from_calendar_date(date.year(), month, 1);
        let first_day = match self {
            Self::Day => Ok(date),
            Self::Week => {
                let (year, week, _) = date.to_iso_week_date();
                Date::from_iso_week_date(year, week, Weekday::Monday)
            }
            Self::Month => first_of(date.month()),
            Self::Quarter => first_of(date.month().nth_prev((u8::from(date.month()) - 1) % 3)),
            Self::Year => first_of(Month::January),
        };
        // Each first day is representable: the first year begins on a Monday.
        Period { first_day: first_day.unwrap_or(Date::MIN), granularity: self }
    }
}

impl Period {
    /// Returns the length of this period.
    pub fn granularity(self) -> Granularity {
        self.granularity
    }

    /// Returns the first moment of this period.
    pub fn start(self) -> OffsetDateTime {
        self.first_day.midnight().assume_utc()
    }

    /// Returns the moment at which this period ends, which is the start of the next.
    ///
    /// For the last period this is the last representable moment, which the last period holds.
    pub fn end(self) -> OffsetDateTime {
        self.next().map_or(PrimitiveDateTime::MAX.assume_utc(), Self::start)
    }

    /// Returns the period of the same length that follows, or `None` after the last of the year 9999.
    pub fn next(self) -> Option<Self> {
        // Beyond this period, then back to the first day of the period found.
        let days = i64::from(self.granularity.most_days());
        self.first_day.checked_add(days.days()).map(|day| self.granularity.period_of(day))
    }

    /// Returns the period of the same length before this, or `None` before the first of the year −9999.
    pub fn previous(self) -> Option<Self> {
        self.first_day.previous_day().map(|day| self.granularity.period_of(day))
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

impl fmt::Display for Granularity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Display for Period {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let day = self.first_day;
        let month = u8::from(day.month());
        let (iso_year, week, _) = day.to_iso_week_date();
        let is_week = self.granularity == Granularity::Week;
        let year = if is_week { iso_year } else { day.year() };
        let sign = if year < 0 { "-" } else { "" };
        write!(f, "{sign}{:04}", year.unsigned_abs())?;
        match self.granularity {
            Granularity::Day => write!(f, "-{month:02}-{:02}", day.day()),
            Granularity::Week => write!(f, "-W{week:02}"),
            Granularity::Month => write!(f, "-{month:02}"),
            Granularity::Quarter => write!(f, "-Q{}", month.div_ceil(3)),
            Granularity::Year => Ok(()),
        }
    }
}

impl FromStr for Period {
    type Err = ParsePeriodError;

    /// Parses the key of a period, in exactly the form that `Display` writes.
    fn from_str(key: &str) -> Result<Self, ParsePeriodError> {
        let date = |text: &str| Date::parse(text, format_description!("[year]-[month]-[day]")).ok();
        let monday = || {
            let format = format_description!(
                "[year base:iso_week]-W[week_number]-[weekday repr:monday one_indexed:true]"
            );
            Date::parse(&format!("{key}-1"), format).ok()
        };
        let quarter = || {
            let (year, quarter) = key.split_once("-Q")?;
            let first_month = quarter.parse::<u8>().ok()?.checked_mul(3)?.checked_sub(2)?;
            date(&format!("{year}-{first_month:02}-01"))
        };
        let period = |granularity: Granularity| {
            let first_day = match granularity {
                Granularity::Day => date(key),
                Granularity::Week => monday(),
                Granularity::Month => date(&format!("{key}-01")),
                Granularity::Quarter => quarter(),
                Granularity::Year => date(&format!("{key}-01-01")),
            };
            // One key for each period: no `+2026`, no `2026-Q04`.
            let period = Period { first_day: first_day?, granularity };
            Some(period).filter(|period| period.to_string() == key)
        };
        Granularity::ALL.into_iter().find_map(period).ok_or(ParsePeriodError)
    }
}
