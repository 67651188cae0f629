//! NCRONTAB, the cron dialect of timer triggers: six fields, seconds first, in UTC.
//!
//! It is written here since cron crates accept more than NCRONTAB does (`L`, `W`, `#`, nicknames) and
//! join day-of-month and day-of-week by "or"; NCRONTAB joins them by "and". A schedule that runs here
//! must run in Azure.

use time::{Date, Duration, OffsetDateTime, Time};

/// A parsed schedule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Schedule {
    text: String,
    /// The numbers of each field, as bits: seconds, minutes, hours, days, months, weekdays.
    fields: [u64; 6],
}

const MONTHS: [&str; 12] =
    ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const WEEKDAYS: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];
/// A leap day that falls on a given weekday comes after at most 40 years (over 2100).
const SEARCHED_DAYS: u32 = 41 * 366;

/// What the fields hold, with their lowest and highest numbers and names.
const FIELDS: [(&str, u32, u32, &[&str]); 6] = [
    ("seconds", 0, 59, &[]),
    ("minutes", 0, 59, &[]),
    ("hours", 0, 23, &[]),
    ("days", 1, 31, &[]),
    ("months", 1, 12, &MONTHS),
    ("weekdays", 0, 6, &WEEKDAYS),
];

impl Schedule {
    /// Reads `second minute hour day month weekday`; five fields mean second 0, as in the host.
    ///
    /// # Errors
    /// The fault, as the end of a sentence that begins with the field's name.
    pub fn parse(text: &str) -> Result<Self, String> {
        if text.contains(':') {
            return Err(format!(
                "is {text:?}, a time span: only the Dedicated plan runs those, so write an \
                 NCRONTAB expression such as \"0 */5 * * * *\""
            ));
        }
        let written: Vec<&str> = text.split_whitespace().collect();
        let all =
            if written.len() == 5 { [&["0"], &written[..]].concat() } else { written.clone() };
        if all.len() != FIELDS.len() {
            let n_fields = written.len();
            return Err(format!(
                "is {text:?} with {n_fields} fields: NCRONTAB has six, seconds first"
            ));
        }
        let mut fields = [0; 6];
        for ((bits, text), (what, low, high, names)) in fields.iter_mut().zip(all).zip(FIELDS) {
            *bits = field(text, low, high, names).ok_or_else(|| {
                format!("has {text:?} for the {what}, which go from {low} to {high}")
            })?;
        }
        Ok(Self { text: written.join(" "), fields })
    }

    /// Returns the next time after `after`, in UTC; `None` if there is none, as for 30 February.
    pub fn next(&self, after: OffsetDateTime) -> Option<OffsetDateTime> {
        let after = after.to_offset(time::UtcOffset::UTC);
        let start = after.replace_nanosecond(0).ok()?.checked_add(Duration::SECOND)?;
        let mut date = start.date();
        let mut earliest = start.time();
        for _ in 0..SEARCHED_DAYS {
            if self.has_day(date)
                && let Some(time) = self.time_from(earliest)
            {
                return Some(date.with_time(time).assume_utc());
            }
            date = date.next_day()?;
            earliest = Time::MIDNIGHT;
        }
        None
    }

    /// Returns the expression as it was written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    fn has_day(&self, date: Date) -> bool {
        let weekday = date.weekday().number_days_from_sunday();
        self.has(3, date.day()) && self.has(4, date.month().into()) && self.has(5, weekday)
    }

    fn time_from(&self, earliest: Time) -> Option<Time> {
        let has = |time: &Time| {
            self.has(2, time.hour()) && self.has(1, time.minute()) && self.has(0, time.second())
        };
        let first = (earliest - Time::MIDNIGHT).whole_seconds();
        let mut times =
            (first..24 * 60 * 60).map(|second| Time::MIDNIGHT + Duration::seconds(second));
        times.find(has)
    }

    fn has(&self, field: usize, number: u8) -> bool {
        self.fields[field] & (1 << number) != 0
    }
}

/// Reads a list of `*`, `n`, `a-b`, each with `/step`, as a set of bits.
fn field(text: &str, low: u32, high: u32, names: &[&str]) -> Option<u64> {
    text.split(',').try_fold(0, |set, part| Some(set | span(part, low, high, names)?))
}

fn span(part: &str, low: u32, high: u32, names: &[&str]) -> Option<u64> {
    let (range, step) = match part.split_once('/') {
        Some((range, step)) => (range, Some(digits(step).filter(|step| *step > 0)?)),
        None => (part, None),
    };
    let (first, last) = match range.split_once('-') {
        _ if range == "*" => (low, high),
        Some((first, last)) => (value(first, low, names)?, value(last, low, names)?),
        // `5/15` means from 5 to the end in steps of 15.
        None => {
            let first = value(range, low, names)?;
            (first, if step.is_some() { high } else { first })
        }
    };
    if first < low || last > high || first > last {
        return None;
    }
    let step = usize::try_from(step.unwrap_or(1)).ok()?;
    Some((first..=last).step_by(step).fold(0, |set, number| set | 1 << number))
}

fn value(text: &str, low: u32, names: &[&str]) -> Option<u32> {
    // NCrontab accepts any name that begins with the three characters: `Monday`, `JAN`.
    let short: String = text.chars().take(3).flat_map(char::to_lowercase).collect();
    match names.iter().position(|name| *name == short) {
        Some(index) => u32::try_from(index).ok().map(|index| index + low),
        None => digits(text),
    }
}

fn digits(text: &str) -> Option<u32> {
    (!text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()))
        .then(|| text.parse().ok())
        .flatten()
}
