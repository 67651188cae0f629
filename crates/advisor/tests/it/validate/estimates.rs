//! Request units and fan-out, beside the ledger's formulas by hand.

use serde_json::{Value, json};
use tributary_partition::report::{NamedLevels, RequestEstimates};

use super::{ValidationWorld, near, second};
use crate::support::{create, query};

/// Returns 1,200 posts: 40 users, some with more posts than others, over 30 days.
fn posts() -> impl Iterator<Item = Value> {
    (0..1_200_u64).map(|n| {
        let user = if n % 4 == 0 { 0 } else { n % 40 };
        json!({
            "id": format!("post-{n}"), "userId": format!("user-{user}"), "createdAt": second(n * 2_160),
            "body": "b".repeat(500),
        })
    })
}

fn cost(request: Value, candidate: &str, physical: u32) -> RequestEstimates {
    let mut world = ValidationWorld::of(posts()).with(request);
    world.options.physical_partitions = Some(physical);
    world.report(candidate).requests.remove(0)
}

/// Bytes of an answer for each post, with the properties of the system.
const KILOBYTES: f64 = (594.0 + 220.0) / 1_024.0;

#[test]
fn a_query_that_names_the_key_loads_what_its_partition_has() {
    let one = cost(query("posts", json!({"/userId": "?"}), 1), "/userId", 4);
    assert_eq!(one.names, NamedLevels::Key);
    assert_eq!((one.logical_partitions, one.physical_partitions), (1.0, 1.0));
    // Requests often ask for a user with many posts: the mean is over posts, not over users.
    let posts_of_user =
        |user: u64| (0..1_200).filter(|n| (if n % 4 == 0 { 0 } else { n % 40 }) == user).count();
    let squares: usize = (0..40).map(|user| posts_of_user(user).pow(2)).sum();
    let loaded = squares as f64 / 1_200.0;
    near(one.items_loaded, loaded, 1e-9);
    near(one.request_units, 2.5 + 0.2 + loaded * (0.08 + KILOBYTES * 0.1), 0.01);
}

#[test]
fn the_first_level_of_a_key_is_in_as_few_physical_partitions_as_its_data_needs() {
    let by_user = |items_in_container: Option<u64>| {
        let mut request = query("posts", json!({"/userId": "?"}), 1);
        request["limit"] = json!(1);
        let mut world = ValidationWorld::of(posts()).with(request);
        world.options.items_in_container = items_in_container;
        let report = world.report("/userId,/id");
        assert_eq!(report.aligned, Some(1.0));
        (report.requests[0].clone(), report.cross_partition, report.physical_partitions)
    };
    let (small, cross_partition, _) = by_user(None);
    assert_eq!((small.names, small.physical_partitions), (NamedLevels::FirstLevels, 1.0));
    assert_eq!(cross_partition, Some(0.0));
    // A billion posts are 550 GB. User 0 has a quarter of the posts and of the requests.
    let (large, cross_partition, physical) = by_user(Some(1_000_000_000));
    assert_eq!(physical, 11.0);
    near(large.physical_partitions, 0.75 * 1.0 + 0.25 * 3.0, 0.15);
    assert_eq!(cross_partition, Some(0.0));
    let dearer = large.request_units - small.request_units;
    near(dearer, (large.physical_partitions - 1.0) * (2.7 + 0.08 + KILOBYTES * 0.1), 0.01);
}

#[test]
fn a_limit_bounds_what_each_partition_loads() {
    let mut request = query("newest", json!({"/userId": "?"}), 1);
    request["limit"] = json!(10);
    request["orderBy"] = json!("/createdAt desc");
    let one = cost(request.clone(), "/userId", 4);
    near(one.items_loaded, 10.0, 1e-9);
    near(one.request_units, 2.5 + 2.0 * 0.2 + 10.0 * (0.08 + KILOBYTES * 0.1), 0.01);
    let everywhere = cost(request, "/id", 4);
    assert_eq!(everywhere.names, NamedLevels::No);
    assert_eq!((everywhere.logical_partitions, everywhere.physical_partitions), (1_200.0, 4.0));
    near(everywhere.request_units, 4.0 * (2.5 + 0.4) + everywhere.items_loaded * 0.16, 0.05);
    assert!(everywhere.items_loaded > 20.0 && everywhere.items_loaded <= 40.0);
}

#[test]
fn a_point_read_costs_by_size_and_a_fan_out_where_the_key_is_unknown() {
    let read = |filters: Value| json!({"kind": "read", "operation": "read", "filters": filters});
    let known = cost(read(json!({"/id": "?", "/userId": "?"})), "/userId", 4);
    assert_eq!((known.request_units, known.physical_partitions), (1.0, 1.0));
    let unknown = cost(read(json!({"/id": "?"})), "/userId", 4);
    near(unknown.request_units, 4.0 * 2.7 + 0.08 + KILOBYTES * 0.1, 0.01);
}

#[test]
fn a_last_window_ends_at_the_newest_item() {
    let last =
        |days: &str| query("recent", json!({"/userId": "user-0", "/createdAt": {"last": days}}), 1);
    let all = cost(last("60 days"), "/userId", 1).items_loaded;
    assert_eq!(all, 300.0);
    // Ten of thirty days.
    near(cost(last("10 days"), "/userId", 1).items_loaded, 100.0, 0.05);
    let by_day = cost(last("10 days"), "/userId+/createdAt by day", 1);
    assert_eq!(by_day.logical_partitions, 11.0);
    assert_eq!(by_day.names, NamedLevels::Several);
}

/// The newest items of a day may be in any of its buckets, so these are read before the next day.
#[test]
fn partitions_in_the_order_of_the_answer_are_read_until_it_is_full() {
    let of_user = json!({"/userId": "user-0", "/createdAt": {"last": "10 days"}});
    let of_all = json!({"/createdAt": {"last": "10 days"}});
    for (filters, limit, key, partitions, loaded) in [
        // Ten a day.
        (&of_user, None, "/userId+/createdAt by day", 11.0, 100.0),
        (&of_user, Some(25), "/userId+/createdAt by day", 3.0, 25.0),
        // Forty a day.
        (&of_all, Some(25), "/createdAt by day", 1.0, 25.0),
        (&of_all, Some(25), "/createdAt by day+/id in 5 buckets", 5.0, 5.0 * 25.0),
        (&of_all, Some(60), "/createdAt by day+/id in 5 buckets", 10.0, 5.0 * 60.0),
    ] {
        let mut request = query("recent", filters.clone(), 1);
        request["orderBy"] = json!("/createdAt desc");
        request["limit"] = json!(limit);
        let cost = cost(request, key, 1);
        assert_eq!(cost.physical_partitions, partitions, "{key}, {limit:?}");
        near(cost.items_loaded, loaded, 0.05);
    }
}

#[test]
fn writes_cost_by_size_and_by_the_index() {
    let write = |operation: &str| json!({"kind": "w", "operation": operation, "filters": {"/id": "?", "/userId": "?"}, "set": ["/body"]});
    // id, userId, createdAt and body are two terms each, and so is the time of the write.
    near(cost(write("create"), "/userId", 1).request_units, 4.95 + 10.0 * 0.2, 1e-9);
    near(cost(write("delete"), "/userId", 1).request_units, 4.95 + 10.0 * 0.2, 1e-9);
    near(cost(write("replace"), "/userId", 1).request_units, 2.0 * 4.95 + 8.0 * 0.2, 1e-9);
    near(cost(write("patch"), "/userId", 1).request_units, 2.0 * 4.95 + 8.0 * 0.2 + 0.4, 1e-9);
    let mut world = ValidationWorld::of(posts()).with(write("create"));
    world.options.indexing_policy =
        serde_json::from_value(json!({"excludedPaths": [{"path": "/*"}], "includedPaths": []}))
            .unwrap();
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
    let units =
        ValidationWorld::of(items).with(comment).report("/postId").requests[0].request_units;
    // The comment with five values; the new version of the post with its time and count.
    near(units, 4.95 + 10.0 * 0.2 + 9.4 + 8.0 * 0.2, 0.01);
}

#[test]
fn an_aggregate_loads_all_that_it_sums_up() {
    let mut count = query("count", json!({"/userId": "?"}), 1);
    count["select"] = json!("count");
    count["limit"] = json!(1);
    let counted = cost(count, "/userId", 1);
    assert!(counted.items_loaded > 90.0);
    near(counted.request_units, 2.7 + counted.items_loaded * (0.08 + KILOBYTES * 0.08), 0.01);
}

#[test]
fn the_share_of_requests_that_name_the_key_is_weighted_by_frequency() {
    let world = ValidationWorld::of(posts())
        .with(query("posts", json!({"/userId": "?"}), 900))
        .with(query("newest", json!({}), 100))
        .with(create(5_000));
    let report = world.report("/userId");
    assert_eq!(report.aligned, Some(0.9));
    assert_eq!(report.cross_partition, Some(0.1));
    let by_kind: f64 = report.requests.iter().filter_map(|kind| kind.request_units_per_day).sum();
    near(report.request_units_per_day.value, by_kind, 1e-9);
    near(report.request_units_per_day.low, 0.75 * by_kind, 1e-9);
}
