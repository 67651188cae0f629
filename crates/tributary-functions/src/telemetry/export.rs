//! The export to an OpenTelemetry collector: OTLP over HTTP.
//!
//! Exporters run on threads of their own with bounded queues. A slow or unavailable collector loses spans,
//! and never delays a request. The variables are OpenTelemetry's own
//! (<https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/>). This module sets
//! other defaults for some.

use std::{env, time::Duration};

use opentelemetry::{KeyValue, global};
use opentelemetry_otlp::{
    ExporterBuildError, MetricExporter, Protocol, SpanExporter, WithExportConfig,
};
use opentelemetry_sdk::{
    Resource,
    metrics::{PeriodicReader, SdkMeterProvider},
    trace::{BatchConfigBuilder, BatchSpanProcessor, Sampler, SdkTracerProvider},
};
use uuid::Uuid;

use crate::brand::brand;

/// The host kills the process without a signal; the default is 5 s.
const SPAN_INTERVAL: Duration = Duration::from_secs(1);

const METRIC_INTERVAL: Duration = Duration::from_secs(10);

const STOP_TIMEOUT: Duration = Duration::from_secs(2);

pub(super) struct Providers {
    tracer: SdkTracerProvider,
    meter: SdkMeterProvider,
}

pub(super) fn start() -> Result<Providers, String> {
    let providers = build().map_err(|error| {
        let name = setting(&error).unwrap_or("One of the settings OTEL_EXPORTER_OTLP_…");
        format!("{name} is not valid; docs/configuration.md says what it may be.")
    })?;
    global::set_tracer_provider(providers.tracer.clone());
    global::set_meter_provider(providers.meter.clone());
    Ok(providers)
}

fn build() -> Result<Providers, ExporterBuildError> {
    let spans = SpanExporter::builder().with_http().with_protocol(Protocol::HttpBinary).build()?;
    let metrics =
        MetricExporter::builder().with_http().with_protocol(Protocol::HttpBinary).build()?;
    let resource = resource();

    let mut batches = BatchConfigBuilder::default();
    if !is_set("OTEL_BSP_SCHEDULE_DELAY") {
        batches = batches.with_scheduled_delay(SPAN_INTERVAL);
    }
    let processor = BatchSpanProcessor::builder(spans).with_batch_config(batches.build()).build();
    let mut tracer =
        SdkTracerProvider::builder().with_resource(resource.clone()).with_span_processor(processor);
    if !is_set("OTEL_TRACES_SAMPLER") {
        // The default sampler obeys the flag of the host's trace. The host's Application Insights sets it to 0
        // on every trace, also on those that it keeps.
        tracer = tracer.with_sampler(Sampler::AlwaysOn);
    }

    let mut reader = PeriodicReader::builder(metrics);
    if !is_set("OTEL_METRIC_EXPORT_INTERVAL") {
        reader = reader.with_interval(METRIC_INTERVAL);
    }
    let meter =
        SdkMeterProvider::builder().with_resource(resource).with_reader(reader.build()).build();
    Ok(Providers { tracer: tracer.build(), meter })
}

fn resource() -> Resource {
    let mut resource = Resource::builder().with_attributes([
        KeyValue::new("service.version", brand().version),
        KeyValue::new("service.instance.id", Uuid::new_v4().to_string()),
    ]);
    let named =
        env::var("OTEL_RESOURCE_ATTRIBUTES").is_ok_and(|text| text.contains("service.name="));
    if !named && !is_set("OTEL_SERVICE_NAME") {
        let site = env::var("WEBSITE_SITE_NAME").unwrap_or_else(|_| brand().name.into());
        resource = resource.with_service_name(site);
    }
    resource.build()
}

fn is_set(name: &str) -> bool {
    env::var_os(name).is_some_and(|value| !value.is_empty())
}

/// Leaves the value out, which may hold a key: the exporter's text is `NAME: reason`.
fn setting(error: &ExporterBuildError) -> Option<&str> {
    let ExporterBuildError::InvalidConfiguration(text) = error else {
        return None;
    };
    text.split_once(':').map(|(name, _)| name).filter(|name| name.starts_with("OTEL_"))
}

impl Providers {
    pub(super) fn stop(self) {
        // The exporter logs its errors.
        let _ = self.tracer.shutdown_with_timeout(STOP_TIMEOUT);
        let _ = self.meter.shutdown_with_timeout(STOP_TIMEOUT);
    }
}
