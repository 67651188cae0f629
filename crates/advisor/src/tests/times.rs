//! Times that cannot be those of writes do not decide.

use serde_json::{Value, json};

use super::{ValidationWorld, near, query, second};

/// Returns 2,000 events of 20 users over 23 days.
fn events() -> Vec<Value> {
    (0..2_000_u64)
        .map(|n| json!({"id": format!("{n}"), "userId": n % 20, "at": second(n * 1_000)}))
        .collect()
}

fn of_the_last_days(items: Vec<Value>) -> ValidationWorld {
    let last = json!({"/userId": "?", "/at": {"last": "7 days"}});
    ValidationWorld::of(items).time("/at").with(query("recent", last, 1_000))
}

#[test]
fn one_date_of_the_year_9999_or_one_clock_ahead_changes_nothing() {
    let honest = of_the_last_days(events()).report("/userId");
    near(honest.requests[0].items_loaded, 30.24, 0.05);
    for wrong in ["9999-12-31T00:00:00Z", "2026-12-20T00:00:00Z", "2027-01-01T00:00:00Z"] {
        for place in [0, 700, 2_000] {
            let mut items = events();
            items.insert(place, json!({"id": "wrong", "userId": 3, "at": wrong}));
            let report = of_the_last_days(items).report("/userId");
            let found = &report.requests[0];
            let expected = &honest.requests[0];
            near(found.items_loaded, expected.items_loaded, 0.02);
            let hot = report.hotness.unwrap();
            let of_honest = honest.hotness.clone().unwrap();
            near(hot.peak_over_mean, of_honest.peak_over_mean, 0.02);
            let times = report.times.unwrap();
            assert_eq!((times.path.as_str(), times.left_out), ("/at", 1));
            assert_eq!(times.newest, "2026-11-24T03:16:40Z");
        }
    }
}

/// After an import or a copy, the service's time of all items is that of the import.
#[test]
fn the_service_s_time_is_not_believed_after_an_import() {
    let with_ts = |seconds: u64| {
        ValidationWorld::of(events().into_iter().enumerate().map(move |(n, mut item)| {
            item["_ts"] = json!(1_780_000_000 + n as u64 * seconds / 2_000);
            item
        }))
    };
    let imported = with_ts(600).report("/userId");
    assert!(imported.hotness.is_none());
    assert!(
        imported.unknown.iter().any(|sentence| sentence.contains("/_ts")),
        "{:?}",
        imported.unknown
    );
    assert!(with_ts(20 * 86_400).report("/userId").hotness.is_some());
}
