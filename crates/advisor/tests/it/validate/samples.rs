//! A tenth of a container, drawn at random, gives the key of the whole at about its cost. So does the whole in any
//! order.

use serde_json::{Map, Value, json};
use tributary_partition::{
    CandidateReport, RequestKind, ValidationOptions,
    advice::{RankedCandidate, rank},
    validate,
};

use super::{near, second};
use crate::support::{create, query, random};

/// A data set with its requests and candidates.
struct Data {
    name: &'static str,
    items: Vec<Value>,
    requests: Vec<Value>,
    candidates: &'static str,
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a small count")]
fn below(n: u64, of: u64, most: u64) -> u64 {
    (random(n, of) * most as f64) as u64
}

/// Returns one of `most` numbers, of which the first is the most frequent, by a power law.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a small count")]
fn skewed(n: u64, of: u64, most: u64) -> u64 {
    ((most as f64).powf(random(n, of)) - 1.0) as u64
}

/// Returns filters by values of the sample.
fn by(paths: &[&str]) -> Value {
    paths.iter().map(|path| ((*path).to_owned(), json!("?"))).collect::<Map<_, _>>().into()
}

fn read(paths: &[&str], per_day: u32) -> Value {
    json!({"kind": "read", "operation": "read", "filters": by(paths), "frequency": {"perDay": per_day}})
}

fn page(kind: &str, filters: Value, order: &str, per_day: u32) -> Value {
    let mut request = query(kind, filters, per_day);
    request["limit"] = json!(20);
    request["orderBy"] = json!(order);
    request
}

/// Returns filters by a value of the sample and the last days of a time.
fn recent(path: &str, time: &str, days: &str) -> Value {
    json!({path: "?", time: {"last": days}})
}

const N: u64 = 6_000;

fn items(item: impl Fn(u64) -> Value) -> Vec<Value> {
    (0..N).map(item).collect()
}

fn at(n: u64) -> String {
    second(n * 400)
}

fn pad(bytes: usize) -> String {
    "p".repeat(bytes)
}

fn data() -> Vec<Data> {
    let orders = Data {
        name: "orders of customers",
        items: items(|n| {
            let customer = format!("c-{}", below(n, 1, 1_500));
            json!({"id": format!("order-{n}"), "customerId": customer, "status": below(n, 2, 4),
                "createdAt": at(n), "x": pad(400)})
        }),
        requests: vec![
            read(&["/id", "/customerId"], 400_000),
            page("of a customer", by(&["/customerId"]), "/createdAt desc", 300_000),
            query("by status", json!({"/status": 1, "/createdAt": {"last": "1 day"}}), 20),
            create(50_000),
        ],
        candidates: "/customerId|/id|/status|/createdAt by day|/customerId,/id|/id in 100 buckets",
    };
    let documents = Data {
        name: "documents of tenants",
        items: items(|n| {
            let user = format!("u-{}", below(n, 7, 4_000));
            json!({"id": format!("doc-{n}"), "tenantId": format!("t-{}", skewed(n, 6, 60)), "userId": user,
                "createdAt": at(n), "x": pad(900)})
        }),
        requests: vec![
            page("of a tenant", by(&["/tenantId"]), "/createdAt desc", 60_000),
            page("of a user", by(&["/tenantId", "/userId"]), "/createdAt desc", 90_000),
            read(&["/id", "/tenantId", "/userId"], 200_000),
            create(8_000),
        ],
        candidates: "/tenantId|/tenantId,/userId|/userId|/tenantId,/id|/id",
    };
    let carts = Data {
        name: "carts with their lines",
        items: items(|n| {
            let user = format!("u-{}", below(n / 4, 17, 2_000));
            json!({"id": format!("line-{n}"), "cartId": format!("cart-{}", n / 4), "userId": user,
                "at": at(n), "x": pad(180)})
        }),
        requests: vec![
            query("lines of a cart", by(&["/cartId"]), 900_000),
            json!({"kind": "add", "operation": "transaction", "filters": {"/cartId": "?"},
                "writes": [{"operation": "create"}, {"operation": "replace"}], "frequency": {"perDay": 300_000}}),
            query("of a user", by(&["/userId"]), 500),
        ],
        candidates: "/cartId|/userId|/id|/userId,/cartId|/cartId in 100 buckets",
    };
    vec![orders, documents, carts]
}

impl Data {
    fn options(items: &[Value], container: u64, physical: Option<u32>) -> ValidationOptions {
        let time = ["createdAt", "at"].iter().find(|name| items[0].get(name).is_some());
        ValidationOptions {
            time: time.map(|name| format!("/{name}").parse().unwrap()),
            items_in_container: Some(container),
            physical_partitions: physical,
            ..ValidationOptions::default()
        }
    }

    fn kinds(&self) -> Vec<RequestKind> {
        let kinds = self.requests.iter();
        kinds.map(|request| serde_json::from_value(request.clone()).unwrap()).collect()
    }

    fn reports(&self, items: &[Value], options: ValidationOptions) -> Vec<CandidateReport> {
        let candidates = self.candidates.split('|').map(|key| key.parse().unwrap()).collect();
        let lines: String = items.iter().map(|item| item.to_string() + "\n").collect();
        validate(lines.as_bytes(), self.kinds(), candidates, options).unwrap()
    }

    fn first(&self, items: &[Value], container: u64, physical: Option<u32>) -> (String, f64) {
        let reports = self.reports(items, Self::options(items, container, physical));
        let RankedCandidate { request_units, report, .. } = rank(reports).remove(0);
        (report.strategy.to_string(), request_units.unwrap())
    }
}

/// Returns each item with this probability.
fn drawn(items: &[Value], probability: f64) -> Vec<Value> {
    let items = items.iter().enumerate();
    let drawn = items.filter(|(n, _)| random(*n as u64, 30) < probability);
    drawn.map(|(_, item)| item.clone()).collect()
}

#[test]
fn a_tenth_and_any_order_give_the_key_of_the_whole_at_about_its_cost() {
    for data in data() {
        let name = data.name;
        // In eight physical partitions.
        let (first, units) = data.first(&data.items, N, Some(8));
        let mut ordered = data.items.clone();
        let key = first.split([',', '+', ' ']).next().unwrap();
        ordered.sort_by_key(|item| item[&key[1..]].to_string());
        let tenth = drawn(&data.items, 0.1);
        for (part, items, error) in [("ordered", ordered, 0.02), ("a tenth", tenth, 0.34)] {
            let (of_part, part_units) = data.first(&items, N, Some(8));
            assert_eq!(of_part, first, "{name}, {part}");
            let factor = part_units / units;
            assert!((factor - 1.0).abs() < error, "{name}, {part}: {factor}");
        }
    }
}

/// Departures of airports in a container that is far larger than the file: the joined key wins by its
/// limits and by where the requests of today go.
#[test]
fn a_sample_of_a_large_container_decides_as_the_whole_file_does() {
    let items = items(|n| {
        let origin = format!("o-{}", below(n, 40, 3));
        json!({"id": format!("{n}"), "origin": origin, "flight": format!("f-{}", skewed(n, 41, 800)),
            "at": at(n), "x": pad(120)})
    });
    let data = Data {
        name: "departures",
        items,
        requests: vec![
            page("departures", recent("/origin", "/at", "1 day"), "/at desc", 20_000_000),
            read(&["/id", "/origin", "/flight", "/at"], 50_000_000),
            page("of a flight", recent("/flight", "/at", "7 days"), "/at desc", 2_000_000),
            create(90_000),
        ],
        candidates: "/origin|/at by day|/origin+/at by day|/flight|/origin,/flight|/id",
    };
    let (whole, units) = data.first(&data.items, 1_000_000_000, None);
    let (sample, sample_units) = data.first(&drawn(&data.items, 0.1), 1_000_000_000, None);
    assert_eq!([whole, sample], ["/origin+/at by day"; 2]);
    let factor = sample_units / units;
    assert!((0.75..1.33).contains(&factor), "{factor}");
}

/// In a sample of whole users, the items of a user are known, and those of a tag are scaled.
#[test]
fn a_group_within_whole_keys_is_complete_and_one_over_several_is_not() {
    let items = items(
        |n| json!({"id": format!("{n}"), "user": n / 8, "tag": below(n, 60, 100), "at": at(n)}),
    );
    let is_drawn = |item: &&Value| random(item["user"].as_u64().unwrap(), 61) < 0.1;
    let whole_users: Vec<_> = items.iter().filter(is_drawn).cloned().collect();
    let data = Data {
        name: "users",
        items,
        requests: vec![
            query("of a user", by(&["/user"]), 100),
            query("of a tag", by(&["/tag"]), 100),
        ],
        candidates: "/user|/user+/at by month",
    };
    let options = ValidationOptions {
        whole_keys: Some("/user".parse().unwrap()),
        ..Data::options(&whole_users, N, Some(8))
    };
    let estimates = data.reports(&whole_users, options).remove(0);
    near(estimates.requests[0].items_loaded, 8.0, 1e-9);
    near(estimates.requests[1].items_loaded, 61.0, 0.25);
    near(estimates.cardinality.value, 750.0, 0.01);
}
