//! The costs of an API request: the request units and the store requests behind it.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use azure_core::http::Context;
use azure_data_cosmos::diagnostics::{
    CosmosOperationContext, DiagnosticsContext, DiagnosticsHandler,
};
use futures::future::BoxFuture;

use super::session::InstanceSession;
use crate::telemetry::{Cost, StoreOperation};

tokio::task_local! {
    static METER: Arc<Meter>;
}

/// The sum of the costs of one task's store operations.
#[derive(Debug, Default)]
pub struct Meter {
    hundredths_of_ru: AtomicU64,
    requests: AtomicU64,
    throttled: AtomicU64,
    nanoseconds: AtomicU64,
    used: AtomicBool,
    /// The part of the request units for which a [`Pacer`](super::Pacer) has made later work wait.
    paced_hundredths: AtomicU64,
    parent: Option<Arc<Meter>>,
}

impl From<&Meter> for Cost {
    fn from(meter: &Meter) -> Self {
        Self {
            request_units: meter.request_units(),
            requests: meter.requests(),
            throttled: meter.throttled(),
        }
    }
}

impl Meter {
    /// Returns the request units charged so far, with two decimals as the store gives them.
    pub fn request_units(&self) -> f64 {
        in_units(self.hundredths_of_ru.load(Relaxed))
    }

    /// Returns the number of requests sent to the store so far, the retries of the SDK included.
    pub fn requests(&self) -> u64 {
        self.requests.load(Relaxed)
    }

    pub(crate) fn throttled(&self) -> u64 {
        self.throttled.load(Relaxed)
    }

    /// A member of a large group may have used the store for a share of 0 requests.
    pub(crate) fn used_the_store(&self) -> bool {
        self.used.load(Relaxed)
    }

    /// Returns the sum of the durations of all calls of the SDK, its retries and pauses included.
    pub(crate) fn duration(&self) -> Duration {
        Duration::from_nanos(self.nanoseconds.load(Relaxed))
    }

    /// Divides the costs among `members`, to the last one. Each share has the whole duration: all have waited for it.
    pub(super) fn shares(&self, members: usize) -> impl Iterator<Item = CostShare> {
        let members = members as u64;
        let [units, requests, throttled, nanoseconds] =
            [&self.hundredths_of_ru, &self.requests, &self.throttled, &self.nanoseconds]
                .map(|total| total.load(Relaxed));
        (0..members).map(move |member| {
            let part = |total: u64| total / members + u64::from(member < total % members);
            CostShare {
                hundredths_of_ru: part(units),
                requests: part(requests),
                throttled: part(throttled),
                nanoseconds,
            }
        })
    }

    /// Notes in the meters of outer work, too, that they are counted: work in turns may have parts in turns.
    pub(super) fn take_unpaced(&self) -> f64 {
        let paced = self.paced_hundredths.load(Relaxed);
        let unpaced = self.hundredths_of_ru.load(Relaxed).saturating_sub(paced);
        let mut meter = Some(self);
        while let Some(one) = meter {
            one.paced_hundredths.fetch_add(unpaced, Relaxed);
            meter = one.parent.as_deref();
        }
        in_units(unpaced)
    }

    fn add(&self, share: CostShare) {
        self.used.store(true, Relaxed);
        self.hundredths_of_ru.fetch_add(share.hundredths_of_ru, Relaxed);
        self.requests.fetch_add(share.requests, Relaxed);
        self.throttled.fetch_add(share.throttled, Relaxed);
        self.nanoseconds.fetch_add(share.nanoseconds, Relaxed);
        if let Some(parent) = &self.parent {
            parent.add(share);
        }
    }
}

fn in_units(hundredths: u64) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "2^53 hundredths are 90 trillion units")]
    let hundredths = hundredths as f64;
    hundredths / 100.0
}

pub(super) fn current_meter() -> Option<Arc<Meter>> {
    METER.try_with(Arc::clone).ok()
}

#[derive(Debug, Clone, Copy, Default)]
pub(super) struct CostShare {
    hundredths_of_ru: u64,
    requests: u64,
    throttled: u64,
    nanoseconds: u64,
}

impl CostShare {
    pub(super) fn charge(self) {
        // Outside of a metered task, the cost is not needed.
        let _ = METER.try_with(|meter| meter.add(self));
    }

    #[cfg(test)]
    pub(super) fn for_request(hundredths_of_ru: u64) -> Self {
        Self { hundredths_of_ru, requests: 1, ..Self::default() }
    }
}

/// Runs `work` with a meter of all its store operations; a meter around it counts them, too. Operations in tasks that
/// `work` spawns are not counted, but the members of a group commit are charged their shares.
pub async fn metered<F: Future>(work: F) -> (F::Output, Arc<Meter>) {
    // The other work is that in which this one runs, not that in which it was made.
    metered_within(current_meter(), work).await
}

pub(super) fn metered_apart<F: Future>(work: F) -> impl Future<Output = (F::Output, Arc<Meter>)> {
    metered_within(None, work)
}

async fn metered_within<F: Future>(parent: Option<Arc<Meter>>, work: F) -> (F::Output, Arc<Meter>) {
    let meter = Arc::new(Meter { parent, ..Meter::default() });
    let output = METER.scope(Arc::clone(&meter), work).await;
    (output, meter)
}

/// Adds the whole duration of a call to the meter: the diagnostics leave out the work before and after it. Boxed: the
/// futures of the SDK are too deep for the compiler to prove them `Send`.
pub(super) fn timed<'a, F: Future + Send + 'a>(call: F) -> BoxFuture<'a, F::Output> {
    Box::pin(async {
        let started = Instant::now();
        let output = call.await;
        charge_since(started);
        output
    })
}

pub(super) fn timed_sync<T>(call: impl FnOnce() -> T) -> T {
    let started = Instant::now();
    let output = call();
    charge_since(started);
    output
}

fn charge_since(started: Instant) {
    let nanoseconds = u64::try_from(started.elapsed().as_nanos()).unwrap_or(u64::MAX);
    CostShare { nanoseconds, ..CostShare::default() }.charge();
}

pub(super) struct MeterHandler(pub(super) Arc<InstanceSession>);

impl DiagnosticsHandler for MeterHandler {
    fn handle(&self, diagnostics: &DiagnosticsContext, context: &Context<'_>) {
        let requests = diagnostics.requests();
        let throttled =
            requests.iter().filter(|request| u16::from(*request.status()) == 429).count();
        let names = context.value::<CosmosOperationContext>();
        let operation = names.and_then(CosmosOperationContext::operation_name);
        let container = names.and_then(CosmosOperationContext::container_name);
        StoreOperation {
            name: operation.unwrap_or("operation"),
            container,
            status: diagnostics.effective_status().map(u16::from),
            duration: diagnostics.duration(),
            request_units: diagnostics.total_request_charge().value(),
            requests: diagnostics.request_count(),
            throttled,
        }
        .record();
        if let Some(container) = container {
            let answers =
                requests.iter().filter(|request| !request.status().is_read_session_not_available());
            let answers =
                answers.map(|answer| (u16::from(*answer.status()), answer.session_token()));
            self.0.note(container, operation.unwrap_or_default(), answers);
        }
        let charge = diagnostics.total_request_charge().value() * 100.0;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "charges are small and positive; a cast saturates"
        )]
        let hundredths_of_ru = charge.round() as u64;
        CostShare {
            hundredths_of_ru,
            requests: diagnostics.request_count() as u64,
            throttled: throttled as u64,
            nanoseconds: 0,
        }
        .charge();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn share(hundredths_of_ru: u64) -> CostShare {
        CostShare { nanoseconds: 1_000, ..CostShare::for_request(hundredths_of_ru) }
    }

    #[tokio::test]
    async fn a_shared_cost_is_divided_without_a_rest() {
        let parent = Meter::default();
        parent.add(CostShare { requests: 2, throttled: 1, ..share(1_000) });
        let shares: Vec<_> = parent.shares(7).collect();
        assert!(shares.iter().all(|share| matches!(share.hundredths_of_ru, 142 | 143)));
        assert!(shares.iter().all(|share| share.nanoseconds == 1_000));
        let ((), meter) = metered(async {
            for share in shares {
                share.charge();
            }
        })
        .await;
        assert_eq!((meter.requests(), meter.throttled()), (2, 1));
        assert!((meter.request_units() - 10.0).abs() < 1e-9);
    }
}
