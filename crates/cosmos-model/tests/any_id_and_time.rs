//! Properties of keys for any ids and times: year ends, leap days, ISO weeks 53, offsets, milliseconds.
#![allow(clippy::panic, clippy::unwrap_used, reason = "a test ends at its first error")]

use std::collections::HashSet;

use cosmos_model::partitioning::{Filter, FilterVisit, Key, KeyStrategy, period::Granularity};
use proptest::{prelude::*, sample::select};
use serde_json::{Value, json};
use time::{
    Date, Duration, Month, OffsetDateTime, UtcOffset, format_description::well_known::Rfc3339,
};

fn strategy(notation: &str) -> KeyStrategy {
    notation.parse().unwrap()
}

fn filter(json: Value) -> Filter {
    serde_json::from_value(json).unwrap()
}

fn first_of(year: i32, month: Month) -> OffsetDateTime {
    Date::from_calendar_date(year, month, 1).unwrap().midnight().assume_utc()
}

/// Moments to the millisecond, most of them near the ends of years and near leap days.
fn any_moment() -> impl Strategy<Value = OffsetDateTime> {
    let near = |month| {
        (1601..2400_i32, -4 * 86_400_000..4 * 86_400_000_i64)
            .prop_map(move |(year, ms)| first_of(year, month) + Duration::milliseconds(ms))
    };
    prop_oneof![
        near(Month::January),
        near(Month::March),
        (0..4_102_444_800_000_i64)
            .prop_map(|ms| { OffsetDateTime::UNIX_EPOCH + Duration::milliseconds(ms) })
    ]
}

/// Returns a range of up to 400 days, often an empty one or one of a millisecond.
fn any_range() -> impl Strategy<Value = (OffsetDateTime, OffsetDateTime)> {
    let length = prop_oneof![0..2_i64, 0..10 * 86_400_000_i64, 0..400 * 86_400_000_i64];
    (any_moment(), length).prop_map(|(from, ms)| (from, from + Duration::milliseconds(ms)))
}

/// Returns the offsets in which items write a moment.
fn any_offset() -> impl Strategy<Value = UtcOffset> {
    let offset = |hours, minutes| UtcOffset::from_hms(hours, minutes, 0).unwrap();
    select(vec![UtcOffset::UTC, offset(5, 45), offset(-9, -30)])
}

fn text(at: OffsetDateTime) -> String {
    at.format(&Rfc3339).unwrap()
}

fn range(from: OffsetDateTime, to: OffsetDateTime) -> Value {
    json!({"from": text(from), "to": text(to)})
}

fn keys(visit: FilterVisit) -> Vec<Key> {
    match visit {
        FilterVisit::Partitions(keys) => keys,
        open => panic!("nothing is open: {open:?}"),
    }
}

/// Returns the first and the last moment of each period that a range has.
fn moments_of(
    from: OffsetDateTime,
    to: OffsetDateTime,
    granularity: Granularity,
) -> Vec<OffsetDateTime> {
    let mut moments = vec![from, to - Duration::milliseconds(1)];
    for period in granularity.periods(from..to) {
        moments.extend([period.start(), period.end() - Duration::milliseconds(1)]);
    }
    moments.retain(|at| (from..to).contains(at));
    moments
}

proptest! {
    /// Each matching item is in a partition that is visited, and each of these holds a matching item.
    #[test]
    fn a_range_visits_exactly_the_partitions_that_hold_matching_items(
        (from, to) in any_range(),
        granularity in select(&Granularity::ALL),
        id: String,
        n_buckets in 1..4_u32,
        offset in any_offset(),
        inside in 0.0..1.0_f64,
    ) {
        let notation = format!("/id+/at by {granularity}+/n in {n_buckets} buckets");
        let strategy = strategy(&notation);
        let visited = keys(strategy.visit(&filter(json!({"/id": id, "/at": range(from, to)}))));
        let mut held = HashSet::new();
        let mut moments = moments_of(from, to, granularity);
        if from < to {
            moments.push(from + (to - from) * inside * 0.999);
        }
        for at in moments {
            for n in 0..30 {
                let at = text(at.to_offset(offset));
                held.insert(strategy.key(&json!({"id": id, "at": at, "n": n})).unwrap());
            }
        }
        prop_assert_eq!(visited.len(), visited.iter().collect::<HashSet<_>>().len(), "each once");
        prop_assert_eq!(visited.into_iter().collect::<HashSet<_>>(), held);
    }

    /// The same with a class: some devices by day, one of them since a day within the time.
    #[test]
    fn a_range_visits_exactly_the_partitions_of_a_device_that_changed_its_class(
        (from, to) in any_range(),
        others in select(&[Granularity::Month, Granularity::Quarter, Granularity::Year, Granularity::Week]),
        of_class in select(&[Granularity::Day, Granularity::Month]),
        days in -20..420_i64,
        devices in prop::collection::hash_set(select(&["ever", "since", "a b_c", "never"]), 0..4),
    ) {
        let since = (from + Duration::days(days)).to_offset(UtcOffset::UTC).date();
        prop_assume!((1601..2400).contains(&since.year()));
        let notation = format!(
            "/device+/at by {others}; by {of_class} where /device is ever or since since {since} or \"a b_c\" since {since}"
        ).replace("or since since", "or \"since\" since");
        let strategy = strategy(&notation);
        let devices: Vec<_> = devices.into_iter().collect();
        let visited = keys(strategy.visit(&filter(json!({"/device": devices, "/at": range(from, to)}))));
        let start = since.midnight().assume_utc();
        let mut held = HashSet::new();
        let mut moments = moments_of(from, to, others);
        moments.extend(moments_of(from, to, of_class));
        moments.extend([start, start - Duration::milliseconds(1)]);
        moments.retain(|at| (from..to).contains(at));
        for at in moments {
            for device in &devices {
                let item = json!({"device": device, "at": text(at)});
                held.insert(strategy.key(&item).unwrap());
            }
        }
        prop_assert_eq!(visited.len(), visited.iter().collect::<HashSet<_>>().len(), "each once");
        prop_assert_eq!(visited.into_iter().collect::<HashSet<_>>(), held);
        prop_assert_eq!(strategy.to_string().parse(), Ok(strategy));
    }
}

/// The guide's devices: above 1,000 readings a day by day, the others by month; `d1` became frequent.
#[test]
fn a_device_that_became_frequent_keeps_its_old_keys() {
    let readings =
        strategy("/deviceId+/at by month; by day where /deviceId is d1 since 2026-11-20");
    let key = |device: &str, at: &str| {
        readings.key(&json!({"deviceId": device, "at": at})).unwrap().to_string()
    };
    assert_eq!(key("d1", "2026-11-19T23:59:59.999Z"), r#"["d1_2026-11"]"#);
    assert_eq!(key("d1", "2026-11-20"), r#"["d1_2026-11-20"]"#);
    assert_eq!(key("d2", "2026-11-20"), r#"["d2_2026-11"]"#);
    let visited =
        |json| keys(readings.visit(&filter(json))).iter().map(Key::to_string).collect::<Vec<_>>();
    assert_eq!(
        visited(json!({"/deviceId": "d1", "/at": {"from": "2026-10-30", "to": "2026-11-22"}})),
        [r#"["d1_2026-10"]"#, r#"["d1_2026-11"]"#, r#"["d1_2026-11-20"]"#, r#"["d1_2026-11-21"]"#]
    );
    assert_eq!(
        visited(json!({"/deviceId": ["d1", "d2"], "/at": "2026-11-20"})),
        [r#"["d1_2026-11-20"]"#, r#"["d2_2026-11"]"#]
    );
    // A filter without the device visits all partitions, as without a class.
    assert_eq!(readings.visit(&filter(json!({"/at": "2026-11-20"}))), FilterVisit::All);
}

#[test]
fn an_incomplete_class_is_refused_with_a_remedy() {
    let error = |text: &str| text.parse::<KeyStrategy>().unwrap_err().to_string();
    assert!(error("/a; by day where /a is b").contains("exactly one"));
    assert!(error("/a by day+/b by month; by year where /c is d").contains("exactly one"));
    for text in [
        "/a by month;",
        "/a by month; by day",
        "/a by month; by day where /a is",
        "/a by month; by day where /a is b or",
        "/a by month; by day where /a is b since",
        "/a by month; by day where /a is b since soon",
        "/a by month; by day where /a is b c",
        "/a by month; day where /a is b",
        "/a by month; by day where /a is \"b",
    ] {
        assert!(
            error(text).contains("; by day where /deviceId is a or b since 2026-10-01"),
            "{text}"
        );
    }
    assert!(error("/a by month; by day where a is b").contains("is not a path"));
}
