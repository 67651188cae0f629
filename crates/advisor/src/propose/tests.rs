//! Proposed keys for items of many shapes.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn item(value: Value) -> SampleItem {
    SampleItem { bytes: value.to_string().len(), value }
}

fn readings() -> Vec<SampleItem> {
    let reading = |n: u32| {
        item(json!({
            "id": format!("reading-{n}"),
            "device": {"id": format!("device-{}", n % 150), "tags": ["a"]},
            "at": format!("2026-{:02}-{:02}T00:00:00Z", n % 12 + 1, n % 28 + 1),
            "epoch": 1_700_000_000 + n * 40_000,
            "celsius": f64::from(n) / 7.0,
            "isValid": n < 300,
            "unit": "C",
            "note": "long ".repeat(60) + &n.to_string(),
            "_etag": n.to_string(),
            "_ts": 1_700_000_000 + n,
        }))
    };
    (0..600).map(reading).collect()
}

#[test]
fn keys_are_made_of_scalar_values_nested_ones_too_and_of_times() {
    let proposed = propose(&readings(), &[], &ValidationOptions::default());
    let proposed: Vec<_> = proposed.iter().map(ToString::to_string).collect();
    let has = |key: &str| proposed.iter().any(|strategy| strategy == key);
    assert!(has("/id") && has("/device/id"), "{proposed:?}");
    assert!(
        proposed.iter().any(|key| key.contains("/at by ") || key.contains("/epoch by ")),
        "{proposed:?}"
    );
    for never in ["celsius", "isValid", "unit", "note", "tags", "_etag", "_ts", "/epoch,", "/at,"] {
        assert!(!proposed.iter().any(|strategy| strategy.contains(never)), "{never}: {proposed:?}");
    }
}

fn values() -> impl Strategy<Value = Value> {
    let scalar = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "[a-c/, \"+]{0,4}".prop_map(Value::from),
        "2026-0[1-9]-1[0-9]".prop_map(Value::from),
    ];
    scalar.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::hash_map("[a-c/, \"+]{0,3}", inner, 0..4)
                .prop_map(|properties| Value::Object(properties.into_iter().collect())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// For any names and values, each candidate comes once, can be parsed from its notation, and gives a key to
    /// most items.
    #[test]
    fn any_items_get_candidates_that_are_keys_of_them(
        values in prop::collection::vec(prop::collection::hash_map("[a-c/, \"+]{0,3}", values(), 0..4), 1..12)
    ) {
        let items: Vec<_> =
            values.into_iter().map(|properties| item(Value::Object(properties.into_iter().collect()))).collect();
        let proposed = propose(&items, &[], &ValidationOptions::default());
        prop_assert!(proposed.len() <= MAX_CANDIDATES);
        for strategy in &proposed {
            prop_assert_eq!(&strategy.to_string().parse::<KeyStrategy>().unwrap(), strategy);
            prop_assert_eq!(proposed.iter().filter(|other| *other == strategy).count(), 1);
            let n_keys = items.iter().filter(|item| strategy.key(&item.value).is_ok()).count();
            prop_assert!(2 * n_keys >= items.len(), "{}: {} of {}", strategy, n_keys, items.len());
        }
    }
}
