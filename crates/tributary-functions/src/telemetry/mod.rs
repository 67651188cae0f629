//! The telemetry of the handler: log lines and, if an exporter is configured, traces and metrics.
//!
//! Log lines go to stdout, and the Functions host sends them to Application Insights. The lines that
//! `docs/operations.md` uses are `Answered a request` (`src/http/answered.rs`), `Applied a
//! batch of changes` (`src/projection/batch.rs`) and `Measured the use of logical partitions`
//! (`src/telemetry/partitions/`). Traces and metrics go to an OpenTelemetry
//! collector if `OTEL_EXPORTER_OTLP_ENDPOINT` is set. Otherwise this module has nearly no overhead:
//! OpenTelemetry does nothing without an installed provider.
//!
//! The records have routes, names of functions, containers and operations, statuses and numbers, and never an
//! id or content. The setting `Log__PartitionKeys` shows partition keys.

mod export;
mod metrics;
mod partitions;
mod recent;
mod span;

use std::{sync::LazyLock, time::Duration};

use custom_handler::logs::{self, Format};
use tokio_util::task::TaskTracker;
use tracing::Instrument;

pub use self::metrics::meter;
pub(crate) use self::{
    metrics::{
        Cost, StoreOperation, batch, eager_application, projection_lag, projection_state, request,
    },
    partitions::{PartitionNames, note_use},
    recent::{
        BatchRecord, RequestRecord, WorkDetail, WorkRecord, followed, followed_apart,
        note_positions, recent_work, record,
    },
    span::{Span, TraceScope, invocation},
};
use crate::brand::brand;

/// The levels without `RUST_LOG`. The SDK logs each connection to an account at the level `info`.
const DEFAULT_LEVELS: &str = "info,azure_data_cosmos_driver=warn";

/// Debug and trace lines of the SDK and of the HTTP libraries contain headers, with keys and tokens, and bodies.
const VERBOSE_CRATES: [&str; 2] = ["tributary_functions", "custom_handler"];

static LATER_REPORTS: LazyLock<TaskTracker> = LazyLock::new(TaskTracker::new);

pub(crate) fn report_later(report: impl FnOnce() + Send + 'static) {
    LATER_REPORTS.spawn(async { report() }.in_current_span());
}

#[derive(Debug)]
pub(crate) struct TelemetryOptions {
    pub format: Format,
    /// True to export traces and metrics, or the reason for which they cannot be exported.
    pub export: Result<bool, String>,
    pub partitions: PartitionNames,
    /// True to keep records of recent requests and batches with their costs, in memory.
    pub recent: bool,
}

#[must_use = "what is not exported yet is lost without `stop`"]
pub(crate) struct Telemetry(Option<export::Providers>);

/// A domain may be a crate of its own, with the app's name and its own: `my-app-rooms`.
pub(crate) fn start<'a>(
    options: &TelemetryOptions,
    domains: impl Iterator<Item = &'a str>,
) -> Result<Telemetry, logs::InitError> {
    let format = options.format;
    let app = brand().name.replace('-', "_");
    let domains: Vec<String> = domains.map(|domain| format!("{app}_{domain}")).collect();
    let own = [&app].into_iter().chain(&domains).map(String::as_str);
    let verbose: Vec<&str> = own.chain(VERBOSE_CRATES).collect();
    logs::init_with(&logs::LogOptions { levels: DEFAULT_LEVELS, verbose: &verbose, format })?;
    partitions::start(options.partitions);
    if options.recent {
        recent::start();
    }
    let providers = match &options.export {
        Ok(false) => Ok(None),
        Ok(true) => export::start().map(Some),
        Err(reason) => Err(reason.clone()),
    };
    Ok(Telemetry(providers.unwrap_or_else(|reason| {
        tracing::warn!(reason, "Traces and metrics are not exported");
        None
    })))
}

impl Telemetry {
    /// If the host kills the process instead, the spans of the last second and the metrics of the last ten are lost.
    pub(crate) async fn stop(self) {
        LATER_REPORTS.close();
        LATER_REPORTS.wait().await;
        partitions::stop();
        if let Some(providers) = self.0 {
            // The shutdown waits for the collector, so it runs on a thread that may block.
            let _ = tokio::task::spawn_blocking(move || providers.stop()).await;
        }
    }
}

pub(crate) fn milliseconds(duration: Duration) -> f64 {
    (duration.as_secs_f64() * 100_000.0).round() / 100.0
}
