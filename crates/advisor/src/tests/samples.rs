//! A tenth of a container, drawn at random, gives the key of the whole at about its cost. So does the whole in any
//! order.

use serde_json::{Map, Value, json};

use super::{ValidationWorld, create, near, query, random, read, second};
use crate::ValidationOptions;

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a small count")]
fn below(n: u64, of: u64, most: u64) -> u64 {
    (random(n, of) * most as f64) as u64
}

/// Returns one of `most` numbers, of which the first is the most frequent, by a power law.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a small count")]
fn skewed(n: u64, of: u64, most: u64) -> u64 {
    ((most as f64).powf(random(n, of)) - 1.0) as u64
}

fn by(paths: &[&str]) -> Value {
    paths.iter().map(|path| ((*path).to_owned(), json!("?"))).collect::<Map<_, _>>().into()
}

fn page(kind: &str, filters: Value, order: &str, per_day: u32) -> Value {
    let mut request = query(kind, filters, per_day);
    request["limit"] = json!(20);
    request["orderBy"] = json!(order);
    request
}

const N: u64 = 6_000;

fn at(n: u64) -> String {
    second(n * 400)
}

fn world(item: impl Fn(u64) -> Value) -> ValidationWorld {
    ValidationWorld::of((0..N).map(item))
}

impl ValidationWorld {
    /// Returns the world of a container with so many items, of which each is in the sample with this probability.
    fn drawn(&self, probability: f64, container: u64) -> Self {
        let numbered = self.items.iter().zip(0..);
        let drawn = numbered.filter(|(_, n)| random(*n, 30) < probability);
        let mut world =
            Self { items: drawn.map(|(item, _)| item.clone()).collect(), ..self.clone() };
        world.options.items_in_container = Some(container);
        world
    }

    fn first(&self, candidates: &[&str]) -> (String, f64) {
        let first = self.ranked(candidates).remove(0);
        (first.strategy().to_string(), first.request_units.unwrap())
    }
}

#[test]
fn a_tenth_and_any_order_give_the_key_of_the_whole_at_about_its_cost() {
    let documents = world(|n| {
        let user = format!("u-{}", below(n, 7, 4_000));
        json!({"id": format!("doc-{n}"), "tenantId": format!("t-{}", skewed(n, 6, 60)), "userId": user,
            "createdAt": at(n), "x": "p".repeat(900)})
    })
    .time("/createdAt")
    .with(page("of a tenant", by(&["/tenantId"]), "/createdAt desc", 60_000))
    .with(page("of a user", by(&["/tenantId", "/userId"]), "/createdAt desc", 90_000))
    .with(read(by(&["/id", "/tenantId", "/userId"]), 200_000))
    .with(create(8_000));
    let mut whole = documents.drawn(1.0, N);
    whole.options.physical_partitions = Some(8);
    let mut tenth = documents.drawn(0.1, N);
    tenth.options.physical_partitions = Some(8);
    let candidates = ["/tenantId", "/tenantId,/userId", "/userId", "/tenantId,/id", "/id"];
    let (first, units) = whole.first(&candidates);
    let mut ordered = whole.clone();
    ordered.items.sort_by_key(|item| item["tenantId"].to_string());
    for (part, world, error) in [("ordered", ordered, 0.02), ("a tenth", tenth, 0.34)] {
        let (of_part, part_units) = world.first(&candidates);
        assert_eq!(of_part, first, "{part}");
        let factor = part_units / units;
        assert!((factor - 1.0).abs() < error, "{first}, {part}: {factor}");
    }
}

/// Departures of airports in a container that is far larger than the file: the joined key wins by its
/// limits and by where the requests of today go.
#[test]
fn a_sample_of_a_large_container_decides_as_the_whole_file_does() {
    let recent = |path: &str, days: &str| json!({path: "?", "/at": {"last": days}});
    let departures = world(|n| {
        let origin = format!("o-{}", below(n, 40, 3));
        json!({"id": format!("{n}"), "origin": origin, "flight": format!("f-{}", skewed(n, 41, 800)),
            "at": at(n), "x": "p".repeat(120)})
    })
    .time("/at")
    .with(page("departures", recent("/origin", "1 day"), "/at desc", 20_000_000))
    .with(read(by(&["/id", "/origin", "/flight", "/at"]), 50_000_000))
    .with(page("of a flight", recent("/flight", "7 days"), "/at desc", 2_000_000))
    .with(create(90_000));
    let keys = ["/origin", "/at by day", "/origin+/at by day", "/flight", "/origin,/flight", "/id"];
    let [whole, tenth] =
        [1.0, 0.1].map(|share| departures.drawn(share, 1_000_000_000).first(&keys));
    assert_eq!([whole.0, tenth.0], ["/origin+/at by day"; 2]);
    let factor = tenth.1 / whole.1;
    assert!((0.75..1.33).contains(&factor), "{factor}");
}

/// In a sample of whole users, the items of a user are known, and those of a tag are scaled.
#[test]
fn a_group_within_whole_keys_is_complete_and_one_over_several_is_not() {
    let mut users = world(
        |n| json!({"id": format!("{n}"), "user": n / 8, "tag": below(n, 60, 100), "at": at(n)}),
    )
    .time("/at")
    .with(query("of a user", by(&["/user"]), 100))
    .with(query("of a tag", by(&["/tag"]), 100));
    users.items.retain(|item| random(item["user"].as_u64().unwrap(), 61) < 0.1);
    users.options = ValidationOptions {
        whole_keys: Some("/user".parse().unwrap()),
        items_in_container: Some(N),
        physical_partitions: Some(8),
        ..users.options
    };
    let estimates = users.report("/user");
    near(estimates.requests[0].items_loaded, 8.0, 1e-9);
    near(estimates.requests[1].items_loaded, 61.0, 0.25);
    near(estimates.cardinality.value, 750.0, 0.01);
}
