//! Strategies as stories, and the agreement of an item's key with the keys that a filter visits.

use proptest::{prelude::*, sample::select};
use serde_json::json;

use super::*;
use crate::partitioning::filter::Filter;

fn strategy(notation: &str) -> KeyStrategy {
    notation.parse().unwrap()
}

fn filter(json: Value) -> Filter {
    serde_json::from_value(json).unwrap()
}

fn key(notation: &str, item: &Value) -> String {
    strategy(notation).key(item).unwrap().to_string()
}

/// Returns the visited keys in the form of the service, prefixes with `…`, or `all`.
fn visited(notation: &str, json: Value) -> Vec<String> {
    match strategy(notation).visit(&filter(json)) {
        FilterVisit::Partitions(keys) => keys.iter().map(Key::to_string).collect(),
        FilterVisit::Prefixes(keys) => keys.iter().map(|key| format!("{key}…")).collect(),
        FilterVisit::All => vec!["all".to_owned()],
    }
}

#[test]
fn each_strategy_of_the_guide_gives_a_key() {
    let item =
        json!({"id": "post-17", "user": "ada", "at": "2026-11-22T19:30:00Z", "tenant": {"id": 7}});
    assert_eq!(key("/id", &item), r#"["post-17"]"#);
    assert_eq!(key("/at by week", &item), r#"["2026-W47"]"#);
    assert_eq!(key("/user+/at by quarter", &item), r#"["ada_2026-Q4"]"#);
    assert_eq!(key("/tenant/id,/user,/at by month", &item), r#"[7,"ada","2026-11"]"#);
    assert_eq!(key("/id in 100 buckets", &item), r#"["73"]"#);
    assert_eq!(key("/at by month+/id in 100 buckets", &item), r#"["2026-11_73"]"#);
    assert_eq!(key("/tenant/id+/user", &item), r#"["7_ada"]"#);
}

#[test]
fn an_item_without_the_property_has_a_key_only_where_the_service_makes_it() {
    let item = json!({"null": null, "object": {"a": 1}, "text": "soon"});
    assert_eq!(key("/missing,/null", &item), "[{},null]");
    let error = |notation: &str| strategy(notation).key(&item).unwrap_err();
    let path = |name| PropertyPath::from_name(name);
    assert_eq!(error("/missing by month"), KeyError::Missing(path("missing")));
    assert_eq!(error("/text+/null"), KeyError::Null(path("null")));
    assert_eq!(error("/object"), KeyError::NotScalar(path("object")));
    assert_eq!(error("/object in 5 buckets"), KeyError::NotScalar(path("object")));
    assert_eq!(error("/text by day"), KeyError::NotATime(path("text")));
}

/// A joined part that the filter leaves open opens all partitions; a level that it leaves open is the advantage of
/// a hierarchical key. Each bucket is visited unless its value is known.
#[test]
fn a_filter_visits_the_keys_that_its_values_make() {
    let months = "/user+/at by month";
    let levels = "/user,/at by month";
    let autumn = json!({"from": "2026-10-15", "to": "2026-11-22T00:00:00+01:00"});
    let of_two =
        [r#"["ada_2026-10"]"#, r#"["ada_2026-11"]"#, r#"["a~1b_2026-10"]"#, r#"["a~1b_2026-11"]"#];
    let three = [r#"["ada_0"]"#, r#"["ada_1"]"#, r#"["ada_2"]"#];
    let user = json!({"/user": "ada"});
    let ages = json!({"/user": "ada", "/at": {"from": "0001-01-01", "to": "9999-01-01"}});
    for (notation, filter, expected) in [
        (months, json!({"/user": ["ada", "a_b"], "/at": autumn}), &of_two[..]),
        (months, json!({"/user": "ada", "/at": {"from": "2026-11-22", "to": "2026-11-22"}}), &[]),
        (months, user.clone(), &["all"]),
        (months, json!({"/user": "ada", "/at": {"from": "2026-10-15"}}), &["all"]),
        (months, json!({"/user": "ada", "/at": "soon"}), &["all"]),
        ("/user", json!({"/user": {"from": "a", "to": "b"}}), &["all"]),
        ("/user", json!({}), &["all"]),
        ("/user", json!({"/user": ["ada", 1, "ada", 1.0]}), &[r#"["ada"]"#, "[1]"]),
        (levels, user.clone(), &[r#"["ada"]…"#]),
        ("/user,/at by month,/id", json!({"/user": "ada", "/id": "post-17"}), &[r#"["ada"]…"#]),
        (levels, json!({"/at": "2026-11-22"}), &["all"]),
        (levels, json!({"/user": "ada", "/at": "2026-11-22"}), &[r#"["ada","2026-11"]"#]),
        ("/user+/id in 3 buckets", user, &three),
        (
            "/user+/id in 3 buckets",
            json!({"/user": "ada", "/id": ["post-17", "post-17"]}),
            &[r#"["ada_2"]"#],
        ),
        ("/id in 2 buckets", json!({}), &[r#"["0"]"#, r#"["1"]"#]),
        // Too many keys to list.
        ("/at by day", ages.clone(), &["all"]),
        ("/user,/at by day", ages, &[r#"["ada"]…"#]),
        ("/id in 4000000000 buckets", json!({}), &["all"]),
        ("/a in 101 buckets+/b in 100 buckets", json!({}), &["all"]),
        ("/user", json!({"/user": (0..=MAX_VISITED_KEYS).collect::<Vec<_>>()}), &["all"]),
    ] {
        assert_eq!(visited(notation, filter), expected, "{notation}");
    }
    let n_keys = |notation: &str| visited(notation, json!({})).len();
    assert_eq!(n_keys("/a in 100 buckets+/b in 100 buckets"), MAX_VISITED_KEYS);
    assert_eq!(n_keys("/a in 100 buckets,/b in 101 buckets"), 100);
}

#[test]
fn texts_that_are_no_strategy_are_refused_with_a_remedy() {
    let error = |text: &str| text.parse::<KeyStrategy>().unwrap_err().to_string();
    assert!(error("tenantId").contains("`tenantId` is not a path"));
    assert!(error("/a by decade").contains("`by decade` says nothing about a key"));
    assert!(error("/a in 0 buckets").contains("in 10 buckets"));
    assert!(error("/a,/b,/c,/d").contains("1 to 3 levels"));
    for text in
        ["", ",", "/a,", "/a+", "+/a", "/a,,/b", "/a by", "/a by month by day", "/a/b/", "/a in 5"]
    {
        assert!(text.parse::<KeyStrategy>().is_err(), "{text}");
    }
    assert_eq!(KeyStrategy::new(vec![]), Err(StrategyError::Levels(0)));
    assert_eq!(KeyStrategy::new(vec![vec![]]), Err(StrategyError::NoParts));
}

/// The properties of the random items. Only `at` may be a time.
const PROPERTIES: [&str; 3] = ["a", "b", "at"];

fn any_strategy() -> impl Strategy<Value = KeyStrategy> {
    let part = (select(&PROPERTIES), 0..4_u8, select(&Granularity::ALL), 1..5_u32).prop_map(
        |(property, kind, granularity, n)| match (property, kind) {
            ("at", 0 | 1) => KeyPart::Period(PropertyPath::from_name(property), granularity),
            (_, 2) => {
                KeyPart::Bucket(PropertyPath::from_name(property), NonZeroU32::new(n).unwrap())
            }
            _ => KeyPart::Value(PropertyPath::from_name(property)),
        },
    );
    let level = prop::collection::vec(part, 1..4);
    prop::collection::vec(level, 1..4).prop_map(|levels| KeyStrategy::new(levels).unwrap())
}

/// Returns few values, so that filters match often, and awkward ones.
fn any_value() -> impl Strategy<Value = Value> {
    let values = json!(["x", "X", "x_0", "~", "", 1, "1", 1.5, true, null]);
    select(values.as_array().unwrap().clone())
}

/// Returns a day around a new year with a week 53.
fn any_day() -> impl Strategy<Value = i64> {
    -40..40_i64
}

fn date(day: i64) -> String {
    let at = time::macros::utc_datetime!(2027-01-01 0:00) + time::Duration::days(day);
    format!("{}T00:00:00.000Z", at.date())
}

proptest! {
    /// The rule of the module: the key of each matching item is visited.
    #[test]
    fn a_filter_visits_the_key_of_each_item_that_matches(
        strategy in any_strategy(),
        items in prop::collection::vec((any_value(), any_value(), any_day()), 1..20),
        a in prop::option::of(prop::collection::vec(any_value(), 0..3)),
        b in prop::option::of(any_value()),
        days in prop::option::of((any_day(), 0..60_i64)),
    ) {
        let mut conditions = serde_json::Map::new();
        if let Some(a) = &a {
            conditions.insert("/a".to_owned(), json!(a));
        }
        if let Some(b) = &b {
            conditions.insert("/b".to_owned(), b.clone());
        }
        if let Some((from, n_days)) = days {
            let range = json!({"from": date(from), "to": date(from + n_days)});
            conditions.insert("/at".to_owned(), range);
        }
        let visit = strategy.visit(&filter(Value::Object(conditions)));
        for (item_a, item_b, day) in items {
            let matches = a.as_ref().is_none_or(|a| a.contains(&item_a))
                && b.as_ref().is_none_or(|b| *b == item_b)
                && days.is_none_or(|(from, n_days)| (from..from + n_days).contains(&day));
            let item = json!({"a": item_a, "b": item_b, "at": date(day)});
            if let (true, Ok(key)) = (matches, strategy.key(&item)) {
                let visits = match &visit {
                    FilterVisit::Partitions(keys) => keys.contains(&key),
                    FilterVisit::Prefixes(keys) => {
                        keys.iter().any(|prefix| key.values().starts_with(prefix.values()))
                    }
                    FilterVisit::All => true,
                };
                prop_assert!(visits, "{strategy} visits {visit:?}, not {key}");
            }
        }
    }

    #[test]
    fn a_strategy_comes_back_from_its_notation(strategy in any_strategy(), name: String) {
        prop_assert_eq!(strategy.to_string().parse(), Ok(strategy.clone()));
        prop_assert_eq!(serde_json::to_value(&strategy).unwrap(), strategy.to_string());
        let of_name = |name: &str| KeyPart::Value(PropertyPath::from_name(name));
        let named = KeyStrategy::new(vec![vec![of_name(&name), of_name("at")]]).unwrap();
        prop_assert_eq!(named.to_string().parse(), Ok(named.clone()));
    }

    #[test]
    fn no_text_makes_the_parser_panic(text in r#"[/ab ,+"\\]{0,12}( by month| in 3 buckets)?\PC{0,3}"#) {
        if let Ok(strategy) = text.parse::<KeyStrategy>() {
            prop_assert_eq!(strategy.to_string().parse(), Ok(strategy.clone()));
        }
    }
}
