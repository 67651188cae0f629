//! NCRONTAB schedules.

use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;
use tributary_local::host::ncrontab::Schedule;

fn time(text: &str) -> OffsetDateTime {
    OffsetDateTime::parse(text, &Rfc3339).unwrap()
}

#[test]
fn the_next_time_follows_ncrontab() {
    let saturday = "2026-11-21T09:25:54.5Z";
    let cases = [
        ("*/5 * * * * *", saturday, "2026-11-21T09:25:55Z"),
        ("* * * * * *", "2026-11-21T23:59:59Z", "2026-11-22T00:00:00Z"),
        ("0 */5 * * * *", saturday, "2026-11-21T09:30:00Z"),
        ("0 5/15 * * * *", saturday, "2026-11-21T09:35:00Z"),
        ("30 10,20 9-11 * * *", saturday, "2026-11-21T10:10:30Z"),
        ("0 0 9 * * *", saturday, "2026-11-22T09:00:00Z"),
        ("0 30 9 * * Mon-Fri", saturday, "2026-11-23T09:30:00Z"),
        ("0 0 0 1 Jan *", saturday, "2027-01-01T00:00:00Z"),
        // Both must match: a Friday that is the 13th.
        ("0 0 0 13 * FRI", saturday, "2027-08-13T00:00:00Z"),
        ("0 0 0 29 2 *", saturday, "2028-02-29T00:00:00Z"),
        // Five fields have second 0.
        ("*/5 * * * *", saturday, "2026-11-21T09:30:00Z"),
        // A time that is due now is not the next one.
        ("0 0 12 * * *", "2026-11-21T12:00:00Z", "2026-11-22T12:00:00Z"),
    ];
    for (schedule, after, expected) in cases {
        let next = Schedule::parse(schedule).unwrap().next(time(after)).unwrap();
        assert_eq!(next, time(expected), "{schedule}");
    }
}

#[test]
fn a_day_that_never_comes_has_no_next_time() {
    let never = Schedule::parse("0 0 0 30 2 *").unwrap();
    assert_eq!(never.next(time("2026-11-21T00:00:00Z")), None);
}

#[test]
fn a_field_that_ncrontab_lacks_is_refused() {
    let bad = [
        "",
        "* * * *",
        "60 * * * * *",
        "* * * 0 * *",
        "* * * * 13 *",
        "* * * * * 7",
        "*/0 * * * * *",
        "5-1 * * * * *",
        "* * * L * *",
        "0 0 0 ? * *",
        "+5 * * * * *",
        "1, * * * * *",
        "00:05:00",
    ];
    for text in bad {
        assert!(Schedule::parse(text).is_err(), "{text}");
    }
}
