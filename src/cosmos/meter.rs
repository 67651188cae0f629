//! What an API request costs: the request units and the store requests behind it.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
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
    nanoseconds: AtomicU64,
    /// The meter of the work that this one's is a part of.
    whole: Option<Arc<Meter>>,
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

    /// How long the SDK's operations took, its retries and pauses included; of operations side by
    /// side each counts.
    pub fn duration(&self) -> Duration {
        Duration::from_nanos(self.nanoseconds.load(Relaxed))
    }

    fn add(&self, hundredths_of_ru: u64, requests: u64, throttled: u64, nanoseconds: u64) {
        self.hundredths_of_ru.fetch_add(hundredths_of_ru, Relaxed);
        self.requests.fetch_add(requests, Relaxed);
        self.throttled.fetch_add(throttled, Relaxed);
        self.nanoseconds.fetch_add(nanoseconds, Relaxed);
        if let Some(whole) = &self.whole {
            whole.add(hundredths_of_ru, requests, throttled, nanoseconds);
        }
    }
}

/// Runs `work` with a meter that sees every store operation in it. When `work` is a part of other
/// metered work, the meter of that one sees them too.
///
/// Work that `work` spawns as tasks of its own is not seen.
pub async fn metered<F: Future>(work: F) -> (F::Output, Arc<Meter>) {
    let whole = METER.try_with(Arc::clone).ok();
    let meter = Arc::new(Meter { whole, ..Meter::default() });
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
            let requests = diagnostics.request_count() as u64;
            let nanoseconds = u64::try_from(diagnostics.duration().as_nanos()).unwrap_or(u64::MAX);
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "charges are small and positive; a cast saturates"
            )]
            meter.add(charge.round() as u64, requests, throttled as u64, nanoseconds);
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_whole_sees_what_its_parts_cost() {
        let spend = |hundredths| METER.with(|meter| meter.add(hundredths, 1, 0, 1_000));
        let ((first, second), whole) = metered(async {
            spend(100);
            let part = async |hundredths| metered(async { spend(hundredths) }).await.1;
            (part(25).await, part(50).await)
        })
        .await;
        let units = [&first, &second, &whole].map(|meter| meter.request_units());
        assert!(units.iter().zip([0.25, 0.5, 1.75]).all(|(unit, sum)| (unit - sum).abs() < 1e-9));
        assert_eq!((first.requests(), whole.requests()), (1, 3));
        assert_eq!((first.duration().as_micros(), whole.duration().as_micros()), (1, 3));
    }
}
