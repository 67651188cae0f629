//! Moments in the notations of items.

use time::{Duration, OffsetDateTime, format_description::well_known::Rfc3339};

use crate::partitioning::key::KeyValue;

/// The bound of numbers that count seconds, until the year 5138. Larger numbers count milliseconds, from 1973 on.
const SECONDS_BELOW: f64 = 1e11;

/// Returns the moment that `value` means: RFC 3339 with any offset, the same without an offset (then it
/// is UTC), a date (midnight UTC), or seconds or milliseconds since 1970.
pub fn moment(value: &KeyValue) -> Option<OffsetDateTime> {
    match value {
        KeyValue::Text(text) => OffsetDateTime::parse(text, &Rfc3339)
            .or_else(|_| OffsetDateTime::parse(&format!("{text}Z"), &Rfc3339))
            .or_else(|_| OffsetDateTime::parse(&format!("{text}T00:00:00Z"), &Rfc3339))
            .ok(),
        KeyValue::Number(number) => {
            let number = number.as_f64()?;
            let seconds = if number.abs() < SECONDS_BELOW { number } else { number / 1000.0 };
            let whole = Duration::checked_seconds_f64(seconds.floor())?;
            // Whole seconds are exact, so no moment slips into the period before its own.
            let rest = Duration::checked_seconds_f64(seconds - seconds.floor())?;
            OffsetDateTime::UNIX_EPOCH.checked_add(whole)?.checked_add(rest)
        }
        KeyValue::Undefined | KeyValue::Null | KeyValue::Bool(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use time::macros::{datetime, utc_datetime};

    use super::*;

    fn read(value: &serde_json::Value) -> Option<OffsetDateTime> {
        moment(&KeyValue::from_property(Some(value)).unwrap())
    }

    #[test]
    fn moments_of_items_are_parsed() {
        let half_past_seven = Some(utc_datetime!(2026-11-22 19:30).into());
        let written = json!([
            "2026-11-22T19:30:00Z",
            "2026-11-22T21:30:00.000+02:00",
            "2026-11-22T19:30:00",
            "2026-11-22T19:30:00.0000000",
            1_795_375_800,
            1_795_375_800_000_i64,
        ]);
        for value in written.as_array().unwrap() {
            assert_eq!(read(value), half_past_seven, "{value}");
        }
        assert_eq!(read(&json!("2026-11-22")), Some(utc_datetime!(2026-11-22 0:00).into()));
        assert_eq!(read(&json!(1_795_375_800.5)), Some(datetime!(2026-11-22 19:30:00.5 UTC)));
        assert_eq!(read(&json!(-1)), Some(datetime!(1969-12-31 23:59:59 UTC)));
    }

    #[test]
    fn other_values_are_no_moment() {
        for value in json!(["soon", "", "2026", "22.11.2026", true, 1e300]).as_array().unwrap() {
            assert_eq!(read(value), None, "{value}");
        }
    }

    /// The start of a period must not be read as a moment of the one before.
    #[test]
    fn the_first_millisecond_of_a_month_belongs_to_it() {
        let mut month: crate::partitioning::period::Period = "1980-01".parse().unwrap();
        for _ in 0..1200 {
            let start = month.start();
            assert_eq!(read(&json!(start.unix_timestamp())), Some(start));
            assert_eq!(read(&json!(start.unix_timestamp() * 1000)), Some(start));
            month = month.next().unwrap();
        }
    }
}
