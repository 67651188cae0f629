//! A batch of the change feed, from the documents to the answer.

use std::{
    sync::atomic::{AtomicBool, Ordering::Relaxed},
    time::Duration,
};

use backon::{BackoffBuilder, ExponentialBuilder};
use custom_handler::{Document, Documents, InvocationId, InvocationOutcome};
use futures::{FutureExt, StreamExt, future::BoxFuture, stream};
use tokio::time::{Instant, sleep};

use self::rounds::{
    AttemptedTask, BatchOutcomes, ChangeOutcome, Collapsed, FailedAttempt, Rounds, Task, collapse,
};
use super::{
    DeadLetter, DeadLetters, Effect, Projection,
    apply::{ApplyError, caught},
    origin::{DocumentStamps, report_rewritten_dates},
};
use crate::{
    cosmos::{Reason, StoreError, metered},
    telemetry::{self, BatchRecord, Cost, EndedWork, followed, milliseconds, record},
    values::Timestamp,
};

mod rounds;

/// The time for which an invocation retries transient failures, for all of its changes together: longer than
/// a burst of throttling and the move of a partition. After a longer failure the host delivers again, with
/// pauses that grow to a minute.
pub const RETRY_BUDGET: Duration = Duration::from_secs(30);

/// The changes of a batch that the log names when they are retried, and when they are given up.
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
        Self::new().done(done).request_units(request_units)
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

/// Applies a batch.
pub(super) async fn run<P: Projection>(
    projection: &P,
    letters: &DeadLetters,
    budget: Duration,
    source: BatchSource,
    Documents(documents): Documents,
    InvocationId(invocation): InvocationId,
) -> Result<AppliedBatch, IncompleteBatch> {
    let started = Instant::now();
    let stamps: Vec<DocumentStamps> =
        documents.iter().filter_map(|document| document.parse().ok()).collect();
    report_rewritten_dates(&stamps);
    let delivered = documents.len();
    let lag_ms = matches!(source, BatchSource::ChangeFeed { .. }).then(|| lag_ms(&stamps));
    let container = projection.container().id();
    let Collapsed { tasks, changes, older } = collapse::<P>(container, documents);
    let is_second_look = matches!(source, BatchSource::ChangeFeed { is_second_look: true });
    let batch = Batch {
        function: P::FUNCTION,
        container,
        changes: &ReadChanges { projection, changes, is_second_look },
        letters,
        budget,
        invocation: &invocation,
        group: P::GROUP,
        concurrency: P::CONCURRENCY,
    };
    let lsn = stamps.iter().filter_map(|stamps| stamps.lsn).max();
    let delivery = Delivery { started, delivered, older, lag_ms, lsn };
    batch.complete(delivery, tasks).await
}

struct Delivery {
    started: Instant,
    delivered: usize,
    older: usize,
    lag_ms: Option<u64>,
    lsn: Option<u64>,
}

/// A change of a source, and the work of applying it once.
pub struct SourceChange<'a> {
    pub(super) source: String,
    pub(super) version: u64,
    pub(super) apply: BoxFuture<'a, Result<Effect, ApplyError>>,
}

pub(super) fn changes<P: Projection>(
    projection: &P,
    documents: Vec<Document>,
) -> Option<Vec<SourceChange<'_>>> {
    let Collapsed { tasks, changes, .. } = collapse::<P>(projection.container().id(), documents);
    let changes = changes.into_iter().map(|change| {
        let (source, version) = P::source(&change)?;
        let apply = async move { caught(projection.apply(&change).boxed()).await }.boxed();
        Some(SourceChange { source, version, apply })
    });
    if tasks.iter().any(|task| task.change.is_err()) { None } else { changes.collect() }
}

/// The changes of a batch by their numbers. The rounds of a batch know no type of change, so that their code is
/// compiled once, and not again for each projection.
trait NumberedChanges: Sync {
    fn apply(&self, change: usize) -> BoxFuture<'_, Result<Effect, ApplyError>>;

    fn apply_all<'a>(
        &'a self,
        changes: &'a [usize],
    ) -> BoxFuture<'a, Result<Vec<Effect>, ApplyError>>;

    fn dead_letter(&self, invocation: &str, document: &Document, reason: String) -> DeadLetter;
}

struct ReadChanges<'a, P: Projection> {
    projection: &'a P,
    changes: Vec<P::Change>,
    /// True if the instance of its command has applied each change, as a rule.
    is_second_look: bool,
}

impl<P: Projection> NumberedChanges for ReadChanges<'_, P> {
    fn apply(&self, change: usize) -> BoxFuture<'_, Result<Effect, ApplyError>> {
        let change = &self.changes[change];
        let applying = if self.is_second_look {
            self.projection.apply_again(change).boxed()
        } else {
            self.projection.apply(change).boxed()
        };
        caught(applying).boxed()
    }

    fn apply_all<'a>(
        &'a self,
        changes: &'a [usize],
    ) -> BoxFuture<'a, Result<Vec<Effect>, ApplyError>> {
        Box::pin(async move {
            let changes: Vec<_> = changes.iter().map(|change| &self.changes[*change]).collect();
            caught(self.projection.apply_all(&changes).boxed()).await
        })
    }

    fn dead_letter(&self, invocation: &str, document: &Document, reason: String) -> DeadLetter {
        DeadLetter::new(self.projection, invocation, document, reason)
    }
}

struct Batch<'a> {
    function: &'static str,
    container: &'static str,
    changes: &'a dyn NumberedChanges,
    letters: &'a DeadLetters,
    budget: Duration,
    invocation: &'a str,
    group: usize,
    concurrency: usize,
}

impl Batch<'_> {
    /// Runs the rounds, and reports the batch. It has no type parameter, so that its code is compiled once.
    fn complete(
        &self,
        Delivery { started, delivered, older, lag_ms, lsn }: Delivery,
        tasks: Vec<Task>,
    ) -> BoxFuture<'_, Result<AppliedBatch, IncompleteBatch>> {
        Box::pin(async move {
            let changes = tasks.len();
            let ((BatchOutcomes { done, failures }, detail), meter) =
                metered(followed(self.run_rounds(tasks))).await;
            let duration = started.elapsed();
            let count = |wanted| done.iter().filter(|outcome| **outcome == wanted).count();
            let applied = count(ChangeOutcome::Done(Effect::Applied));
            let unchanged = count(ChangeOutcome::Done(Effect::Unchanged));
            let older = older + count(ChangeOutcome::Done(Effect::Older));
            let dead_letters = count(ChangeOutcome::DeadLetter);
            let failed = failures.len();
            let cost = Cost::from(&*meter);
            tracing::info!(
                delivered,
                applied,
                unchanged,
                older,
                dead_letters,
                failed,
                lag_ms,
                duration_ms = milliseconds(duration),
                request_charge_ru = cost.request_units,
                store.requests = cost.requests,
                store.throttled = cost.throttled,
                "Applied a batch of changes"
            );
            let Self { function, container, .. } = *self;
            let batch = BatchRecord {
                container,
                delivered,
                applied,
                unchanged,
                older,
                dead_letters,
                failed,
                lag_ms,
                lsn,
            };
            telemetry::batch(function, &batch, cost);
            record(EndedWork { function, duration, cost }, detail, None, Some(batch));
            match failures.first() {
                None => {
                    Ok(AppliedBatch { applied, dead_letters, request_units: cost.request_units })
                }
                Some(first) => Err(IncompleteBatch { failed, changes, first: *first }),
            }
        })
    }

    async fn run_rounds(&self, tasks: Vec<Task>) -> BatchOutcomes {
        let deadline = Instant::now() + self.budget;
        let mut pauses = ExponentialBuilder::default()
            .with_min_delay(Duration::from_millis(2))
            .with_max_delay(Duration::from_secs(1))
            .without_max_times()
            .with_jitter()
            .build();
        let mut rounds = Rounds::new(tasks, self.group);
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

    /// Attempts each task once. After the deadline and a failure, no further task begins: the store has a
    /// problem, and the host retries the batch in any case. A batch without a failure may take longer than
    /// the budget.
    async fn round(&self, groups: Vec<Vec<Task>>, deadline: Instant) -> Vec<AttemptedTask> {
        let failure = &FailureFlag { is_set: AtomicBool::new(false), deadline };
        let attempts = groups
            .into_iter()
            .map(|tasks| -> BoxFuture<'_, _> { self.attempt_group(tasks, failure).boxed() });
        let attempted: Vec<_> =
            stream::iter(attempts).buffer_unordered(self.concurrency).collect().await;
        attempted.into_iter().flatten().collect()
    }

    /// Attempts tasks together, or each by itself if one of them makes all fail.
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

    /// Applies changes together; `None` if these can never be applied together.
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
            Ok(change) => match self.changes.apply(*change).await {
                Ok(effect) => return Ok(ChangeOutcome::Done(effect)),
                Err(ApplyError::Transient(error)) => return Err(error),
                Err(ApplyError::Permanent(reason)) => reason,
            },
            Err(reason) => reason.clone(),
        };
        let letter = self.changes.dead_letter(self.invocation, &task.document, reason);
        self.letters.store(&letter).await?;
        Ok(ChangeOutcome::DeadLetter)
    }
}

/// Returns the failed changes that the log names, by the ids of their documents, so that a change that fails
/// repeatedly is found by its id. Throttled changes are counted instead (`store.throttled`).
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

/// Returns the time that the oldest change of a batch has waited, in milliseconds. The store's timestamps
/// (`_ts`) have whole seconds.
fn lag_ms(stamps: &[DocumentStamps]) -> u64 {
    let oldest = stamps.iter().map(|stamps| stamps.written).min();
    oldest
        .and_then(Timestamp::from_unix_seconds)
        .map_or(0, |written| Timestamp::now().millis_since(written))
}
