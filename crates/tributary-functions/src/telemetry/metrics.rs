//! Metrics: counts, durations and costs. Names and units are OpenTelemetry's, where it defines them.

use std::{
    borrow::Cow,
    sync::LazyLock,
    time::{Duration, SystemTime},
};

use opentelemetry::{
    Context, KeyValue, global,
    metrics::{Counter, Gauge, Histogram, Meter},
    trace::{Span as _, SpanKind, Status, TraceContextExt, Tracer},
};

use super::metrics;
use crate::brand::{brand, branded};

/// The instruments, created at first use: by then `start` has installed the provider.
static INSTRUMENTS: LazyLock<Instruments> = LazyLock::new(Instruments::new);

struct Instruments {
    requests: Histogram<f64>,
    invocations: Histogram<f64>,
    charge: Histogram<f64>,
    store_requests: Counter<u64>,
    store_throttled: Counter<u64>,
    store_operations: Histogram<f64>,
    lag: Histogram<f64>,
    changes: Counter<u64>,
    projection_state: Gauge<u64>,
    eager: Counter<u64>,
    waiting_changes: Gauge<u64>,
    waiting_time: Gauge<u64>,
    stopped_leases: Gauge<u64>,
    queries: Counter<u64>,
    partitions: Gauge<u64>,
    hottest_partition: Gauge<f64>,
    partition_gini: Gauge<f64>,
}

const DURATION_BOUNDS_SECONDS: [f64; 14] =
    [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0];
/// The bounds of charges. A point read is 1 request unit, a page of a query a few, a removal hundreds.
const CHARGE_BOUNDS_RU: [f64; 11] =
    [1.0, 2.0, 3.0, 5.0, 10.0, 25.0, 50.0, 100.0, 250.0, 1_000.0, 10_000.0];
/// The bounds of the lag of changes, in seconds. A change waits for seconds; minutes are an incident.
const LAG_BOUNDS_SECONDS: [f64; 9] = [0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 3_600.0];

/// Returns the meter of the app, for the instruments of a domain. A domain creates them at first use: by then
/// the provider is installed.
pub fn meter() -> Meter {
    global::meter(brand().name)
}

impl Instruments {
    fn new() -> Self {
        let meter = meter();
        let histogram = |name: Cow<'static, str>, unit: &'static str, bounds: &[f64]| {
            meter.f64_histogram(name).with_unit(unit).with_boundaries(bounds.to_vec()).build()
        };
        let counter = |name: Cow<'static, str>, unit: &'static str| {
            meter.u64_counter(name).with_unit(unit).build()
        };
        let whole = |name: Cow<'static, str>, unit: &'static str| {
            meter.u64_gauge(name).with_unit(unit).build()
        };
        let gauge = |name: Cow<'static, str>| meter.f64_gauge(name).with_unit("1").build();
        Self {
            requests: histogram(
                "http.server.request.duration".into(),
                "s",
                &DURATION_BOUNDS_SECONDS,
            ),
            invocations: histogram("faas.invoke_duration".into(), "s", &DURATION_BOUNDS_SECONDS),
            charge: histogram(branded("request_charge"), "{request_unit}", &CHARGE_BOUNDS_RU),
            store_requests: counter(branded("store.requests"), "{request}"),
            store_throttled: counter(branded("store.throttled"), "{request}"),
            store_operations: histogram(
                "db.client.operation.duration".into(),
                "s",
                &DURATION_BOUNDS_SECONDS,
            ),
            lag: histogram(branded("change_feed.lag"), "s", &LAG_BOUNDS_SECONDS),
            changes: counter(branded("change_feed.changes"), "{change}"),
            projection_state: meter.u64_gauge(branded("projection.state")).with_unit("1").build(),
            eager: counter(branded("projection.eager"), "{command}"),
            waiting_changes: whole(branded("change_feed.waiting"), "{change}"),
            waiting_time: whole(branded("change_feed.waiting_time"), "s"),
            stopped_leases: whole(branded("change_feed.stopped_leases"), "{lease}"),
            queries: counter(branded("store.queries"), "{query}"),
            partitions: meter.u64_gauge(branded("partitions")).with_unit("{partition}").build(),
            hottest_partition: gauge(branded("partitions.hottest_share")),
            partition_gini: gauge(branded("partitions.gini")),
        }
    }
}

/// The cost of a call of the host in the store.
#[derive(Debug, Clone, Copy)]
pub struct Cost {
    /// Request units.
    pub request_units: f64,
    /// Requests to the store.
    pub requests: u64,
    /// The requests among them that the store has refused with a 429.
    pub throttled: u64,
}

impl Cost {
    fn record(self, function: &'static str) {
        let attributes = [KeyValue::new("faas.name", function)];
        INSTRUMENTS.charge.record(self.request_units, &attributes);
        INSTRUMENTS.store_requests.add(self.requests, &attributes);
        INSTRUMENTS.store_throttled.add(self.throttled, &attributes);
    }
}

/// Measures an HTTP request. The attributes are those of its span.
pub fn request(function: &'static str, attributes: &[KeyValue], duration: Duration, cost: Cost) {
    INSTRUMENTS.requests.record(duration.as_secs_f64(), attributes);
    cost.record(function);
}

pub(super) fn invocation(
    function: &'static str,
    trigger: &'static str,
    failed: bool,
    duration: Duration,
) {
    let attributes = [
        KeyValue::new("faas.name", function),
        KeyValue::new("faas.trigger", trigger),
        KeyValue::new("outcome", if failed { "failure" } else { "success" }),
    ];
    INSTRUMENTS.invocations.record(duration.as_secs_f64(), &attributes);
}

pub(super) fn store_operation(attributes: &[KeyValue], duration: Duration) {
    INSTRUMENTS.store_operations.record(duration.as_secs_f64(), attributes);
}

#[derive(Debug)]
pub(crate) struct BatchMetrics {
    pub outcomes: [(&'static str, usize); 5],
    /// The wait of the oldest change; none of a batch that did not come from the change feed.
    pub lag: Option<Duration>,
    pub cost: Cost,
}

pub(crate) fn batch(function: &'static str, batch: &BatchMetrics) {
    let name = KeyValue::new("faas.name", function);
    for (outcome, changes) in batch.outcomes {
        let attributes = [name.clone(), KeyValue::new("outcome", outcome)];
        INSTRUMENTS.changes.add(changes as u64, &attributes);
    }
    if let Some(lag) = batch.lag {
        INSTRUMENTS.lag.record(lag.as_secs_f64(), &[name]);
    }
    batch.cost.record(function);
}

/// Measures the state of a projection as an instance has read it: 0 while it runs, 1 while it is paused.
pub(crate) fn projection_state(function: &'static str, is_paused: bool) {
    let attributes = [KeyValue::new("faas.name", function)];
    INSTRUMENTS.projection_state.record(u64::from(is_paused), &attributes);
}

/// Counts a command whose changes an eager projection has applied, or has left to the change feed.
pub(crate) fn eager_application(function: &'static str, outcome: &'static str) {
    let attributes = [KeyValue::new("faas.name", function), KeyValue::new("outcome", outcome)];
    INSTRUMENTS.eager.add(1, &attributes);
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct LagMetrics {
    /// The changes that wait for the lease that is the farthest behind.
    pub changes: u64,
    pub seconds: u64,
    pub stopped: usize,
}

pub(crate) fn projection_lag(function: &'static str, lag: LagMetrics) {
    let attributes = [KeyValue::new("faas.name", function)];
    INSTRUMENTS.waiting_changes.record(lag.changes, &attributes);
    INSTRUMENTS.waiting_time.record(lag.seconds, &attributes);
    INSTRUMENTS.stopped_leases.record(lag.stopped as u64, &attributes);
}

/// The use of the logical partitions of a container in a minute.
pub(super) struct PartitionFigures {
    pub(super) queries: u64,
    pub(super) cross_partition_queries: u64,
    pub(super) partitions: u64,
    /// The share of the hottest partition in the request units, from 0 to 1.
    pub(super) hottest_share: Option<f64>,
    pub(super) gini: Option<f64>,
}

pub(super) fn partitions(container: &'static str, figures: &PartitionFigures) {
    let container = KeyValue::new("db.collection.name", container);
    let crossing = figures.cross_partition_queries;
    for (is_crossing, queries) in [(true, crossing), (false, figures.queries - crossing)] {
        let attributes = [container.clone(), KeyValue::new("cross_partition", is_crossing)];
        INSTRUMENTS.queries.add(queries, &attributes);
    }
    let container = [container];
    INSTRUMENTS.partitions.record(figures.partitions, &container);
    if let Some(share) = figures.hottest_share {
        INSTRUMENTS.hottest_partition.record(share, &container);
    }
    if let Some(gini) = figures.gini {
        INSTRUMENTS.partition_gini.record(gini, &container);
    }
}

/// A completed operation of the store, with all the retries of the SDK.
///
/// The SDK's own handler for OpenTelemetry is unstable, and records only slow and failed operations.
#[derive(Debug)]
pub struct StoreOperation<'a> {
    /// The name of the SDK: `read_item`, `query_items`.
    pub name: &'a str,
    /// The container.
    pub container: Option<&'a str>,
    /// The status of the last answer; `None` without an answer.
    pub status: Option<u16>,
    /// The duration.
    pub duration: Duration,
    /// The cost.
    pub request_units: f64,
    /// The number of requests.
    pub requests: usize,
    /// The number of those that were refused with a 429.
    pub throttled: usize,
}

impl StoreOperation<'_> {
    /// Records the operation as a metric, and as a child of the current span.
    pub fn record(&self) {
        let attributes = self.attributes();
        metrics::store_operation(&attributes, self.duration);
        if Context::current().span().is_recording() {
            self.span(attributes);
        }
    }

    fn attributes(&self) -> Vec<KeyValue> {
        let mut attributes = vec![
            KeyValue::new("db.system.name", "azure.cosmosdb"),
            KeyValue::new("db.operation.name", self.name.to_owned()),
        ];
        if let Some(container) = self.container {
            attributes.push(KeyValue::new("db.collection.name", container.to_owned()));
        }
        if let Some(status) = self.status {
            attributes.push(KeyValue::new("db.response.status_code", status.to_string()));
        }
        attributes
    }

    fn span(&self, mut attributes: Vec<KeyValue>) {
        let count = |number: usize| i64::try_from(number).unwrap_or(i64::MAX);
        attributes.extend([
            KeyValue::new("azure.cosmosdb.operation.request_charge", self.request_units),
            KeyValue::new(branded("store.requests"), count(self.requests)),
            KeyValue::new(branded("store.throttled"), count(self.throttled)),
        ]);
        let name = match self.container {
            Some(container) => format!("{} {container}", self.name),
            None => self.name.to_owned(),
        };
        let end = SystemTime::now();
        let tracer = global::tracer(brand().name);
        let mut span = tracer
            .span_builder(name)
            .with_kind(SpanKind::Client)
            .with_start_time(end.checked_sub(self.duration).unwrap_or(end))
            .with_attributes(attributes)
            .start(&tracer);
        if self.status.is_none_or(|status| status >= 500) {
            span.set_status(Status::error(""));
        }
        span.end_with_timestamp(end);
    }
}
