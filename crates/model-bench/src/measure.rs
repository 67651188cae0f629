//! Asking a model, again and again, and writing down what it took.

use std::{
    collections::BTreeSet,
    time::{Duration, Instant},
};

use anyhow::Context;
use serde::Serialize;
use tributary::{blog::model::Username, cosmos::metered};
use tributary_local::cosmos::StoreRequest;
use tributary_tools::{Sorted, mean};

use crate::{
    calls::{Calls, VISITORS},
    data::DataSet,
    models::Model,
    progress::Progress,
    request::{Request, Version},
    store::Database,
};

/// How much is asked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Effort {
    /// The most requests of a kind.
    pub(crate) requests: usize,
    /// After how long no further request of a kind begins.
    pub(crate) budget: Duration,
}

/// What a request took in a model: means over its runs, but for the percentiles.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Row {
    pub(crate) request: Request,
    pub(crate) model: Version,
    pub(crate) runs: usize,
    pub(crate) store_requests: f64,
    /// Where the store itself can be asked.
    #[serde(flatten)]
    pub(crate) seen: Option<Seen>,
    pub(crate) request_units: f64,
    pub(crate) p50_ms: f64,
    pub(crate) p99_ms: f64,
    /// Store requests of all runs that were refused with a 429, and came again.
    pub(crate) throttled: u64,
}

/// What the store did, as it says itself.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Seen {
    pub(crate) logical_partitions: f64,
    pub(crate) physical_partitions: f64,
    pub(crate) items_read: f64,
    pub(crate) items_returned: f64,
    pub(crate) bytes_sent: f64,
    pub(crate) bytes_received: f64,
}

struct Run {
    latency_ms: f64,
    store_requests: f64,
    request_units: f64,
    throttled: u64,
    seen: Option<Seen>,
}

/// Measures the ten requests, queries first, while nothing is new.
pub(crate) async fn measure<M: Model>(
    model: &M,
    database: &Database,
    data: &DataSet,
    effort: Effort,
    mut progress: Progress,
) -> anyhow::Result<Vec<Row>> {
    let mut visitors = Vec::new();
    for n in 0..VISITORS {
        visitors.push(model.create_user(&Username::parse(format!("visitor-{n}"))?).await?);
    }
    let mut requests = Request::ALL;
    requests.sort_by_key(|request| request.is_command());
    let mut rows = Vec::new();
    for request in requests {
        let mut calls = Calls::new(request, data, &visitors);
        let runs = runs(model, database, data, &mut calls, effort).await;
        let runs = runs.with_context(|| format!("{request} of {}", M::VERSION))?;
        rows.push(row(request, M::VERSION, &runs));
        progress.add(1);
    }
    rows.sort_by_key(|row| row.request);
    Ok(rows)
}

/// The runs of one kind. Calls that nobody measures come before: a query has its container looked
/// up, and the product remembers the names of all visitors.
async fn runs<M: Model>(
    model: &M,
    database: &Database,
    data: &DataSet,
    calls: &mut Calls<'_>,
    effort: Effort,
) -> anyhow::Result<Vec<Run>> {
    let n_before = if calls.request().is_command() { VISITORS } else { 1 };
    for _ in 0..n_before {
        calls.next()?.ask(model).await?;
    }
    let most = effort.requests.min(calls.most().saturating_sub(n_before)).max(1);
    let (begin, mut runs) = (Instant::now(), Vec::new());
    while runs.is_empty() || (runs.len() < most && begin.elapsed() < effort.budget) {
        let call = calls.next()?;
        database.take_requests();
        let start = Instant::now();
        let (answer, meter) = metered(call.ask(model)).await;
        let latency = start.elapsed();
        answer?;
        #[expect(clippy::cast_precision_loss, reason = "some hundreds")]
        runs.push(Run {
            latency_ms: latency.as_secs_f64() * 1_000.0,
            store_requests: meter.requests() as f64,
            request_units: meter.request_units(),
            throttled: meter.throttled(),
            seen: database.take_requests().map(|requests| seen(&requests, data.posts.len())),
        });
    }
    Ok(runs)
}

/// What the store did for one call. A request that names no partition key is one to all logical
/// partitions: those of the posts.
#[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
fn seen(requests: &[StoreRequest], n_posts: usize) -> Seen {
    let (mut logical, mut everywhere) = (BTreeSet::new(), BTreeSet::new());
    let (mut physical, mut sums) = (BTreeSet::new(), [0_usize; 4]);
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
    let [items_read, items_returned, bytes_sent, bytes_received] = sums.map(|sum| sum as f64);
    Seen {
        logical_partitions: (named + everywhere.len() * n_posts) as f64,
        physical_partitions: physical.len() as f64,
        items_read,
        items_returned,
        bytes_sent,
        bytes_received,
    }
}

fn row(request: Request, model: Version, runs: &[Run]) -> Row {
    let latencies: Vec<_> = runs.iter().map(|run| run.latency_ms).collect();
    let latencies = Sorted::from(latencies);
    let seen: Option<Vec<Seen>> = runs.iter().map(|run| run.seen).collect();
    Row {
        request,
        model,
        runs: runs.len(),
        store_requests: mean(runs.iter().map(|run| run.store_requests)),
        seen: seen.map(|seen| {
            let mean = |of: fn(&Seen) -> f64| mean(seen.iter().map(of));
            Seen {
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
