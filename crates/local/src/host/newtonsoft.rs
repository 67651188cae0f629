//! What Newtonsoft's JSON reader and writer do to a document on its way through the trigger.
//!
//! A string of 19 to 40 characters that looks like an ISO 8601 time becomes a `DateTime` and is
//! written anew: fraction digits lose their trailing zeros, and an offset is converted to the
//! host's local time, which is taken to be UTC here as it is in Azure. Numbers with a fraction or
//! an exponent go through `double`. Its `/Date(…)/` strings are not modelled.

use serde_json::Value;
use time::{Date, Duration, Month, OffsetDateTime, Time, UtcOffset};

/// The text of a value as the trigger writes it.
pub fn write(value: &Value) -> String {
    let mut text = String::new();
    append(&mut text, value);
    text
}

/// The new text of a string that Newtonsoft takes for a time; `None` when it leaves it alone.
pub fn rewritten_time(text: &str) -> Option<String> {
    let ascii = text.is_ascii() && (19..=40).contains(&text.len());
    if !ascii || text.as_bytes()[10] != b'T' {
        return None;
    }
    let punctuated = [(4, b'-'), (7, b'-'), (13, b':'), (16, b':')]
        .iter()
        .all(|(index, byte)| text.as_bytes()[*index] == *byte);
    if !punctuated {
        return None;
    }
    let year = digits(&text[0..4])?;
    let month = Month::try_from(u8::try_from(digits(&text[5..7])?).ok()?).ok()?;
    let date = Date::from_calendar_date(i32::try_from(year).ok()?, month, small(&text[8..10])?)
        .ok()
        .filter(|_| year > 0)?;
    let time = Time::from_hms(small(&text[11..13])?, small(&text[14..16])?, small(&text[17..19])?);
    let (ticks, zone) = fraction(&text[19..])?;
    let instant = date.with_time(time.ok()?).assume_utc() + Duration::nanoseconds(ticks * 100);
    Some(match Zone::parse(zone)? {
        Zone::Unspecified => format_ticks(instant, ""),
        Zone::Utc => format_ticks(instant, "Z"),
        Zone::Local(offset) => {
            let utc = instant.replace_offset(offset).checked_to_offset(UtcOffset::UTC)?;
            format_ticks(utc, "+00:00")
        }
    })
}

enum Zone {
    Unspecified,
    Utc,
    Local(UtcOffset),
}

impl Zone {
    fn parse(text: &str) -> Option<Self> {
        match text {
            "" => return Some(Self::Unspecified),
            "Z" | "z" => return Some(Self::Utc),
            _ => {}
        }
        let sign = match text.as_bytes()[0] {
            b'+' => 1,
            b'-' => -1,
            _ => return None,
        };
        let (hours, minutes) = match text.len() {
            3 => (&text[1..3], "0"),
            5 => (&text[1..3], &text[3..5]),
            6 if text.as_bytes()[3] == b':' => (&text[1..3], &text[4..6]),
            _ => return None,
        };
        let offset = UtcOffset::from_hms(
            sign * i8::try_from(digits(hours)?).ok()?,
            sign * i8::try_from(digits(minutes)?).ok()?,
            0,
        );
        offset.ok().map(Self::Local)
    }
}

/// The fraction of a second in ticks of 100 ns, and what follows it. More than seven digits do not
/// parse, so such a string stays as it is.
fn fraction(text: &str) -> Option<(i64, &str)> {
    let Some(after) = text.strip_prefix('.') else {
        return Some((0, text));
    };
    let count = after.bytes().take_while(u8::is_ascii_digit).count();
    if !(1..=7).contains(&count) {
        return None;
    }
    let scale = 10_i64.pow(u32::try_from(7 - count).ok()?);
    Some((i64::from(digits(&after[..count])?) * scale, &after[count..]))
}

fn format_ticks(instant: OffsetDateTime, zone: &str) -> String {
    let (date, (hour, minute, second)) = (instant.date(), instant.to_hms());
    let mut text = format!(
        "{:04}-{:02}-{:02}T{hour:02}:{minute:02}:{second:02}",
        date.year(),
        u8::from(date.month()),
        date.day()
    );
    let ticks = instant.nanosecond() / 100;
    if ticks > 0 {
        text.push('.');
        text.push_str(format!("{ticks:07}").trim_end_matches('0'));
    }
    text + zone
}

fn append(text: &mut String, value: &Value) {
    match value {
        Value::Null => text.push_str("null"),
        Value::Bool(bool) => text.push_str(if *bool { "true" } else { "false" }),
        Value::Number(number) => match number.as_f64() {
            Some(double) if number.is_f64() => text.push_str(&double_text(double)),
            _ => text.push_str(&number.to_string()),
        },
        Value::String(string) => {
            let time = rewritten_time(string);
            text.push_str(&quoted(time.as_deref().unwrap_or(string)));
        }
        Value::Array(items) => {
            text.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    text.push(',');
                }
                append(text, item);
            }
            text.push(']');
        }
        Value::Object(fields) => {
            text.push('{');
            for (index, (name, field)) in fields.iter().enumerate() {
                if index > 0 {
                    text.push(',');
                }
                text.push_str(&quoted(name));
                text.push(':');
                append(text, field);
            }
            text.push('}');
        }
    }
}

/// A JSON string literal.
pub(super) fn quoted(text: &str) -> String {
    Value::String(text.to_owned()).to_string()
}

/// .NET's shortest text that reads back as the same double, with a decimal point or an exponent:
/// `1E+20`, `1E-05`, `2.0`.
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

fn digits(text: &str) -> Option<u32> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}

fn small(text: &str) -> Option<u8> {
    digits(text).and_then(|number| u8::try_from(number).ok())
}
