//! Functions of the time. A time is a count of ticks, of 100 nanoseconds each, since 1970.

use time::{
    Date, Month, OffsetDateTime, Time, format_description::well_known::Rfc3339,
    macros::format_description,
};

use crate::json::Json;

use super::{Args, number};

const SECOND: i64 = 10_000_000;
const DAY: i64 = 86_400 * SECOND;

/// A part of a date and time.
#[derive(Clone, Copy, PartialEq)]
enum Part {
    Year,
    Month,
    /// From days on: so many ticks, or for nanoseconds a part of one.
    Ticks(i64),
    Nanosecond,
}

fn part(args: &Args<'_>, n: usize) -> Option<Part> {
    Some(match args.text(n)?.to_ascii_lowercase().as_str() {
        "year" | "yyyy" | "yy" => Part::Year,
        "month" | "mm" | "m" => Part::Month,
        "day" | "dd" | "d" => Part::Ticks(DAY),
        "hour" | "hh" => Part::Ticks(3600 * SECOND),
        "minute" | "mi" | "n" => Part::Ticks(60 * SECOND),
        "second" | "ss" | "s" => Part::Ticks(SECOND),
        "millisecond" | "ms" => Part::Ticks(SECOND / 1000),
        "microsecond" | "mcs" => Part::Ticks(10),
        "nanosecond" | "ns" => Part::Nanosecond,
        _ => return None,
    })
}

fn date_of(ticks: i64) -> Option<OffsetDateTime> {
    OffsetDateTime::from_unix_timestamp_nanos(i128::from(ticks) * 100).ok()
}

fn ticks_of(date: Date, time: Time) -> Option<i64> {
    i64::try_from(date.with_time(time).assume_utc().unix_timestamp_nanos() / 100).ok()
}

/// Reads `YYYY-MM-DDThh:mm:ss.fffffffZ`; the time, its fraction and the `Z` may be missing.
fn parse(text: &str) -> Option<i64> {
    let text = text.strip_suffix('Z').unwrap_or(text);
    let (date, time) = text.split_once(['T', ' ']).unwrap_or((text, "00:00:00"));
    let date = OffsetDateTime::parse(&format!("{date}T{time}Z"), &Rfc3339).ok()?;
    i64::try_from(date.unix_timestamp_nanos() / 100).ok().filter(|_| date.year() > 0)
}

fn from_parts(parts: [i64; 7]) -> Option<i64> {
    let [year, month, day, hour, minute, second, ticks] = parts;
    let month = Month::try_from(u8::try_from(month).ok()?).ok()?;
    let date =
        Date::from_calendar_date(i32::try_from(year).ok()?, month, day.try_into().ok()?).ok()?;
    let time =
        Time::from_hms(hour.try_into().ok()?, minute.try_into().ok()?, second.try_into().ok()?);
    let ticks = Some(ticks).filter(|ticks| (0..SECOND).contains(ticks))?;
    // The service knows the years from 1 to 9999.
    (1..=9999).contains(&year).then(|| ticks_of(date, time.ok()?)?.checked_add(ticks))?
}

/// Writes a time in the format of the service.
fn write(ticks: i64) -> Option<Json> {
    let format =
        format_description!("[year]-[month]-[day]T[hour]:[minute]:[second].[subsecond digits:7]Z");
    let date = date_of(ticks).filter(|date| (1..=9999).contains(&date.year()))?;
    date.format(format).ok().map(Json::text)
}

/// `GETCURRENTDATETIME` and its like, of now or of the begin of the query.
pub(super) fn current(ticks: i64, form: &str) -> Option<Json> {
    match form {
        "ticks" => Some(number(ticks)),
        "milliseconds" => Some(number(ticks.div_euclid(10_000))),
        _ => write(ticks),
    }
}

/// `NOW` and `AGO`: now, and so much later or earlier.
pub(super) fn now(args: &Args<'_>, sign: i64) -> Option<Json> {
    match args.len() {
        0 => write(super::now()),
        1 => None,
        _ => write(later(super::now(), part(args, 0)?, args.whole(1)?.checked_mul(sign)?)?),
    }
}

/// Returns the time that is so many parts later. A day that a month does not have becomes its last one.
fn later(ticks: i64, part: Part, many: i64) -> Option<i64> {
    let months = match part {
        Part::Ticks(each) => return ticks.checked_add(each.checked_mul(many)?),
        Part::Nanosecond => return ticks.checked_add(many / 100),
        Part::Year => many.checked_mul(12)?,
        Part::Month => many,
    };
    let date = date_of(ticks)?;
    let month = i64::from(u8::from(date.month())) - 1;
    let month = (i64::from(date.year()) * 12 + month).checked_add(months)?;
    let year = i32::try_from(month.div_euclid(12)).ok()?;
    let month = Month::try_from(u8::try_from(month.rem_euclid(12) + 1).ok()?).ok()?;
    let date_then =
        Date::from_calendar_date(year, month, date.day().min(month.length(year))).ok()?;
    ticks_of(date_then, date.time())
}

pub(super) fn add(args: &Args<'_>) -> Option<Json> {
    write(later(parse(args.text(2)?)?, part(args, 0)?, args.whole(1)?)?)
}

/// `DATETIMEDIFF`: the number of begins of a part that lie between two times.
pub(super) fn diff(args: &Args<'_>) -> Option<Json> {
    let (from, to) = (parse(args.text(1)?)?, parse(args.text(2)?)?);
    let count = |ticks: i64| {
        Some(match part(args, 0)? {
            Part::Year => i64::from(date_of(ticks)?.year()),
            Part::Month => {
                let date = date_of(ticks)?;
                i64::from(date.year()) * 12 + i64::from(u8::from(date.month()))
            }
            Part::Ticks(each) => ticks.div_euclid(each),
            Part::Nanosecond => ticks.checked_mul(100)?,
        })
    };
    count(to)?.checked_sub(count(from)?).map(number)
}

pub(super) fn part_of(args: &Args<'_>) -> Option<Json> {
    let date = date_of(parse(args.text(1)?)?)?;
    Some(number(match part(args, 0)? {
        Part::Year => date.year().into(),
        Part::Month => u8::from(date.month()).into(),
        Part::Ticks(DAY) => date.day().into(),
        Part::Nanosecond => date.nanosecond().into(),
        // Below a second, a part counts all of its fraction.
        Part::Ticks(each) if each < SECOND => i64::from(date.nanosecond()) / 100 / each,
        Part::Ticks(each) => {
            let second = parse(args.text(1)?)?.rem_euclid(DAY);
            second / each % if each == 3600 * SECOND { 24 } else { 60 }
        }
    }))
}

/// `DATETIMEBIN`: the begin of the bin of a time, from days down.
pub(super) fn bin(args: &Args<'_>) -> Option<Json> {
    let ticks = parse(args.text(0)?)?;
    let size = if args.len() > 2 { args.whole(2)? } else { 1 };
    let start = if args.len() > 3 { parse(args.text(3)?)? } else { 0 };
    let each = match part(args, 1)? {
        Part::Ticks(each) => each.checked_mul(size)?,
        Part::Nanosecond => size / 100,
        Part::Year | Part::Month => return None,
    };
    (size > 0).then_some(())?;
    let into_bin = ticks.checked_sub(start)?.rem_euclid(each.max(1));
    write(ticks.checked_sub(into_bin)?)
}

pub(super) fn from(args: &Args<'_>) -> Option<Json> {
    let mut parts = [0; 7];
    for (n, part) in parts.iter_mut().enumerate().take(args.len()) {
        *part = args.whole(n)?;
    }
    write(from_parts(parts)?)
}

pub(super) fn to_ticks(args: &Args<'_>, each: i64) -> Option<Json> {
    Some(number(parse(args.text(0)?)?.div_euclid(each)))
}

pub(super) fn of_ticks(args: &Args<'_>, each: i64) -> Option<Json> {
    write(args.whole(0)?.checked_mul(each)?)
}

/// `DATETIMEFORMAT`: `yyyy`, `MM`, `dd`, `HH`, `hh`, `mm`, `ss`, `fff`, `FFF`, `tt`; a backslash before what stands for
/// itself.
pub(super) fn format(args: &Args<'_>) -> Option<Json> {
    let date = date_of(parse(args.text(0)?)?)?;
    let (hour, minute, second) = date.to_hms();
    let fraction = format!("{:07}", date.nanosecond() / 100);
    let mut written = String::new();
    let mut rest = args.text(1)?;
    while let Some(c) = rest.chars().next() {
        let run = rest.chars().take(7).take_while(|other| *other == c).count();
        let two = |number: u8| (format!("{number:0width$}", width = run.min(2)), run.min(2));
        let (part, length) = match c {
            'y' if run < 3 => (format!("{:0run$}", date.year() % 100), run),
            'y' => (format!("{:0width$}", date.year(), width = run.min(4)), run.min(4)),
            'M' => two(date.month().into()),
            'd' => two(date.day()),
            'H' => two(hour),
            'h' => two((hour + 11) % 12 + 1),
            'm' => two(minute),
            's' => two(second),
            'f' => (fraction.get(..run)?.to_owned(), run),
            'F' => (fraction.get(..run)?.trim_end_matches('0').to_owned(), run),
            't' => (if hour < 12 { "AM" } else { "PM" }.get(..run.min(2))?.to_owned(), run),
            '\\' => {
                let literal = rest.chars().nth(1)?;
                (literal.into(), 1 + literal.len_utf8())
            }
            c => (c.into(), c.len_utf8()),
        };
        written.push_str(&part);
        rest = rest.get(length..)?;
    }
    Some(Json::text(written))
}
