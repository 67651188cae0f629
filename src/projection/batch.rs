//! A batch of the change feed, from the documents to the answer.

use std::{
    collections::{HashMap, hash_map::Entry},
    sync::atomic::{AtomicBool, Ordering::Relaxed},
    time::Duration,
};

use backon::{BackoffBuilder, ExponentialBuilder};
use custom_handler::{Document, Documents, InvocationId};
use futures::{FutureExt, StreamExt, future::BoxFuture, stream};
use serde::Deserialize;
use tokio::time::{Instant, sleep};

use super::{
    DeadLetter, DeadLetters, Effect, Projection,
    apply::{Failure, apply, read},
};
use crate::{
    cosmos::{Reason, StoreError, metered},
    telemetry::{self, Cost, milliseconds},
    values::Timestamp,
};

/// How long an invocation tries again what failed for the moment, counted from its beginning and
/// for all of its changes together.
///
/// It outlasts a burst of throttling and the move of a partition, which take seconds. What takes
/// longer is left to the host, whose pauses between deliveries grow to a minute (`retry` in
/// `function.json`).
pub const RETRY_BUDGET: Duration = Duration::from_secs(30);

/// Why a batch has to be delivered again.
#[derive(Debug, thiserror::Error)]
#[error("{failed} of {changes} changes were not applied; the first: {first:?}")]
pub struct Undelivered {
    failed: usize,
    changes: usize,
    first: Reason,
}

/// Applies a batch of the change feed.
pub async fn run<P: Projection>(
    projection: &P,
    letters: &DeadLetters,
    budget: Duration,
    Documents(documents): Documents,
    InvocationId(invocation): InvocationId,
) -> Result<(), Undelivered> {
    let started = Instant::now();
    let (delivered, lag_ms) = (documents.len(), lag_ms(&documents));
    let Collapsed { tasks, older } = collapse::<P>(documents);
    let changes = tasks.len();
    let batch = Batch { projection, letters, budget, invocation: &invocation };
    let (Tally { done, failures }, meter) = metered(batch.work_off(tasks)).await;

    let count = |wanted| done.iter().filter(|fate| **fate == wanted).count();
    let applied = count(Fate::Done(Effect::Applied));
    let unchanged = count(Fate::Done(Effect::Unchanged));
    let older = older + count(Fate::Done(Effect::Older));
    let (dead_letters, failed) = (count(Fate::DeadLetter), failures.len());
    let cost = Cost::from(&*meter);
    tracing::info!(
        delivered,
        applied,
        unchanged,
        older,
        dead_letters,
        failed,
        lag_ms,
        duration_ms = milliseconds(started.elapsed()),
        request_charge_ru = cost.request_units,
        store.requests = cost.requests,
        store.throttled = cost.throttled,
        "Applied a batch of changes"
    );
    let outcomes = [
        ("applied", applied),
        ("unchanged", unchanged),
        ("older", older),
        ("dead_letter", dead_letters),
        ("failed", failed),
    ];
    let lag = Duration::from_millis(lag_ms);
    telemetry::batch(P::FUNCTION, &telemetry::Batch { outcomes, lag, cost });
    match failures.first() {
        None => Ok(()),
        Some(first) => Err(Undelivered { failed: failures.len(), changes, first: *first }),
    }
}

/// What is to be done for one document.
struct Task<C> {
    document: Document,
    /// The change, or why it cannot be read.
    change: Result<C, String>,
}

/// What became of a change that may be acknowledged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Done(Effect),
    DeadLetter,
}

struct Tally {
    done: Vec<Fate>,
    failures: Vec<Reason>,
}

struct Batch<'a, P> {
    projection: &'a P,
    letters: &'a DeadLetters,
    budget: Duration,
    invocation: &'a str,
}

impl<P: Projection> Batch<'_, P> {
    /// Goes through the tasks in rounds, each of what failed for the moment in the one before, until
    /// nothing did or the budget is spent. So one change that is stuck holds up no other.
    async fn work_off(&self, mut tasks: Vec<Task<P::Change>>) -> Tally {
        let deadline = Instant::now() + self.budget;
        let mut pauses = ExponentialBuilder::default()
            .with_min_delay(Duration::from_millis(2))
            .with_max_delay(Duration::from_secs(1))
            .without_max_times()
            .with_jitter()
            .build();
        let mut tally = Tally { done: Vec::with_capacity(tasks.len()), failures: Vec::new() };
        loop {
            let mut failed = Vec::new();
            for (task, result) in self.round(tasks, deadline).await {
                match result {
                    Ok(fate) => tally.done.push(fate),
                    Err(Unfinished { reason, try_again: true }) => failed.push((task, reason)),
                    Err(Unfinished { reason, .. }) => tally.failures.push(reason),
                }
            }
            let pause = pauses.next().unwrap_or_default();
            if failed.is_empty() || Instant::now() + pause >= deadline {
                tally.failures.extend(failed.iter().map(|(_, reason)| *reason));
                return tally;
            }
            sleep(pause).await;
            tasks = failed.into_iter().map(|(task, _)| task).collect();
        }
    }

    /// Tries each task once. After the deadline none is begun any more when one has failed: the
    /// store is in trouble, and the batch will be delivered again in any case. As long as none has,
    /// a batch may take longer than the budget.
    async fn round(
        &self,
        tasks: Vec<Task<P::Change>>,
        deadline: Instant,
    ) -> Vec<(Task<P::Change>, Result<Fate, Unfinished>)> {
        let trouble = AtomicBool::new(false);
        let trouble = &trouble;
        let tries = tasks.into_iter().map(|task| -> BoxFuture<'_, _> {
            async move {
                if trouble.load(Relaxed) && Instant::now() >= deadline {
                    return (task, Err(Unfinished::NOT_BEGUN));
                }
                let result = self.attempt(&task).await.map_err(|e| Unfinished::from(&e));
                trouble.fetch_or(result.is_err(), Relaxed);
                (task, result)
            }
            .boxed()
        });
        stream::iter(tries).buffer_unordered(P::CONCURRENCY).collect().await
    }

    /// Applies a change, or stores it as a dead letter when it can never be applied.
    async fn attempt(&self, task: &Task<P::Change>) -> Result<Fate, StoreError> {
        let reason = match &task.change {
            Ok(change) => match apply(self.projection, change).await {
                Ok(effect) => return Ok(Fate::Done(effect)),
                Err(Failure::Transient(error)) => return Err(error),
                Err(Failure::Permanent(reason)) => reason,
            },
            Err(reason) => reason.clone(),
        };
        let letter = DeadLetter::new::<P>(self.invocation, &task.document, reason);
        self.letters.store(&letter).await?;
        Ok(Fate::DeadLetter)
    }
}

/// Why a task is neither done nor a dead letter.
struct Unfinished {
    reason: Reason,
    try_again: bool,
}

impl Unfinished {
    const NOT_BEGUN: Self = Self { reason: Reason::Unavailable, try_again: true };
}

impl From<&StoreError> for Unfinished {
    fn from(error: &StoreError) -> Self {
        Self { reason: error.reason, try_again: error.is_race() || error.is_transient() }
    }
}

/// The tasks of a batch, and how many changes were left out since a newer one came with them.
struct Collapsed<C> {
    tasks: Vec<Task<C>>,
    older: usize,
}

/// Keeps the newest change of each source, and every document that cannot be read.
fn collapse<P: Projection>(documents: Vec<Document>) -> Collapsed<P::Change> {
    let mut tasks: Vec<Task<P::Change>> = Vec::with_capacity(documents.len());
    let mut newest: HashMap<String, (usize, u64)> = HashMap::new();
    let mut older = 0;
    for document in documents {
        let change = match read::<P>(&document) {
            Ok(change) => change,
            Err(reason) => {
                tasks.push(Task { document, change: Err(reason) });
                continue;
            }
        };
        let Some((source, version)) = P::source(&change) else {
            continue;
        };
        let task = Task { document, change: Ok(change) };
        match newest.entry(source) {
            Entry::Vacant(entry) => {
                entry.insert((tasks.len(), version));
                tasks.push(task);
            }
            Entry::Occupied(mut entry) => {
                older += 1;
                let (place, known) = entry.get_mut();
                if version >= *known {
                    *known = version;
                    tasks[*place] = task;
                }
            }
        }
    }
    Collapsed { tasks, older }
}

/// How long the oldest change of a batch has waited, in milliseconds; the store's clock gives
/// seconds (`_ts`).
fn lag_ms(documents: &[Document]) -> u64 {
    #[derive(Deserialize)]
    struct Stamp {
        #[serde(rename = "_ts")]
        seconds: i64,
    }
    let oldest = documents.iter().filter_map(|d| d.parse::<Stamp>().ok()).map(|s| s.seconds).min();
    oldest
        .and_then(Timestamp::from_unix_seconds)
        .map_or(0, |written| Timestamp::now().millis_since(written))
}
