//! What the handler says of itself: log lines, and, when it is told to, traces and metrics.
//!
//! Log lines go to stdout, where the Functions host takes them to Application Insights; those that
//! `docs/operations.md` asks for are `Answered a request` (`src/http/answered.rs`), `Applied a
//! batch of changes` (`src/projection/batch.rs`) and `Measured the use of logical partitions`
//! (`src/telemetry/partitions/`). Traces and metrics go to an OpenTelemetry
//! collector when `OTEL_EXPORTER_OTLP_ENDPOINT` is set. Without it all of this module costs next to
//! nothing: OpenTelemetry does nothing as long as no provider is installed.
//!
//! Whatever is recorded here has routes, names of functions, containers and operations, statuses
//! and numbers in it, and never an id or content. A setting shows partition keys ([`PartitionNames`]).

mod export;
mod metrics;
mod partitions;
mod span;
mod store;

use std::{sync::LazyLock, time::Duration};

use custom_handler::logs::{self, Format};
use tokio_util::task::TaskTracker;
use tracing::Instrument;

use crate::brand::brand;

pub use self::{
    metrics::{BatchMetrics, Cost, batch, meter, request},
    partitions::{PartitionCounter, PartitionNames, PartitionUse},
    span::{Span, TraceScope, invocation},
    store::StoreOperation,
};

/// Levels where there is no `RUST_LOG`: the SDK tells of every account that it connects to.
const DEFAULT_LEVELS: &str = "info,azure_data_cosmos_driver=warn";

/// The crates of the framework that may write debug and trace lines, beside the app's own. The SDK and
/// the HTTP libraries put headers, with keys and tokens, and bodies into theirs.
const VERBOSE_CRATES: [&str; 2] = ["tributary_functions", "custom_handler"];

/// The tasks of [`report_later`] that have not ended.
static LATER_REPORTS: LazyLock<TaskTracker> = LazyLock::new(TaskTracker::new);

/// Tells of a request in a task of its own, which comes when the answer is on its way: nobody waits
/// for the line to be formatted and the pipe to take it. [`Telemetry::stop`] waits for it.
pub fn report_later(tell: impl FnOnce() + Send + 'static) {
    LATER_REPORTS.spawn(async { tell() }.in_current_span());
}

/// Settings of logs and telemetry.
#[derive(Debug)]
pub struct TelemetryOptions {
    /// The format of log lines.
    pub format: Format,
    /// Whether traces and metrics are exported. An error says why they cannot be; the app serves all
    /// the same.
    pub export: Result<bool, String>,
    /// The names of logical partitions in log lines.
    pub partitions: PartitionNames,
}

/// The exporters that are stopped in the end.
#[must_use = "what is not exported yet is lost without `stop`"]
pub struct Telemetry(Option<export::Providers>);

/// Begins to log, and to export when the settings say so.
pub fn start(options: &TelemetryOptions) -> Result<Telemetry, logs::InitError> {
    let format = options.format;
    let app = brand().name.replace('-', "_");
    let [framework, handler] = VERBOSE_CRATES;
    let verbose = [app.as_str(), framework, handler];
    logs::init_with(&logs::LogOptions { levels: DEFAULT_LEVELS, verbose: &verbose, format })?;
    partitions::start(options.partitions);
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
    /// Waits for what is told [`report_later`], and exports what is left. The Functions host kills the
    /// process instead; what was recorded in the last second or, of metrics, the last ten seconds is
    /// lost then.
    pub async fn stop(self) {
        LATER_REPORTS.close();
        LATER_REPORTS.wait().await;
        // guard: logical partitions: the last minute is told at the end
        partitions::stop();
        if let Some(providers) = self.0 {
            // It waits for the collector, on a thread where that is allowed.
            let _ = tokio::task::spawn_blocking(move || providers.stop()).await;
        }
    }
}

/// Milliseconds with two decimals, for log lines.
pub fn milliseconds(duration: Duration) -> f64 {
    (duration.as_secs_f64() * 100_000.0).round() / 100.0
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[tokio::test]
    async fn what_is_told_afterwards_is_told_before_the_end() {
        let (sender, told) = mpsc::channel();
        report_later(move || sender.send("an answer was given").unwrap());
        assert!(told.try_recv().is_err(), "nobody waits for it");
        Telemetry(None).stop().await;
        assert_eq!(told.try_recv(), Ok("an answer was given"));
    }
}
