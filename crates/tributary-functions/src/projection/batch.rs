//! A batch of the change feed, from the documents to the answer.

use std::{
    sync::atomic::{AtomicBool, Ordering::Relaxed},
    time::Duration,
};

use backon::{BackoffBuilder, ExponentialBuilder};
use custom_handler::{Documents, InvocationId, InvocationOutcome};
use futures::{FutureExt, StreamExt, future::BoxFuture, stream};
use tokio::time::{Instant, sleep};

pub use self::read::ReadBatch;
pub(super) use self::read::read;
use self::{
    read::NumberedChanges,
    rounds::{AttemptedTask, BatchOutcomes, ChangeOutcome, FailedAttempt, Rounds, Task},
};
use super::{
    AnyProjection, DeadLetter, DeadLetters, Effect,
    apply::ApplyError,
    origin::{DocumentStamps, report_rewritten_dates},
};
use crate::{
    cosmos::{Reason, StoreError, metered},
    telemetry::{self, BatchRecord, Cost, followed, milliseconds},
    values::Timestamp,
};

mod read;
mod rounds;

/// The time for which an invocation retries transient failures of all its changes: longer than a burst of throttling
/// and the move of a partition. Then the host delivers again.
pub const RETRY_BUDGET: Duration = Duration::from_secs(30);

const MAX_NAMED_CHANGES: usize = 10;

/// The error of a batch that needs another delivery.
#[derive(Debug, thiserror::Error)]
#[error("{failed} of {changes} changes were not applied; the first: {first}")]
pub struct IncompleteBatch {
    failed: usize,
    changes: usize,
    first: Reason,
}

/// The result of a batch that may be acknowledged.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AppliedBatch {
    /// The number of changes that have changed a copy.
    pub applied: usize,
    /// The number of changes that were stored as dead letters.
    pub dead_letters: usize,
    /// The charge of the batch.
    pub request_units: f64,
}

/// The outcome has a line for the console of a developer; an empty one if the batch has changed nothing.
impl From<AppliedBatch> for InvocationOutcome {
    fn from(AppliedBatch { applied, dead_letters, request_units }: AppliedBatch) -> Self {
        let done = match (applied, dead_letters) {
            (0, 0) => String::new(),
            (applied, 0) => format!("{applied} applied"),
            (applied, letters) => format!("{applied} applied, {letters} to the dead letters"),
        };
        Self { done: Some(done), request_units: Some(request_units), ..Self::new() }
    }
}

/// The source of a batch.
#[derive(Clone, Copy)]
pub enum BatchSource {
    /// The change feed: the changes have waited in it.
    ChangeFeed {
        /// True if the instances of commands have applied the changes, as a rule.
        is_second_look: bool,
    },
    /// The container of the sources, which a rebuild reads again. The age of a source is no lag.
    Rebuild,
}

impl dyn AnyProjection + '_ {
    /// Applies a batch.
    pub fn run<'a>(
        &'a self,
        letters: &'a DeadLetters,
        budget: Duration,
        source: BatchSource,
        Documents(documents): Documents,
        InvocationId(invocation): InvocationId,
    ) -> BoxFuture<'a, Result<AppliedBatch, IncompleteBatch>> {
        Box::pin(async move {
            let started = Instant::now();
            let stamps: Vec<DocumentStamps> =
                documents.iter().filter_map(|document| document.parse().ok()).collect();
            report_rewritten_dates(&stamps);
            let delivered = documents.len();
            let (lag_ms, is_second_look) = match source {
                BatchSource::ChangeFeed { is_second_look } => {
                    (Some(lag_ms(&stamps)), is_second_look)
                }
                BatchSource::Rebuild => (None, false),
            };
            let ReadBatch { tasks, changes, older, group, concurrency } = self.read(documents);
            let n_changes = tasks.len();
            let batch = Batch {
                projection: self,
                changes,
                is_second_look,
                letters,
                budget,
                invocation: &invocation,
                concurrency,
            };
            let work = metered(followed(batch.run_rounds(Rounds::new(tasks, group))));
            let ((BatchOutcomes { done, failures }, detail), meter) = work.await;
            let duration = started.elapsed();
            let cost = Cost::from(&*meter);
            let count = |wanted| done.iter().filter(|outcome| **outcome == wanted).count();
            let record = BatchRecord {
                container: self.container_id(),
                delivered,
                applied: count(ChangeOutcome::Done(Effect::Applied)),
                unchanged: count(ChangeOutcome::Done(Effect::Unchanged)),
                older: older + count(ChangeOutcome::Done(Effect::Older)),
                dead_letters: count(ChangeOutcome::DeadLetter),
                failed: failures.len(),
                lag_ms,
                lsn: stamps.iter().filter_map(|stamps| stamps.lsn.as_u64()).max(),
            };
            let BatchRecord { applied, dead_letters, failed, .. } = record;
            tracing::info!(
                delivered,
                applied,
                unchanged = record.unchanged,
                older = record.older,
                dead_letters,
                failed,
                lag_ms,
                duration_ms = milliseconds(duration),
                request_charge_ru = cost.request_units,
                store.requests = cost.requests,
                store.throttled = cost.throttled,
                "Applied a batch of changes"
            );
            telemetry::batch(self.function(), record, duration, cost, detail);
            match failures.first() {
                None => {
                    Ok(AppliedBatch { applied, dead_letters, request_units: cost.request_units })
                }
                Some(first) => Err(IncompleteBatch { failed, changes: n_changes, first: *first }),
            }
        })
    }
}

struct Batch<'a> {
    projection: &'a dyn AnyProjection,
    changes: Box<dyn NumberedChanges + 'a>,
    is_second_look: bool,
    letters: &'a DeadLetters,
    budget: Duration,
    invocation: &'a str,
    concurrency: usize,
}

impl Batch<'_> {
    async fn run_rounds(&self, mut rounds: Rounds) -> BatchOutcomes {
        let deadline = Instant::now() + self.budget;
        let mut pauses = ExponentialBuilder::default()
            .with_min_delay(Duration::from_millis(2))
            .with_max_delay(Duration::from_secs(1))
            .without_max_times()
            .with_jitter()
            .build();
        for round in 0.. {
            let groups = rounds.begin_round();
            rounds.end_round(self.round(groups, deadline).await);
            let pause = pauses.next().unwrap_or_default();
            let is_over = rounds.is_over() || Instant::now() + pause >= deadline;
            for (document_id, reason) in named_failures(&rounds) {
                if is_over {
                    tracing::warn!(document.id = document_id, %reason, "A change was not applied");
                } else if round == 0 {
                    tracing::info!(document.id = document_id, %reason, "A change is retried");
                }
            }
            if is_over {
                break;
            }
            sleep(pause).await;
        }
        rounds.end()
    }

    /// After the deadline and a failure, no further task begins: the host retries the batch in any case.
    async fn round(&self, groups: Vec<Vec<Task>>, deadline: Instant) -> Vec<AttemptedTask> {
        let failure = &FailureFlag { is_set: AtomicBool::new(false), deadline };
        let attempts = groups
            .into_iter()
            .map(|tasks| -> BoxFuture<'_, _> { self.attempt_group(tasks, failure).boxed() });
        let attempted: Vec<_> =
            stream::iter(attempts).buffer_unordered(self.concurrency).collect().await;
        attempted.into_iter().flatten().collect()
    }

    async fn attempt_group(&self, tasks: Vec<Task>, failure: &FailureFlag) -> Vec<AttemptedTask> {
        if tasks.len() > 1
            && !failure.ends_round()
            && let Some(results) = self.attempt_all(&tasks).await
        {
            failure.is_set.fetch_or(results.iter().any(Result::is_err), Relaxed);
            return tasks.into_iter().zip(results).collect();
        }
        let mut attempted = Vec::with_capacity(tasks.len());
        for task in tasks {
            let result = if failure.ends_round() {
                Err(FailedAttempt::NOT_BEGUN)
            } else {
                self.attempt(&task).await.map_err(|e| FailedAttempt::from(&e))
            };
            failure.is_set.fetch_or(result.is_err(), Relaxed);
            attempted.push((task, result));
        }
        attempted
    }

    async fn attempt_all(
        &self,
        tasks: &[Task],
    ) -> Option<Vec<Result<ChangeOutcome, FailedAttempt>>> {
        let changes: Vec<_> =
            tasks.iter().filter_map(|task| task.change.as_ref().ok().copied()).collect();
        match self.changes.apply_all(&changes).await {
            Ok(effects) if effects.len() == tasks.len() => {
                Some(effects.into_iter().map(|effect| Ok(ChangeOutcome::Done(effect))).collect())
            }
            Err(ApplyError::Transient(StoreError { reason, .. })) => {
                // The error may be about one of the changes only.
                let again = |_| Err(FailedAttempt { reason, is_retryable: true });
                Some(tasks.iter().map(again).collect())
            }
            Ok(_) | Err(ApplyError::Permanent(_)) => None,
        }
    }

    async fn attempt(&self, task: &Task) -> Result<ChangeOutcome, StoreError> {
        let reason = match &task.change {
            Ok(change) => match self.changes.apply(*change, self.is_second_look).await {
                Ok(effect) => return Ok(ChangeOutcome::Done(effect)),
                Err(ApplyError::Transient(error)) => return Err(error),
                Err(ApplyError::Permanent(reason)) => reason,
            },
            Err(reason) => reason.clone(),
        };
        let letter = DeadLetter::new(self.projection, self.invocation, &task.document, reason);
        self.letters.store(&letter).await?;
        Ok(ChangeOutcome::DeadLetter)
    }
}

/// Throttled changes are counted instead (`store.throttled`).
fn named_failures(rounds: &Rounds) -> impl Iterator<Item = (Option<String>, Reason)> {
    #[derive(serde::Deserialize)]
    struct Identified {
        id: String,
    }
    let failed = rounds.failed().filter(|(_, reason)| *reason != Reason::Throttled);
    failed.take(MAX_NAMED_CHANGES).map(|(task, reason)| {
        (task.document.parse::<Identified>().ok().map(|document| document.id), reason)
    })
}

struct FailureFlag {
    is_set: AtomicBool,
    deadline: Instant,
}

impl FailureFlag {
    fn ends_round(&self) -> bool {
        self.is_set.load(Relaxed) && Instant::now() >= self.deadline
    }
}

fn lag_ms(stamps: &[DocumentStamps]) -> u64 {
    let oldest = stamps.iter().map(|stamps| stamps.written).min();
    oldest
        .and_then(Timestamp::from_unix_seconds)
        .map_or(0, |written| Timestamp::now().millis_since(written))
}
