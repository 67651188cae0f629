//! The estimates of `tributary-partition` for a partition key, beside the measures of the three
//! domains' requests on the wire: store requests, physical partitions and request units of each.
//!
//! The items of each container are kept in `target/tmp/partitioning`, for docs/partitioning.md.

mod blog;
mod news;
mod webstore;

use std::{fmt::Write as _, fs, path::Path};

use serde_json::Value;
use tributary_local::cosmos::{RequestKind as Does, StoreRequest};
use tributary_partition::{
    CandidateReport, RequestKind, ValidationOptions,
    request::{RequestFilter, RequestOperation},
    validate,
};

use crate::world::World;

/// The number of requests of each kind.
const SENT: usize = 40;

/// The largest difference between an estimate and a count.
const ERROR: f64 = 0.1;

const PARTITIONS: u32 = 4;

/// A container with its items and its kinds of requests.
struct Example {
    container: &'static str,
    /// Its partition key, as the properties that it is made of.
    key: &'static str,
    /// The file of its kinds of requests, in `docs/examples`.
    requests: &'static str,
}

struct Way {
    kind: &'static str,
    does: fn(&StoreRequest) -> bool,
    /// Method, path and body of the n-th, about an item of the sample.
    call: fn(&Value, usize) -> (&'static str, String, Option<Value>),
}

const fn way(
    kind: &'static str,
    does: fn(&StoreRequest) -> bool,
    call: fn(&Value, usize) -> (&'static str, String, Option<Value>),
) -> Way {
    Way { kind, does, call }
}

/// The cost of a kind of request: store requests, each in one physical partition, and request
/// units.
#[derive(Clone, Copy)]
struct Cost {
    physical: f64,
    request_units: f64,
}

impl Example {
    /// Sends each kind of request, and compares its measurements with the report.
    async fn compare(&self, world: &World, ways: &[Way]) {
        let items = world.items(self.container).await;
        let kinds = self.kinds();
        assert_eq!(
            kinds.iter().map(|kind| kind.kind.as_str()).collect::<Vec<_>>(),
            ways.iter().map(|way| way.kind).collect::<Vec<_>>(),
            "each kind of {} is sent",
            self.requests
        );
        let report = self.report(&items, kinds.clone());
        let mut table = String::new();
        let mut wrong = Vec::new();
        // The queries come first, before the commands change their results.
        let is_query = |(kind, _): &(&RequestKind, &Way)| {
            matches!(kind.operation, RequestOperation::Read | RequestOperation::Query)
        };
        let (queries, commands): (Vec<_>, Vec<_>) = kinds.iter().zip(ways).partition(is_query);
        for (kind, way) in queries.into_iter().chain(commands) {
            let seen = self.seen(world, &items, kind, way).await;
            let said = report.requests.iter().find(|said| said.kind == kind.kind).unwrap();
            let said =
                Cost { physical: said.physical_partitions, request_units: said.request_units };
            let is_near = |said: f64, seen: f64| (said - seen).abs() <= ERROR * seen;
            let _ = writeln!(
                table,
                "| {} | {:.2} | {:.2} | {:.2} | {:.2} |",
                kind.kind, said.physical, seen.physical, said.request_units, seen.request_units
            );
            if !is_near(said.physical, seen.physical)
                || !is_near(said.request_units, seen.request_units)
            {
                wrong.push(way.kind);
            }
        }
        println!("{} by {}:\n{table}", self.container, self.key);
        assert!(wrong.is_empty(), "{} by {}: {wrong:?}\n{table}", self.container, self.key);
    }

    fn kinds(&self) -> Vec<RequestKind> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let text = fs::read_to_string(root.join("docs/examples").join(self.requests)).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    fn report(&self, items: &[Value], kinds: Vec<RequestKind>) -> CandidateReport {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let containers = fs::read_to_string(root.join("infra/containers.json")).unwrap();
        let containers: Value = serde_json::from_str(&containers).unwrap();
        let containers = containers["containers"].as_array().unwrap();
        let container =
            containers.iter().find(|definition| definition["id"] == self.container).unwrap();
        let policy = &container["indexingPolicy"];
        let mut lines = String::new();
        for item in items {
            let _ = writeln!(lines, "{item}");
        }
        let kept = Path::new(env!("CARGO_TARGET_TMPDIR")).join("partitioning");
        fs::create_dir_all(&kept).unwrap();
        fs::write(kept.join(format!("{}.jsonl", self.container)), &lines).unwrap();
        let options = ValidationOptions {
            physical_partitions: Some(PARTITIONS),
            indexing_policy: serde_json::from_value(policy.clone()).unwrap(),
            ..ValidationOptions::default()
        };
        let candidates = vec![self.key.parse().unwrap()];
        validate(lines.as_bytes(), kinds, candidates, options).unwrap().remove(0)
    }

    async fn seen(&self, world: &World, items: &[Value], kind: &RequestKind, way: &Way) -> Cost {
        let about: Vec<&Value> = items.iter().filter(|item| is_about(kind, item)).collect();
        assert!(!about.is_empty(), "no item for {}", way.kind);
        let mut counted: Vec<StoreRequest> = Vec::new();
        let sent = if about.len() < SENT { about.len() * (SENT / about.len()) } else { SENT };
        for n in 0..sent {
            let (method, path, body) = (way.call)(about[n * about.len() / sent], n);
            let requests_before = world.endpoint.request_count();
            let answer = world.call(method, &path, &[], body).await;
            assert!(answer.status.is_success(), "{}: {method} {path}: {}", way.kind, answer.text);
            counted.extend(
                world
                    .endpoint
                    .requests_since(requests_before)
                    .into_iter()
                    .filter(|request| request.container == self.container && (way.does)(request)),
            );
        }
        let answers = || counted.iter().filter_map(|request| request.answer.as_ref());
        let each = |sum: f64| sum / f64::from(u32::try_from(sent).unwrap());
        let begun = answers().filter(|answer| answer.request_units > 0.0).count();
        Cost {
            physical: each(f64::from(u32::try_from(begun).unwrap())),
            request_units: each(answers().map(|answer| answer.request_units).sum()),
        }
    }
}

const READ: fn(&StoreRequest) -> bool = |request| request.kind == Does::Read;
const QUERY: fn(&StoreRequest) -> bool = |request| request.kind == Does::Query;
const CREATE: fn(&StoreRequest) -> bool = |request| request.kind == Does::Create;
const REPLACE: fn(&StoreRequest) -> bool = |request| request.kind == Does::Replace;
const BATCH: fn(&StoreRequest) -> bool = |request| request.kind == Does::Batch;

fn is_about(kind: &RequestKind, item: &Value) -> bool {
    kind.filters.iter().all(|(path, wanted)| match wanted {
        RequestFilter::Fixed(condition) => {
            let wanted = serde_json::to_value(condition).unwrap();
            let value = path.find(item).cloned().unwrap_or_default();
            wanted == value || wanted.as_array().is_some_and(|all| all.contains(&value))
        }
        RequestFilter::Drawn | RequestFilter::Last(_) => path.find(item).is_some(),
    })
}

fn text<'a>(item: &'a Value, name: &str) -> &'a str {
    item[name].as_str().unwrap_or_else(|| panic!("{name} of {item}"))
}

/// A number from 0 to `below` - 1: small ones come more often, as popular things do.
fn popular(n: usize, below: usize) -> usize {
    // Spreads evenly over 0..1000, and is then squared.
    let even = n * 617 % 1_000;
    even * even * below / 1_000_000
}
