//! Keys are ranked by the costs of requests and of risks. Of two with the same costs, the simpler is first.

use serde_json::{Value, json};

use super::{ValidationWorld, near, query, read, second};
use crate::advice::RankedCandidate;

/// Returns 3,000 events of 600 users over 30 days, in two years.
fn events() -> impl Iterator<Item = Value> {
    (0..3_000_u64).map(|n| {
        json!({
            "id": format!("event-{n}"), "userId": format!("user-{}", n % 600), "year": 2025 + n % 2,
            "type": format!("type-{}", n % 5), "at": second(n * 864), "body": "b".repeat(300),
        })
    })
}

fn keys(ranked: &[RankedCandidate]) -> Vec<String> {
    ranked.iter().map(|standing| standing.report.strategy.to_string()).collect()
}

/// A second level makes a query of each point read: the share of fan-outs sinks, and the cost rises.
#[test]
fn a_dearer_key_does_not_win_by_a_smaller_share_of_fan_outs() {
    let mut world = ValidationWorld::of(events())
        .with(read(json!({"/id": "?"}), 900_000))
        .with(query("of a type", json!({"/type": "type-1"}), 1_000))
        .with(query("of a user", json!({"/userId": "?"}), 100_000));
    world.options.physical_partitions = Some(8);
    let ranked = world.ranked(&["/id,/year", "/id"]);
    assert!(ranked[0].request_units < ranked[1].request_units);
    assert_eq!(keys(&ranked), ["/id", "/id,/year"]);
}

#[test]
fn in_one_physical_partition_no_spread_costs_anything() {
    let world = ValidationWorld::of(events())
        .time("/at")
        .with(query("of a type", json!({"/type": "?"}), 20_000))
        .with(query("of a user", json!({"/userId": "?"}), 30_000));
    for standing in world.ranked(&["/type", "/userId", "/year", "/id"]) {
        let strategy = &standing.report.strategy;
        assert_eq!(Some(standing.score), standing.request_units, "{strategy}");
    }
}

/// Just below and just above a threshold of the findings, the score is almost the same.
#[test]
fn risks_are_continuous() {
    let score = |fan_outs: u32| {
        let mut world = ValidationWorld::of(events())
            .with(query("of a type", json!({"/type": "type-1"}), fan_outs))
            .with(query("of a user", json!({"/userId": "?"}), 100_000));
        world.options.physical_partitions = Some(8);
        world.ranked(&["/userId"])[0].score
    };
    let below = score(99_900);
    let above = score(100_100);
    assert!(above > below && above < below * 1.01, "{below} {above}");
}

/// Three keys over sixteen physical partitions: most of the throughput is idle.
#[test]
fn few_keys_over_many_physical_partitions_cost_what_stays_idle() {
    let mut world =
        ValidationWorld::of(events()).with(query("of a type", json!({"/type": "?"}), 40_000_000));
    world.options.physical_partitions = Some(16);
    let standing = &world.ranked(&["/type"])[0];
    // Five keys with a fifth of the load each: the throughput of 16 partitions is bought for the load of 3.2.
    let factor = standing.score / standing.request_units.unwrap();
    near(factor, 16.0 / 5.0, 0.3);
}

#[test]
fn of_equals_the_simplest_and_then_the_one_with_fewer_warnings_is_first() {
    let items = (0..600).map(|n| json!({"id": n.to_string(), "user": format!("user-{}", n % 150)}));
    let of_a_user = query("items of a user", json!({"/user": "?"}), 1_000);
    let world = ValidationWorld::of(items).with(of_a_user);
    let ranked = world.ranked(&["/id", "/user in 200 buckets", "/user"]);
    assert_eq!(keys(&ranked), ["/user", "/id", "/user in 200 buckets"]);
}
