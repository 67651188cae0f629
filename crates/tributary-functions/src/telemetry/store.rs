//! Operations of the store, as spans and as metrics.

use std::time::{Duration, SystemTime};

use opentelemetry::{
    Context, KeyValue, global,
    trace::{Span as _, SpanKind, Status, TraceContextExt, Tracer},
};

use super::metrics;
use crate::brand::{brand, branded};

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

    /// Returns the attributes, with few enough combinations for a metric.
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
