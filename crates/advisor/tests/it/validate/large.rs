//! Samples with more keys than are kept: estimates within their bounds, and the same for any order.

use serde_json::{Value, json};

use super::{ValidationWorld, near};
use crate::support::query;

/// Returns 40,000 items of 35,602 keys: one has 4,000, another few but large items.
fn many_keys() -> Vec<Value> {
    (0..40_000_u64)
        .map(|n| match n % 20 {
            0 | 1 => json!({"id": format!("{n}"), "key": "celebrity", "n": n}),
            2 if n % 100 == 2 => {
                json!({"id": format!("{n}"), "key": "archive", "n": n, "x": "x".repeat(3_000)})
            }
            _ => json!({"id": format!("{n}"), "key": format!("user-{n}"), "n": n}),
        })
        .collect()
}

#[test]
fn the_few_large_keys_among_many_are_found_in_any_order() {
    let n = 35_602.0;
    let world = ValidationWorld::of(many_keys()).with(query("of a key", json!({"/key": "?"}), 100));
    let report = world.report("/key");
    assert!(!report.cardinality.exact);
    near(report.cardinality.value, n, 0.02);
    assert!(
        report.cardinality.low <= n && n <= report.cardinality.high,
        "{:?}",
        report.cardinality
    );
    assert_eq!(report.by_items.top[0].key, r#"["celebrity"]"#);
    near(report.by_items.top[0].share, 0.1, 0.03);
    assert_eq!(report.by_bytes.top[0].key, r#"["archive"]"#);
    // A tenth of the requests asks for the 4,000, and almost nothing else loads much.
    near(report.requests[0].items_loaded, 0.1 * 4_000.0 + 0.01 * 400.0 + 0.89, 0.1);
    near(report.by_items.mean, 40_000.0 / n, 0.03);

    // In a file that is ordered by the key, each large key comes in one block.
    let items = world.items.clone();
    let mut ordered = items.clone();
    ordered.sort_by_key(|item| item["key"].to_string());
    let reversed: Vec<_> = ordered.iter().rev().cloned().collect();
    let mut shuffled = items.clone();
    shuffled.sort_by_key(|item| item["n"].as_u64().unwrap().wrapping_mul(0x9E37_79B9_7F4A_7C15));
    let of = |items: Vec<Value>| ValidationWorld { items, ..world.clone() }.report("/key");
    let json = |report: &_| serde_json::to_string(report).unwrap();
    assert_eq!(json(&report), json(&of(items)));
    for other in [of(ordered), of(reversed), of(shuffled)] {
        assert_eq!(report.by_items.top[0].key, other.by_items.top[0].key);
        assert_eq!(report.by_bytes.top[0].key, other.by_bytes.top[0].key);
        near(report.cardinality.value, other.cardinality.value, 0.01);
        near(report.by_items.gini, other.by_items.gini, 0.02);
        near(report.by_items.largest, other.by_items.largest, 0.03);
        near(report.by_bytes.largest, other.by_bytes.largest, 0.03);
    }
}
