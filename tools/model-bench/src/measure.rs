//! The measurement of repeated requests to a model.

use std::{
    collections::BTreeSet,
    time::{Duration, Instant},
};

use serde::Serialize;
use tributary_functions::cosmos::metered;
use tributary_local::cosmos::StoreRequest;
use tributary_tools::{Sorted, mean};

/// The size of a measurement.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Effort {
    /// The number of requests of a kind at most.
    pub(crate) requests: usize,
    /// The time after which no further request of a kind begins.
    pub(crate) budget: Duration,
}

/// One kind of request to one model, one call after the other.
pub(crate) trait Asked {
    /// A request with its subjects.
    type Call;

    /// Returns the number of calls before the measured ones, which fill the caches.
    fn n_before(&self) -> usize {
        1
    }
    /// Returns the number of possible calls.
    fn most(&self) -> usize {
        usize::MAX
    }
    /// Returns the number of items of a call, among which its cost is divided.
    fn items(&self) -> u32 {
        1
    }
    /// Prepares and returns the next call.
    async fn next(&mut self) -> anyhow::Result<Self::Call>;
    /// Sends the call to the model.
    async fn ask(&self, call: &Self::Call) -> anyhow::Result<()>;
    /// Returns the requests to the store since the last call; `None` if they are unknown.
    fn take_requests(&self) -> Option<Vec<StoreRequest>>;
    /// Returns the number of logical partitions of a request to all of a container.
    fn logical_partitions(&self, container: &str) -> usize;
    /// Receives the requests to the store of one measured call.
    fn note(&mut self, _: &[StoreRequest]) {}
}

/// The cost of a request: means over its runs, but for the percentiles.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct RequestMeans {
    pub(crate) runs: usize,
    pub(crate) store_requests: f64,
    /// The store's own figures, if it has them.
    #[serde(flatten)]
    pub(crate) seen: Option<StoreMeans>,
    pub(crate) request_units: f64,
    pub(crate) p50_ms: f64,
    pub(crate) p99_ms: f64,
    /// Store requests of all runs that were refused with a 429, and retried.
    pub(crate) throttled: u64,
}

/// The store's own figures of the requests.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct StoreMeans {
    pub(crate) logical_partitions: f64,
    pub(crate) physical_partitions: f64,
    pub(crate) items_read: f64,
    pub(crate) items_returned: f64,
    pub(crate) bytes_sent: f64,
    pub(crate) bytes_received: f64,
}

struct MeasuredRun {
    latency_ms: f64,
    store_requests: f64,
    request_units: f64,
    throttled: u64,
    seen: Option<StoreMeans>,
}

/// Measures one kind of request.
pub(crate) async fn measure(
    asked: &mut impl Asked,
    effort: Effort,
) -> anyhow::Result<RequestMeans> {
    for _ in 0..asked.n_before() {
        let call = asked.next().await?;
        asked.ask(&call).await?;
    }
    let most = effort.requests.min(asked.most().saturating_sub(asked.n_before())).max(1);
    let begin = Instant::now();
    let mut runs = Vec::new();
    while runs.is_empty() || (runs.len() < most && begin.elapsed() < effort.budget) {
        let call = asked.next().await?;
        asked.take_requests();
        let start = Instant::now();
        let (answer, meter) = metered(asked.ask(&call)).await;
        let latency = start.elapsed();
        answer?;
        let requests = asked.take_requests();
        asked.note(requests.as_deref().unwrap_or_default());
        let items = f64::from(asked.items());
        #[expect(clippy::cast_precision_loss, reason = "some hundreds")]
        runs.push(MeasuredRun {
            latency_ms: latency.as_secs_f64() * 1_000.0 / items,
            store_requests: meter.requests() as f64 / items,
            request_units: meter.request_units() / items,
            throttled: meter.throttled(),
            seen: requests.map(|requests| store_means(&requests, asked)),
        });
    }
    Ok(measured(&runs))
}

/// Returns the store's figures of one call. A request without a partition key is one to all logical
/// partitions of its container.
#[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
fn store_means(requests: &[StoreRequest], asked: &impl Asked) -> StoreMeans {
    let mut logical = BTreeSet::new();
    let mut everywhere = BTreeSet::new();
    let mut physical = BTreeSet::new();
    let mut sums = [0_usize; 4];
    for request in requests {
        let container = request.container.as_str();
        match &request.partition_key {
            Some(key) => drop(logical.insert((container, key))),
            None => drop(everywhere.insert(container)),
        }
        sums[2] += request.bytes;
        let Some(answer) = &request.answer else { continue };
        physical.insert((container, answer.physical_partition.as_deref()));
        sums[0] += answer.items_loaded.unwrap_or(0) as usize;
        sums[1] += answer.items_returned as usize;
        sums[3] += answer.bytes;
    }
    let named = logical.iter().filter(|(container, _)| !everywhere.contains(container)).count();
    let all: usize = everywhere.iter().map(|container| asked.logical_partitions(container)).sum();
    let items = f64::from(asked.items());
    let [items_read, items_returned, bytes_sent, bytes_received] =
        sums.map(|sum| sum as f64 / items);
    StoreMeans {
        logical_partitions: (named + all) as f64 / items,
        physical_partitions: physical.len() as f64 / items,
        items_read,
        items_returned,
        bytes_sent,
        bytes_received,
    }
}

fn measured(runs: &[MeasuredRun]) -> RequestMeans {
    let latencies: Vec<_> = runs.iter().map(|run| run.latency_ms).collect();
    let latencies = Sorted::from(latencies);
    let seen: Option<Vec<StoreMeans>> = runs.iter().map(|run| run.seen).collect();
    RequestMeans {
        runs: runs.len(),
        store_requests: mean(runs.iter().map(|run| run.store_requests)),
        seen: seen.map(|seen| {
            let mean = |of: fn(&StoreMeans) -> f64| mean(seen.iter().map(of));
            StoreMeans {
                logical_partitions: mean(|seen| seen.logical_partitions),
                physical_partitions: mean(|seen| seen.physical_partitions),
                items_read: mean(|seen| seen.items_read),
                items_returned: mean(|seen| seen.items_returned),
                bytes_sent: mean(|seen| seen.bytes_sent),
                bytes_received: mean(|seen| seen.bytes_received),
            }
        }),
        request_units: mean(runs.iter().map(|run| run.request_units)),
        p50_ms: latencies.percentile(50),
        p99_ms: latencies.percentile(99),
        throttled: runs.iter().map(|run| run.throttled).sum(),
    }
}
