//! The guide's four anti-patterns with its code as data: found by name. Its good versions pass.

use serde_json::{Value, json};

use super::{ValidationWorld, create, near, query, read, second, warnings};

/// Returns 2,000 documents of 200 categories, of a day.
fn documents() -> impl Iterator<Item = Value> {
    (0..2_000_u64).map(|n| {
        json!({
            "id": format!("document-{n}"), "category": format!("category-{}", n % 200),
            "createdDate": second(n * 43), "title": "t".repeat(100),
        })
    })
}

#[test]
fn one_partition_for_each_document_is_hyperfragmentation() {
    let world = ValidationWorld::of(documents())
        .time("/createdDate")
        .with(query("documents of a category", json!({"/category": "?"}), 5_000))
        .with(create(2_000));
    let bad = world.report("/id");
    let all = ["hyperfragmentation", "not-aligned", "cross-partition-queries"];
    assert_eq!(warnings(&bad), all, "{:#?}", bad.findings);
    assert_eq!(warnings(&world.report("/category")), [""; 0]);
    // It is right where every request is a point read.
    let read = read(json!({"/id": "?"}), 9_000);
    let world = ValidationWorld::of(documents()).time("/createdDate").with(read);
    assert_eq!(warnings(&world.report("/id")), [""; 0]);
    // Without requests the alignment is unknown.
    assert_eq!(warnings(&ValidationWorld::of(documents()).report("/id")), ["hyperfragmentation"]);
}

/// All current data in one partition, or in fifty by the hash of the id.
#[test]
fn all_current_data_in_one_place_is_a_hot_partition() {
    let events = (0..6_000_u64).map(|n| {
        let at = second(n / 10);
        json!({"id": format!("event-{n}"), "state": "current", "at": at, "payload": "p".repeat(200)})
    });
    let world = ValidationWorld::of(events).time("/at").with(create(80_000_000));
    let bad = world.report("/state");
    assert!(warnings(&bad).contains(&"hot-partition"), "{:?}", warnings(&bad));
    let hotness = bad.hotness.unwrap();
    assert_eq!((hotness.window_seconds, hotness.writes, hotness.share), (60, 600, 1.0));
    assert_eq!(hotness.key, r#"["current"]"#);
    // By the hour is no better: it is the same hour for all.
    assert!(warnings(&world.report("/at by day")).contains(&"hot-partition"));
    let good = world.report("/state+/id in 50 buckets");
    assert!(good.findings.iter().all(|finding| finding.code != "hot-partition"), "{good:#?}");
    assert!(good.hotness.unwrap().share < 0.1);
}

#[test]
fn true_and_false_are_a_low_cardinality() {
    let users = (0..2_000_u64).map(|n| {
        json!({"id": format!("{n}"), "isActive": n % 3 == 0, "userId": format!("user-{}", n % 500)})
    });
    let world = ValidationWorld::of(users);
    assert_eq!(warnings(&world.report("/isActive")), ["low-cardinality"]);
    assert_eq!(warnings(&world.report("/userId")), [""; 0]);
}

#[test]
fn a_status_in_the_key_is_a_changing_key() {
    let ship = json!({
        "kind": "ship", "operation": "patch", "filters": {"/id": "?", "/customerId": "?", "/status": "?"},
        "set": ["/status"], "frequency": {"perDay": 1_200},
    });
    let orders = (0..900_u64).map(|n| {
        json!({"id": n.to_string(), "customerId": format!("customer-{}", n % 300), "status": "pending"})
    });
    let world = ValidationWorld::of(orders).with(ship);
    let bad = world.report("/customerId+/status");
    let found = bad.findings.iter().find(|finding| finding.code == "changing-key").unwrap();
    let said = "`ship` changes /status, of which the key is made, 1,200 times a day.";
    assert!(found.sentence.starts_with(said), "{found:?}");
    assert!(world.report("/customerId").findings.iter().all(|f| f.code != "changing-key"));
}

/// Few requests do not become a problem by a straight line into the future.
#[test]
fn a_small_sample_with_much_growth_is_no_alarm() {
    let items = (0..300).map(|n| json!({"id": format!("{n}"), "postId": n % 120}));
    let items: Vec<_> = items.collect();
    let world = |per_day: u32| {
        ValidationWorld::of(items.clone())
            .with(query("of a post", json!({"/postId": "?"}), per_day))
            .with(create(50_000))
    };
    let mut busy = world(3_000_000_000);
    busy.options.items_in_container = Some(100_000);
    let mut world = world(300_000);
    assert_eq!(warnings(&world.report("/postId")), [""; 0]);
    world.options.items_in_container = Some(100_000);
    assert!(world.report("/postId").growth.days_to_10_000_ru.is_some());
    // A busy partition does.
    assert_eq!(warnings(&busy.report("/postId")), ["throughput-limit"]);
}

#[test]
fn items_without_a_key_are_counted_by_what_they_lack() {
    let items = (0..100).map(|n| match n {
        0..10 => json!({"id": "1"}),
        10..15 => json!({"id": "1", "key": null}),
        15..18 => json!({"id": "1", "key": {"a": 1}}),
        18 => json!({"id": "1", "key": "k".repeat(2_049)}),
        _ => json!({"id": "1", "key": format!("{n}-soon")}),
    });
    let world = ValidationWorld::of(items);
    let keys = world.report("/key").keys;
    assert_eq!((keys.missing, keys.null, keys.not_scalar, keys.too_long), (10, 5, 3, 1));
    let found = world.report("/key");
    for code in ["missing-key", "null-key", "invalid-key", "long-key"] {
        assert!(warnings(&found).contains(&code), "{code}");
    }
    // A computed key cannot be made at all.
    let by_month = world.report("/key by month");
    assert_eq!((by_month.keys.missing, by_month.keys.not_a_time), (10, 82));
    assert!(by_month.findings.iter().any(|f| f.sentence.ends_with("the key cannot be made.")));
}

#[test]
fn a_report_has_the_day_on_which_a_partition_is_full() {
    let items = (0..1_000).map(|n| json!({"id": format!("{n}"), "tenant": n % 10 / 9, "n": n}));
    let mut world = ValidationWorld::of(items);
    world.options.items_in_container = Some(100_000_000);
    world.options.items_per_day = Some(4_000_000.0);
    let report = world.report("/tenant");
    // 900 of 1,000 items: nine tenths of the container and of its growth.
    let bytes = report.by_bytes.largest * 100_000_000.0 * report.bytes as f64 / 1_000.0;
    near(report.growth.largest_bytes, bytes, 1e-9);
    let days = (20.0 * 1_073_741_824.0 - bytes) / (bytes / 25.0);
    near(report.growth.days_to_20_gb.unwrap(), days, 1e-9);
    assert!(warnings(&report).contains(&"large-partition") == (days < 365.0));
}
