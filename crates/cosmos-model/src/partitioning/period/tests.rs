//! Keys of periods, at the ends of years and months and of the representable times.

use proptest::{prelude::*, sample::select};
use time::{Duration, UtcDateTime, macros::utc_datetime};

use super::*;

fn keys(at: UtcDateTime) -> [String; 5] {
    Granularity::ALL.map(|granularity| granularity.period(at.into()).to_string())
}

#[test]
fn a_moment_has_a_key_of_each_granularity() {
    for (at, expected) in [
        (utc_datetime!(2026-11-22 19:30), ["2026-11-22", "2026-W47", "2026-11", "2026-Q4", "2026"]),
        (
            utc_datetime!(2028-02-29 23:59:59.999_999_999),
            ["2028-02-29", "2028-W09", "2028-02", "2028-Q1", "2028"],
        ),
        (utc_datetime!(0044-03-15 12:00), ["0044-03-15", "0044-W11", "0044-03", "0044-Q1", "0044"]),
    ] {
        assert_eq!(keys(at), expected);
    }
    assert_eq!(keys(utc_datetime!(-0043-03-15 12:00))[2], "-0043-03");
}

/// The guide's code puts these first two days, Tuesday and Wednesday of one week, into `2024-W53` and
/// `2025-W01`.
#[test]
fn a_week_does_not_end_with_the_year() {
    for (day, week) in [
        (utc_datetime!(2021-01-03 0:00), "2020-W53"),
        (utc_datetime!(2024-12-31 0:00), "2025-W01"),
        (utc_datetime!(2025-01-01 0:00), "2025-W01"),
        (utc_datetime!(2026-12-31 0:00), "2026-W53"),
        (utc_datetime!(2027-01-01 0:00), "2026-W53"),
        (utc_datetime!(2027-01-04 0:00), "2027-W01"),
    ] {
        assert_eq!(Granularity::Week.period(day.into()).to_string(), week);
    }
}

#[test]
fn other_texts_than_keys_are_refused() {
    let texts = "|-|26|2026-|2026-1|2026-00|2026-13|2026-+1|+026|2026-Q0|2026-Q5|2026-Q04|2026-Q255|\
                 2026-W00|2026-W1|2025-W53|2026-w47|2026-02-29|2026-11-22T|2026-11-|-0000|10000| 2026|\
                 ２０２６|2026-11-22-1|--2026|é026";
    for text in texts.split('|') {
        assert_eq!(text.parse::<Period>(), Err(ParsePeriodError), "{text}");
    }
}

fn any_granularity() -> impl Strategy<Value = Granularity> {
    select(&Granularity::ALL)
}

/// Returns any moment in any offset, and often one near the end of a year, a month, or of time itself.
fn any_moment() -> impl Strategy<Value = OffsetDateTime> {
    let seconds_ends = UtcDateTime::MIN.unix_timestamp()..=UtcDateTime::MAX.unix_timestamp();
    let anywhere = (seconds_ends, 0..1_000_000_000_i64);
    let near_an_end =
        (-9999..=9999_i32, 1..=12_u8, -3..=3_i64, select(&[-1, 0, 1, 999_999_999_i64])).prop_map(
            |(year, month, days, nanoseconds)| {
                let month = Month::try_from(month).unwrap();
                let first = Date::from_calendar_date(year, month, 1).unwrap().midnight();
                (first.assume_utc().unix_timestamp() + days * 86_400, nanoseconds)
            },
        );
    let offset = (-93_599..=93_599_i32).prop_map(|s| UtcOffset::from_whole_seconds(s).unwrap());
    (prop_oneof![anywhere, near_an_end], offset).prop_map(|((seconds, nanoseconds), offset)| {
        let utc = OffsetDateTime::UNIX_EPOCH
            .saturating_add(Duration::seconds(seconds))
            .saturating_add(Duration::nanoseconds(nanoseconds));
        // At the ends: the same clock, with a moment in UTC that may not be representable.
        utc.checked_to_offset(offset).unwrap_or(utc.replace_offset(offset))
    })
}

/// Returns true if `period` holds `at`, by its bounds: the first and the last have only one.
fn holds(period: Period, at: OffsetDateTime) -> bool {
    (period.start() <= at || period.previous().is_none())
        && (at < period.end() || period.next().is_none())
}

proptest! {
    #[test]
    fn a_moment_is_in_its_period_and_in_no_other(granularity in any_granularity(), at in any_moment()) {
        let period = granularity.period(at);
        prop_assert!(holds(period, at));
        prop_assert_eq!(period.granularity(), granularity);
        prop_assert_eq!(period.to_string().parse(), Ok(period));
        // Neighbours meet without a gap, so no other period can hold the moment.
        if let Some(next) = period.next() {
            prop_assert_eq!(next.start(), period.end());
            prop_assert_eq!(next.previous(), Some(period));
            prop_assert!(period < next && !holds(next, at));
        }
        if let Some(previous) = period.previous() {
            prop_assert_eq!(previous.end(), period.start());
            prop_assert_eq!(previous.next(), Some(period));
            prop_assert!(previous < period && !holds(previous, at));
        }
    }

    #[test]
    fn keys_sort_as_their_periods(granularity in any_granularity(), a in any_moment(), b in any_moment()) {
        let a = granularity.period(a);
        let b = granularity.period(b);
        if a.first_day.year() > 0 && b.first_day.year() > 0 {
            prop_assert_eq!(a.cmp(&b), a.to_string().cmp(&b.to_string()));
        }
    }

    /// The periods from that of the first moment of the range, without a gap, to that of its last.
    #[test]
    fn a_range_visits_the_periods_that_hold_a_moment_of_it(
        granularity in any_granularity(),
        from in any_moment(),
        length in (0..400_i64, -2..=2_i64),
    ) {
        let length = Duration::days(length.0) + Duration::nanoseconds(length.1);
        let to = from.saturating_add(length);
        let visited: Vec<_> = granularity.periods(from..to).collect();
        let mut backwards: Vec<_> = granularity.periods(from..to).rev().collect();
        backwards.reverse();
        prop_assert_eq!(&visited, &backwards);
        if from >= to {
            prop_assert!(visited.is_empty());
            return Ok(());
        }
        let first = visited[0];
        let last = visited[visited.len() - 1];
        prop_assert!(holds(first, from));
        prop_assert!(holds(last, to - Duration::NANOSECOND));
        for pair in visited.windows(2) {
            prop_assert_eq!(pair[0].next(), Some(pair[1]));
        }
    }
}
