//! Newtonsoft's parsing of dates: the strings that it takes for one, and their new texts.
//!
//! All times are ticks of 100 ns since the year 1, as in .NET's `DateTime`.

use time::{Date, Month};

use super::Exception;

const TICKS_PER_MILLISECOND: i64 = 10_000;
const TICKS_PER_SECOND: i64 = 1_000 * TICKS_PER_MILLISECOND;
const TICKS_PER_DAY: i64 = 24 * 60 * 60 * TICKS_PER_SECOND;
/// Day 0 of .NET's `DateTime`.
const FIRST_DAY: Date = time::macros::date!(0001 - 01 - 01);
/// 1970-01-01.
const UNIX_EPOCH_TICKS: i64 = 719_162 * TICKS_PER_DAY;
/// 9999-12-31T23:59:59.9999999.
const MAX_TICKS: i64 = 3_652_059 * TICKS_PER_DAY - 1;

/// Returns the text that Newtonsoft writes for a string that it takes for a date; `None` if it takes it
/// for a string.
///
/// # Errors
///
/// [`Exception::DateOutOfRange`] for a date that .NET cannot represent.
pub fn rewritten_date(text: &str) -> Result<Option<String>, Exception> {
    if text.starts_with('/') {
        return microsoft(text).map(in_range).transpose();
    }
    iso(text).map(in_range).transpose()
}

/// A parsed date, whose ticks may be out of range.
struct Parsed {
    ticks: i64,
    zone: &'static str,
}

const UNSPECIFIED: &str = "";
const UTC: &str = "Z";
/// The host's local time is UTC, as in Azure.
const LOCAL: &str = "+00:00";

fn in_range(Parsed { ticks, zone }: Parsed) -> Result<String, Exception> {
    if (0..=MAX_TICKS).contains(&ticks) {
        Ok(format_ticks(ticks, zone))
    } else {
        Err(Exception::DateOutOfRange)
    }
}

/// Parses `/Date(<milliseconds>)/`, `/Date(<milliseconds>+hhmm)/`: an offset only makes the time local.
fn microsoft(text: &str) -> Option<Parsed> {
    // Newtonsoft searches for a sign from the second character of the number on.
    let inner =
        text.strip_prefix("/Date(")?.strip_suffix(")/").filter(|inner| !inner.is_empty())?;
    let sign = |wanted: char| {
        inner.char_indices().skip(1).find(|(_, char)| *char == wanted).map(|(index, _)| index)
    };
    let (number, zone) = match sign('+').or_else(|| sign('-')) {
        None => (inner, UTC),
        Some(index) => {
            // Two digits must follow; the rest is ignored.
            integer(inner.get(index + 1..index + 3)?)?;
            (&inner[..index], LOCAL)
        }
    };
    // .NET's arithmetic wraps around here.
    let ticks = integer(number)?.wrapping_mul(TICKS_PER_MILLISECOND).wrapping_add(UNIX_EPOCH_TICKS);
    Some(Parsed { ticks, zone })
}

/// Parses digits, optionally after a minus.
fn integer(text: &str) -> Option<i64> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let all_digits = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    // More than 19 are too many, even zeros.
    (all_digits && digits.len() <= 19).then(|| text.parse().ok()).flatten()
}

/// Parses `yyyy-MM-ddTHH:mm:ss`, up to seven fraction digits, and a lenient zone.
fn iso(text: &str) -> Option<Parsed> {
    if !text.is_ascii() || !(19..=40).contains(&text.len()) {
        return None;
    }
    let mut rest = DateCursor(text.as_bytes());
    let year = rest.number(4).filter(|year| *year > 0)?;
    rest.byte(b'-')?;
    let month = rest.number(2)?;
    rest.byte(b'-')?;
    let day = rest.number(2)?;
    rest.byte(b'T')?;
    let hour = rest.number(2).filter(|hour| *hour <= 24)?;
    rest.byte(b':')?;
    let minute = rest.number(2).filter(|minute| *minute < 60)?;
    rest.byte(b':')?;
    let second = rest.number(2).filter(|second| *second < 60)?;
    let fraction = if rest.byte(b'.').is_some() { rest.fraction()? } else { 0 };
    // Midnight may be the 24th hour of the day before.
    if hour == 24 && (minute, second, fraction) != (0, 0, 0) {
        return None;
    }
    let date = Date::from_calendar_date(
        i32::try_from(year).ok()?,
        Month::try_from(u8::try_from(month).ok()?).ok()?,
        u8::try_from(day).ok()?,
    );
    let days = i64::from(date.ok()?.to_julian_day() - FIRST_DAY.to_julian_day());
    let seconds = (hour * 60 + minute) * 60 + second;
    let ticks = days * TICKS_PER_DAY + seconds * TICKS_PER_SECOND + fraction;
    let (zone, offset) = rest.zone()?;
    // A date that the offset moves out of range stops at the end of the range; a midnight that is
    // out of range by itself does not.
    let moved = if ticks > MAX_TICKS { ticks } else { (ticks + offset).clamp(0, MAX_TICKS) };
    Some(Parsed { ticks: moved, zone })
}

/// The unread part of a text.
struct DateCursor<'a>(&'a [u8]);

impl DateCursor<'_> {
    fn byte(&mut self, wanted: u8) -> Option<()> {
        self.0 = self.0.strip_prefix(&[wanted])?;
        Some(())
    }

    /// Reads a number of exactly `digits` digits.
    fn number(&mut self, digits: usize) -> Option<i64> {
        let (number, rest) = self.0.split_at_checked(digits)?;
        let number = integer(std::str::from_utf8(number).ok()?).filter(|_| number[0] != b'-')?;
        self.0 = rest;
        Some(number)
    }

    /// Reads one to seven fraction digits, in ticks.
    fn fraction(&mut self) -> Option<i64> {
        let count = self.0.iter().take(7).take_while(|byte| byte.is_ascii_digit()).count();
        let missing = u32::try_from(7 - count).ok()?;
        Some(self.number(count)? * 10_i64.pow(missing))
    }

    /// Reads the zone to the end of the text, with the ticks to add for UTC. The parser is lenient: it
    /// accepts two digits for minutes without any sign before them, and then the zone is unspecified.
    fn zone(mut self) -> Option<(&'static str, i64)> {
        if self.0.is_empty() {
            return Some((UNSPECIFIED, 0));
        }
        if let b"Z" | b"z" = self.0 {
            return Some((UTC, 0));
        }
        let mut sign = 0;
        let mut hours = 0;
        let mut minutes = 0;
        if let [first @ (b'+' | b'-'), rest @ ..] = self.0 {
            let mut after = DateCursor(rest);
            hours = after.number(2)?;
            sign = if *first == b'+' { -1 } else { 1 };
            self = after;
        }
        if !self.0.is_empty() {
            let _ = self.byte(b':');
            minutes = if self.0.is_empty() { 0 } else { self.number(2)? };
        }
        let offset = sign * (hours * 60 + minutes) * 60 * TICKS_PER_SECOND;
        let zone = if sign == 0 { UNSPECIFIED } else { LOCAL };
        self.0.is_empty().then_some((zone, offset))
    }
}

fn format_ticks(ticks: i64, zone: &str) -> String {
    let days = i32::try_from(ticks / TICKS_PER_DAY).unwrap_or_default();
    let date = Date::from_julian_day(FIRST_DAY.to_julian_day() + days);
    let date = date.unwrap_or(FIRST_DAY);
    let seconds = ticks / TICKS_PER_SECOND;
    let fraction = ticks % TICKS_PER_SECOND;
    let mut text = format!(
        "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}",
        date.year(),
        u8::from(date.month()),
        date.day(),
        seconds / 3_600 % 24,
        seconds / 60 % 60,
        seconds % 60,
    );
    if fraction > 0 {
        text.push('.');
        text.push_str(format!("{fraction:07}").trim_end_matches('0'));
    }
    text + zone
}
