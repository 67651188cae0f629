//! Request units and fan-out, beside the ledger's formulas by hand.

use serde_json::{Value, json};

use super::{ValidationWorld, create, near, query, second};
use crate::report::NamedLevels::{self, FirstLevels, Key, No, Several};

/// Returns 1,200 posts over 30 days: of user 0 a quarter, of each of 39 others some.
fn posts() -> ValidationWorld {
    ValidationWorld::of((0..1_200_u64).map(|n| {
        let user = if n % 4 == 0 { 0 } else { n % 40 };
        json!({
            "id": format!("post-{n}"), "userId": format!("user-{user}"), "createdAt": second(n * 2_160),
            "body": "b".repeat(500),
        })
    }))
}

/// Kilobytes of an answer for each post, with the properties of the system.
const KILOBYTES: f64 = (594.0 + 220.0) / 1_024.0;
/// The request units of a start with one look-up, and of an item that is loaded and returned.
const START: f64 = 2.5 + 0.2;
const LOAD: f64 = 0.08 + KILOBYTES * 0.1;

/// The request, the key, the part that it names, its store requests, the items that it loads, its request units.
type Case<'a> = (Value, &'a str, NamedLevels, f64, f64, Option<f64>);

#[test]
fn a_request_visits_the_partitions_that_it_names_and_loads_what_they_have() {
    let user = json!({"/userId": "?"});
    let last = |days: &str| json!({"/userId": "user-0", "/createdAt": {"last": days}});
    let of_all = json!({"/createdAt": {"last": "10 days"}});
    let newest = |filters: &Value, limit: Option<u32>| {
        let mut request = query("newest", filters.clone(), 1);
        request["orderBy"] = json!("/createdAt desc");
        request["limit"] = json!(limit);
        request
    };
    let read = |filters: Value| json!({"kind": "read", "operation": "read", "filters": filters});
    let mut count = query("count", user.clone(), 1);
    count["select"] = json!("count");
    // Requests often ask for a user with many posts: the mean is over posts, not over users.
    let of_user =
        |user: u64| (0..1_200).filter(|n| (if n % 4 == 0 { 0 } else { n % 40 }) == user).count();
    let mean = (0..40).map(|user| of_user(user).pow(2)).sum::<usize>() as f64 / 1_200.0;
    let (by_day, all_by_day) = ("/userId+/createdAt by day", "/createdAt by day");
    let buckets = "/createdAt by day+/id in 5 buckets";
    let cases: Vec<Case<'_>> = vec![
        (query("posts", user.clone(), 1), "/userId", Key, 1.0, mean, Some(START + mean * LOAD)),
        (count, "/userId", Key, 1.0, mean, Some(START + mean * (0.08 + KILOBYTES * 0.08))),
        (newest(&user, Some(10)), "/userId", Key, 1.0, 10.0, Some(START + 0.2 + 10.0 * LOAD)),
        (read(json!({"/id": "?", "/userId": "?"})), "/userId", Key, 1.0, 1.0, Some(1.0)),
        (read(json!({"/id": "?"})), "/userId", No, 4.0, 1.0, Some(4.0 * START + LOAD)),
        // A window ends at the newest item: ten of thirty days.
        (query("all", last("60 days"), 1), "/userId", Key, 1.0, 300.0, None),
        (query("recent", last("10 days"), 1), "/userId", Key, 1.0, 100.0, None),
        (query("recent", last("10 days"), 1), by_day, Several, 11.0, 100.0, None),
        // Partitions in the order of the answer are read until it is full: ten a day of a user, forty of all. The
        // newest items of a day may be in any of its buckets, so these are read before the next day.
        (newest(&last("10 days"), None), by_day, Several, 11.0, 100.0, None),
        (newest(&last("10 days"), Some(25)), by_day, Several, 3.0, 25.0, None),
        (newest(&of_all, Some(25)), all_by_day, Several, 1.0, 25.0, None),
        (newest(&of_all, Some(25)), buckets, Several, 5.0, 5.0 * 25.0, None),
        (newest(&of_all, Some(60)), buckets, Several, 10.0, 5.0 * 60.0, None),
    ];
    for (request, key, names, partitions, loaded, units) in cases {
        let mut world = posts().with(request.clone());
        world.options.physical_partitions = Some(4);
        let cost = world.report(key).requests.remove(0);
        assert_eq!((cost.names, cost.physical_partitions), (names, partitions), "{key}: {request}");
        near(cost.items_loaded, loaded, 0.05);
        units.inspect(|units| near(cost.request_units, *units, 0.01));
    }
}

#[test]
fn the_first_level_of_a_key_is_in_as_few_physical_partitions_as_its_data_needs() {
    let by_user = |items_in_container: Option<u64>| {
        let mut request = query("posts", json!({"/userId": "?"}), 1);
        request["limit"] = json!(1);
        let mut world = posts().with(request);
        world.options.items_in_container = items_in_container;
        let report = world.report("/userId,/id");
        assert_eq!((report.aligned, report.cross_partition), (Some(1.0), Some(0.0)));
        (report.requests[0].clone(), report.physical_partitions)
    };
    let (small, _) = by_user(None);
    assert_eq!((small.names, small.physical_partitions), (FirstLevels, 1.0));
    // A billion posts are 550 GB. User 0 has a quarter of the posts and of the requests.
    let (large, physical) = by_user(Some(1_000_000_000));
    assert_eq!(physical, 11.0);
    near(large.physical_partitions, 0.75 * 1.0 + 0.25 * 3.0, 0.15);
    let dearer = large.request_units - small.request_units;
    near(dearer, (large.physical_partitions - 1.0) * (START + LOAD), 0.01);
}

#[test]
fn writes_cost_by_size_and_by_the_index() {
    let write = |operation: &str| json!({"kind": "w", "operation": operation, "filters": {"/id": "?", "/userId": "?"}, "set": ["/body"]});
    // id, userId, createdAt and body are two terms each, and so is the time of the write.
    for (operation, units) in [
        ("create", 4.95 + 10.0 * 0.2),
        ("delete", 4.95 + 10.0 * 0.2),
        ("replace", 2.0 * 4.95 + 8.0 * 0.2),
        ("patch", 2.0 * 4.95 + 8.0 * 0.2 + 0.4),
    ] {
        near(
            posts().with(write(operation)).report("/userId").requests[0].request_units,
            units,
            1e-9,
        );
    }
    let mut world = posts().with(write("create"));
    let policy = json!({"excludedPaths": [{"path": "/*"}], "includedPaths": []});
    world.options.indexing_policy = serde_json::from_value(policy).unwrap();
    near(world.report("/userId").requests[0].request_units, 4.95 + 4.0 * 0.2, 1e-9);
}

/// A comment of 200 bytes and its post of 20 KB, which counts it.
#[test]
fn each_write_of_a_transaction_has_the_size_of_its_items() {
    let items = (0..100).map(|n| {
        let is_post = n % 10 == 0;
        let (kind, bytes) = if is_post { ("post", 15_950) } else { ("comment", 150) };
        json!({"id": format!("{n:04}"), "postId": format!("{:04}", n / 10), "type": kind, "body": "b".repeat(bytes)})
    });
    let writes = json!([
        {"operation": "create", "filters": {"/type": "comment"}},
        {"operation": "replace", "filters": {"/type": "post"}, "set": ["/commentCount"]},
    ]);
    let comment = json!({"kind": "comment", "operation": "transaction", "filters": {"/postId": "?"}, "writes": writes});
    let report = ValidationWorld::of(items).with(comment).report("/postId");
    // The comment with five values; the new version of the post with its time and count.
    near(report.requests[0].request_units, 4.95 + 10.0 * 0.2 + 9.4 + 8.0 * 0.2, 0.01);
}

#[test]
fn the_share_of_requests_that_name_the_key_is_weighted_by_frequency() {
    let world = posts()
        .with(query("posts", json!({"/userId": "?"}), 900))
        .with(query("newest", json!({}), 100))
        .with(create(5_000));
    let report = world.report("/userId");
    assert_eq!((report.aligned, report.cross_partition), (Some(0.9), Some(0.1)));
    let by_kind: f64 = report.requests.iter().filter_map(|kind| kind.request_units_per_day).sum();
    near(report.request_units_per_day.value, by_kind, 1e-9);
    near(report.request_units_per_day.low, 0.75 * by_kind, 1e-9);
}
