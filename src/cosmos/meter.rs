//! What an API request costs: the request units and the store requests behind it.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering::Relaxed},
};

use azure_core::http::Context;
use azure_data_cosmos::diagnostics::{
    CosmosOperationContext, DiagnosticsContext, DiagnosticsHandler,
};

use crate::telemetry::StoreOperation;

tokio::task_local! {
    static METER: Arc<Meter>;
}

/// Adds up what the store operations of one task cost.
#[derive(Debug, Default)]
pub struct Meter {
    hundredths_of_ru: AtomicU64,
    requests: AtomicU64,
    throttled: AtomicU64,
}

impl Meter {
    /// Request units charged so far, to two decimals as the store gives them.
    pub fn request_units(&self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "2^53 hundredths are 90 trillion units")]
        let hundredths = self.hundredths_of_ru.load(Relaxed) as f64;
        hundredths / 100.0
    }

    /// Requests sent to the store so far, the retries of the SDK included.
    pub fn requests(&self) -> u64 {
        self.requests.load(Relaxed)
    }

    /// How many of them the store has refused with a 429.
    pub fn throttled(&self) -> u64 {
        self.throttled.load(Relaxed)
    }
}

/// Runs `work` with a meter that sees every store operation in it.
///
/// Work that `work` spawns as tasks of its own is not seen.
pub async fn metered<F: Future>(work: F) -> (F::Output, Arc<Meter>) {
    let meter = Arc::new(Meter::default());
    let output = METER.scope(Arc::clone(&meter), work).await;
    (output, meter)
}

/// Tells telemetry and the meter of the current task of every operation that the client completes.
pub(super) struct MeterHandler;

impl DiagnosticsHandler for MeterHandler {
    fn handle(&self, diagnostics: &DiagnosticsContext, context: &Context<'_>) {
        let requests = diagnostics.requests();
        let throttled = requests.iter().filter(|one| u16::from(*one.status()) == 429).count();
        let names = context.value::<CosmosOperationContext>();
        StoreOperation {
            name: names.and_then(CosmosOperationContext::operation_name).unwrap_or("operation"),
            container: names.and_then(CosmosOperationContext::container_name),
            status: diagnostics.effective_status().map(u16::from),
            duration: diagnostics.duration(),
            request_units: diagnostics.total_request_charge().value(),
            requests: diagnostics.request_count(),
            throttled,
        }
        .record();
        // Outside of a metered task, nobody asks what it costs.
        let _ = METER.try_with(|meter| {
            let charge = diagnostics.total_request_charge().value() * 100.0;
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "charges are small and positive; a cast saturates"
            )]
            meter.hundredths_of_ru.fetch_add(charge.round() as u64, Relaxed);
            meter.requests.fetch_add(diagnostics.request_count() as u64, Relaxed);
            meter.throttled.fetch_add(throttled as u64, Relaxed);
        });
    }
}
