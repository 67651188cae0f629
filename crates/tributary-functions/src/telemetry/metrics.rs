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

use super::{
    partitions::PartitionSummary,
    recent::{BatchRecord, WorkDetail, record},
};
use crate::brand::{brand, branded};

const DURATION_BOUNDS_SECONDS: [f64; 14] =
    [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0];
// A point read is 1 request unit, a page of a query a few, a removal hundreds.
const CHARGE_BOUNDS_RU: [f64; 11] =
    [1.0, 2.0, 3.0, 5.0, 10.0, 25.0, 50.0, 100.0, 250.0, 1_000.0, 10_000.0];
// A change waits for seconds; minutes are an incident.
const LAG_BOUNDS_SECONDS: [f64; 9] = [0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 3_600.0];

/// Returns the meter of the app. A domain creates its instruments at first use: then the provider is installed.
pub fn meter() -> Meter {
    global::meter(brand().name)
}

// The instruments are created at first use: by then `start` has installed the provider.

fn histogram(name: Cow<'static, str>, unit: &'static str, bounds: &[f64]) -> Histogram<f64> {
    meter().f64_histogram(name).with_unit(unit).with_boundaries(bounds.to_vec()).build()
}

fn durations(name: &'static str) -> Histogram<f64> {
    histogram(name.into(), "s", &DURATION_BOUNDS_SECONDS)
}

fn counter(name: &str, unit: &'static str) -> Counter<u64> {
    meter().u64_counter(branded(name)).with_unit(unit).build()
}

fn gauge(name: &str, unit: &'static str) -> Gauge<u64> {
    meter().u64_gauge(branded(name)).with_unit(unit).build()
}

fn share(name: &str) -> Gauge<f64> {
    meter().f64_gauge(branded(name)).with_unit("1").build()
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Cost {
    pub request_units: f64,
    /// Requests to the store.
    pub requests: u64,
    /// The requests among them that the store has refused with a 429.
    pub throttled: u64,
}

impl Cost {
    fn record(self, function: &'static str) {
        static CHARGE: LazyLock<Histogram<f64>> = LazyLock::new(|| {
            histogram(branded("request_charge"), "{request_unit}", &CHARGE_BOUNDS_RU)
        });
        static REQUESTS: LazyLock<Counter<u64>> =
            LazyLock::new(|| counter("store.requests", "{request}"));
        static THROTTLED: LazyLock<Counter<u64>> =
            LazyLock::new(|| counter("store.throttled", "{request}"));
        let attributes = [KeyValue::new("faas.name", function)];
        CHARGE.record(self.request_units, &attributes);
        REQUESTS.add(self.requests, &attributes);
        THROTTLED.add(self.throttled, &attributes);
    }
}

pub(crate) fn request(
    function: &'static str,
    attributes: &[KeyValue],
    duration: Duration,
    cost: Cost,
) {
    static REQUESTS: LazyLock<Histogram<f64>> =
        LazyLock::new(|| durations("http.server.request.duration"));
    REQUESTS.record(duration.as_secs_f64(), attributes);
    cost.record(function);
}

pub(super) fn invocation(
    function: &'static str,
    trigger: &'static str,
    failed: bool,
    duration: Duration,
) {
    static INVOCATIONS: LazyLock<Histogram<f64>> =
        LazyLock::new(|| durations("faas.invoke_duration"));
    let attributes = [
        KeyValue::new("faas.name", function),
        KeyValue::new("faas.trigger", trigger),
        KeyValue::new("outcome", if failed { "failure" } else { "success" }),
    ];
    INVOCATIONS.record(duration.as_secs_f64(), &attributes);
}

pub(crate) fn batch(
    function: &'static str,
    batch: BatchRecord,
    duration: Duration,
    cost: Cost,
    detail: Option<WorkDetail>,
) {
    static CHANGES: LazyLock<Counter<u64>> =
        LazyLock::new(|| counter("change_feed.changes", "{change}"));
    static LAG: LazyLock<Histogram<f64>> =
        LazyLock::new(|| histogram(branded("change_feed.lag"), "s", &LAG_BOUNDS_SECONDS));
    let name = KeyValue::new("faas.name", function);
    for (outcome, changes) in [
        ("applied", batch.applied),
        ("unchanged", batch.unchanged),
        ("older", batch.older),
        ("dead_letter", batch.dead_letters),
        ("failed", batch.failed),
    ] {
        let attributes = [name.clone(), KeyValue::new("outcome", outcome)];
        CHANGES.add(changes as u64, &attributes);
    }
    if let Some(lag) = batch.lag_ms.map(Duration::from_millis) {
        LAG.record(lag.as_secs_f64(), &[name]);
    }
    cost.record(function);
    record(function, duration, cost, detail, (None, Some(batch)));
}

pub(crate) fn projection_state(function: &'static str, is_paused: bool) {
    static STATE: LazyLock<Gauge<u64>> = LazyLock::new(|| gauge("projection.state", "1"));
    STATE.record(is_paused.into(), &[KeyValue::new("faas.name", function)]);
}

pub(crate) fn eager_application(function: &'static str, outcome: &'static str) {
    static EAGER: LazyLock<Counter<u64>> =
        LazyLock::new(|| counter("projection.eager", "{command}"));
    EAGER.add(1, &[KeyValue::new("faas.name", function), KeyValue::new("outcome", outcome)]);
}

pub(crate) fn projection_lag(function: &'static str, changes: u64, seconds: u64, stopped: usize) {
    static CHANGES: LazyLock<Gauge<u64>> =
        LazyLock::new(|| gauge("change_feed.waiting", "{change}"));
    static TIME: LazyLock<Gauge<u64>> = LazyLock::new(|| gauge("change_feed.waiting_time", "s"));
    static STOPPED: LazyLock<Gauge<u64>> =
        LazyLock::new(|| gauge("change_feed.stopped_leases", "{lease}"));
    let attributes = [KeyValue::new("faas.name", function)];
    CHANGES.record(changes, &attributes);
    TIME.record(seconds, &attributes);
    STOPPED.record(stopped as u64, &attributes);
}

pub(super) fn partitions(container: &'static str, used: &PartitionSummary) {
    static QUERIES: LazyLock<Counter<u64>> = LazyLock::new(|| counter("store.queries", "{query}"));
    static PARTITIONS: LazyLock<Gauge<u64>> = LazyLock::new(|| gauge("partitions", "{partition}"));
    static HOTTEST: LazyLock<Gauge<f64>> = LazyLock::new(|| share("partitions.hottest_share"));
    static GINI: LazyLock<Gauge<f64>> = LazyLock::new(|| share("partitions.gini"));
    let container = KeyValue::new("db.collection.name", container);
    let crossing = used.cross_partition_queries;
    for (is_crossing, queries) in [(true, crossing), (false, used.queries - crossing)] {
        let attributes = [container.clone(), KeyValue::new("cross_partition", is_crossing)];
        QUERIES.add(queries, &attributes);
    }
    let container = [container];
    PARTITIONS.record(used.partitions, &container);
    if used.request_units > 0.0 {
        HOTTEST.record(used.hottest_units() / used.request_units, &container);
    }
    if let Some(gini) = used.gini {
        GINI.record(gini, &container);
    }
}

/// The SDK's own handler for OpenTelemetry is unstable, and records only slow and failed operations.
#[derive(Debug)]
pub(crate) struct StoreOperation<'a> {
    /// The name of the SDK: `read_item`, `query_items`.
    pub name: &'a str,
    pub container: Option<&'a str>,
    /// The status of the last answer; `None` without an answer.
    pub status: Option<u16>,
    pub duration: Duration,
    pub request_units: f64,
    pub requests: usize,
    /// The number of those that were refused with a 429.
    pub throttled: usize,
}

impl StoreOperation<'_> {
    pub(crate) fn record(&self) {
        static OPERATIONS: LazyLock<Histogram<f64>> =
            LazyLock::new(|| durations("db.client.operation.duration"));
        let attributes = self.attributes();
        OPERATIONS.record(self.duration.as_secs_f64(), &attributes);
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
