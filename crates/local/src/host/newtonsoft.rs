//! The effect of Newtonsoft's JSON reader and writer on documents of a trigger.
//!
//! With date parsing, a string that looks like an ISO 8601 time or is `/Date(…)/` becomes a `DateTime` and is
//! written again. Numbers with a fraction or an exponent go through `double`. Some documents make the reader throw.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::Value;
use serde_json::ser::{Formatter, Serializer};
use time::PrimitiveDateTime;
use time::format_description::BorrowedFormatItem;
use time::macros::{datetime, format_description};

const MAX_DEPTH: usize = 64;

/// An exception of the reader, thrown before the handler is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Exception {
    /// A date that .NET's `DateTime` cannot represent, such as `/Date(500000000000000)/`.
    #[error(
        "System.ArgumentOutOfRangeException: Ticks must be between DateTime.MinValue.Ticks and \
         DateTime.MaxValue.Ticks. (Parameter 'ticks')"
    )]
    DateOutOfRange,
    /// A page that is nested too deep, with any setting.
    #[error("Newtonsoft.Json.JsonReaderException: The reader's MaxDepth of 64 has been exceeded.")]
    TooDeep,
}

/// Returns the trigger's text of a page of documents, with or without date parsing
/// (`extensions.cosmosDB.serializerSettings.dateParseHandling` of `host.json`).
///
/// # Errors
/// If one of the documents makes the reader throw.
pub fn write_page(documents: &[Value], parses_dates: bool) -> Result<String, Exception> {
    let mut page = Value::from(documents);
    read(&mut page, parses_dates, 0)?;
    Ok(written(&page))
}

/// Reads a value inside `depth` arrays and objects, which rewrites its dates.
fn read(value: &mut Value, parses_dates: bool, depth: usize) -> Result<(), Exception> {
    if depth == MAX_DEPTH && (value.is_array() || value.is_object()) {
        return Err(Exception::TooDeep);
    }
    match value {
        Value::String(text) if parses_dates => {
            if let Some(date) = rewritten_date(text)? {
                *text = date;
            }
            Ok(())
        }
        Value::Array(items) => {
            items.iter_mut().try_for_each(|item| read(item, parses_dates, depth + 1))
        }
        Value::Object(fields) => {
            fields.values_mut().try_for_each(|field| read(field, parses_dates, depth + 1))
        }
        _ => Ok(()),
    }
}

/// Returns the JSON of a value as Newtonsoft writes it.
pub(super) fn written(value: &(impl Serialize + ?Sized)) -> String {
    let mut text = Vec::new();
    // Writing to memory cannot fail.
    let _ = value.serialize(&mut Serializer::with_formatter(&mut text, Newtonsoft));
    String::from_utf8(text).unwrap_or_default()
}

struct Newtonsoft;

impl Formatter for Newtonsoft {
    fn write_f64<W: Write + ?Sized>(&mut self, writer: &mut W, double: f64) -> io::Result<()> {
        writer.write_all(double_text(double).as_bytes())
    }

    /// Writes a text. Newtonsoft escapes three line ends for which JSON needs no escape.
    fn write_string_fragment<W: Write + ?Sized>(
        &mut self,
        writer: &mut W,
        text: &str,
    ) -> io::Result<()> {
        for piece in text.split_inclusive(['\u{85}', '\u{2028}', '\u{2029}']) {
            let plain = piece.trim_end_matches(['\u{85}', '\u{2028}', '\u{2029}']);
            writer.write_all(plain.as_bytes())?;
            if let Some(end) = piece[plain.len()..].chars().next() {
                write!(writer, "\\u{:04x}", u32::from(end))?;
            }
        }
        Ok(())
    }
}

/// Returns .NET's shortest text that reads back as the same double, with a decimal point or an
/// exponent: `1E+20`, `1E-05`, `2.0`.
fn double_text(double: f64) -> String {
    let scientific = format!("{double:E}");
    let (mantissa, exponent) = scientific.split_once('E').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or_default();
    // From 1E+15 up and below 1E-04 .NET writes an exponent of at least two digits.
    if !(-4..15).contains(&exponent) {
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{mantissa}E{sign}{:02}", exponent.abs());
    }
    let plain = double.to_string();
    if plain.contains('.') { plain } else { plain + ".0" }
}

// Dates are ticks of 100 ns since the year 1, as in .NET's `DateTime`.

const TICKS_PER_MILLISECOND: i64 = 10_000;
const TICKS_PER_SECOND: i64 = 1_000 * TICKS_PER_MILLISECOND;
const TICKS_PER_DAY: i64 = 24 * 60 * 60 * TICKS_PER_SECOND;
/// Tick 0 of .NET's `DateTime`.
const FIRST_MOMENT: PrimitiveDateTime = datetime!(0001-01-01 0:00);
const SECONDS: &[BorrowedFormatItem<'_>] =
    format_description!("[year]-[month]-[day]T[hour]:[minute]:[second]");
/// 1970-01-01.
const UNIX_EPOCH_TICKS: i64 = 719_162 * TICKS_PER_DAY;
/// 9999-12-31T23:59:59.9999999.
const MAX_TICKS: i64 = 3_652_059 * TICKS_PER_DAY - 1;

/// Returns the text that Newtonsoft writes for a string that it takes for a date; `None` if it takes it
/// for a string.
///
/// # Errors
/// [`Exception::DateOutOfRange`] for a date that .NET cannot represent.
pub fn rewritten_date(text: &str) -> Result<Option<String>, Exception> {
    let parsed = if text.starts_with('/') { microsoft(text) } else { iso(text) };
    match parsed {
        None => Ok(None),
        Some((ticks @ 0..=MAX_TICKS, zone)) => Ok(Some(format_ticks(ticks, zone))),
        Some(_) => Err(Exception::DateOutOfRange),
    }
}

/// Ticks, and the zone of their text.
type Parsed = (i64, &'static str);

const UNSPECIFIED: &str = "";
const UTC: &str = "Z";
/// The host's local time is UTC, as in Azure.
const LOCAL: &str = "+00:00";

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
    Some((ticks, zone))
}

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
    let (seconds, rest) = text.split_at(19);
    let (fraction, zone) = match rest.strip_prefix('.') {
        None => (0, rest),
        Some(rest) => {
            let n_digits = rest.bytes().take(7).take_while(u8::is_ascii_digit).count();
            let (digits, zone) = rest.split_at(n_digits);
            let digits = format!("{digits:0<7}");
            (integer(&digits).filter(|_| n_digits > 0)?, zone)
        }
    };
    // Midnight may be the 24th hour of the day before.
    let midnight = seconds.strip_suffix("T24:00:00").filter(|_| fraction == 0);
    let seconds = midnight.map_or(seconds.to_owned(), |date| format!("{date}T00:00:00"));
    let time = PrimitiveDateTime::parse(&seconds, SECONDS).ok().filter(|time| time.year() > 0)?;
    let days = i64::from(midnight.is_some());
    let since = (time - FIRST_MOMENT).whole_seconds();
    let ticks = days * TICKS_PER_DAY + since * TICKS_PER_SECOND + fraction;
    let (zone, offset) = read_zone(zone)?;
    // A date that the offset moves out of range stops at the end of the range; a midnight that is
    // out of range by itself does not.
    let moved = if ticks > MAX_TICKS { ticks } else { (ticks + offset).clamp(0, MAX_TICKS) };
    Some((moved, zone))
}

/// Reads the zone at the end of a text, with the ticks to add for UTC. The parser is lenient: it
/// accepts two digits for minutes without any sign before them, and then the zone is unspecified.
fn read_zone(text: &str) -> Option<(&'static str, i64)> {
    if let "Z" | "z" = text {
        return Some((UTC, 0));
    }
    let two = |text: &str| integer(text).filter(|number| text.len() == 2 && *number >= 0);
    let (sign, hours, rest) = match text.bytes().next() {
        Some(b'+') => (-1, two(text.get(1..3)?)?, &text[3..]),
        Some(b'-') => (1, two(text.get(1..3)?)?, &text[3..]),
        _ => (0, 0, text),
    };
    let minutes = match rest.strip_prefix(':').unwrap_or(rest) {
        "" => 0,
        minutes => two(minutes)?,
    };
    let zone = if sign == 0 { UNSPECIFIED } else { LOCAL };
    Some((zone, sign * (hours * 60 + minutes) * 60 * TICKS_PER_SECOND))
}

fn format_ticks(ticks: i64, zone: &str) -> String {
    let time = FIRST_MOMENT + time::Duration::seconds(ticks / TICKS_PER_SECOND);
    let mut text = time.format(SECONDS).unwrap_or_default();
    let fraction = ticks % TICKS_PER_SECOND;
    if fraction > 0 {
        text.push('.');
        text.push_str(format!("{fraction:07}").trim_end_matches('0'));
    }
    text + zone
}
