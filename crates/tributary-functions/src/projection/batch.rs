//! A batch of the change feed, from the documents to the answer.

use std::{
    collections::{HashMap, hash_map::Entry},
    sync::atomic::{AtomicBool, Ordering::Relaxed},
    time::Duration,
};

use backon::{BackoffBuilder, ExponentialBuilder};
use custom_handler::{Document, Documents, InvocationId, Outcome};
use futures::{FutureExt, StreamExt, future::BoxFuture, stream};
use tokio::time::{Instant, sleep};

use super::{
    DeadLetter, DeadLetters, Effect, Projection,
    apply::{Failure, apply, apply_all, read},
    host_dates::{self, Stamps},
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

/// The changes of a batch that the log names when they are retried, and when they are given up.
const MAX_NAMED_CHANGES: usize = 10;

/// Why a batch has to be delivered again.
#[derive(Debug, thiserror::Error)]
#[error("{failed} of {changes} changes were not applied; the first: {first}")]
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
) -> Result<Outcome, Undelivered> {
    let started = Instant::now();
    let stamps: Vec<Stamps> = documents.iter().filter_map(|one| one.parse().ok()).collect();
    host_dates::report(&stamps);
    let (delivered, lag_ms) = (documents.len(), lag_ms(&stamps));
    let Collapsed { tasks, older } = collapse::<P>(projection.container().id(), documents);
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
        None => Ok(Outcome::new().done(in_words(applied, dead_letters))),
        Some(first) => Err(Undelivered { failed: failures.len(), changes, first: *first }),
    }
}

/// What a batch has come to, for the console of a developer; nothing when it changed nothing.
fn in_words(applied: usize, dead_letters: usize) -> String {
    match (applied, dead_letters) {
        (0, 0) => String::new(),
        (applied, 0) => format!("{applied} applied"),
        (applied, letters) => format!("{applied} applied, {letters} to the dead letters"),
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
    /// nothing did or the budget is spent. So one change that is stuck holds up no other: from round
    /// to round the groups are halved, until it is alone.
    async fn work_off(&self, mut tasks: Vec<Task<P::Change>>) -> Tally {
        let deadline = Instant::now() + self.budget;
        let mut pauses = ExponentialBuilder::default()
            .with_min_delay(Duration::from_millis(2))
            .with_max_delay(Duration::from_secs(1))
            .without_max_times()
            .with_jitter()
            .build();
        let mut tally = Tally { done: Vec::with_capacity(tasks.len()), failures: Vec::new() };
        let (mut group, mut first_round) = (P::GROUP, true);
        loop {
            let mut failed = Vec::new();
            for (task, result) in self.round(tasks, group, deadline).await {
                match result {
                    Ok(fate) => tally.done.push(fate),
                    Err(Unfinished { reason, try_again: true }) => failed.push((task, reason)),
                    Err(Unfinished { reason, .. }) => tally.failures.push(reason),
                }
            }
            let pause = pauses.next().unwrap_or_default();
            if failed.is_empty() || Instant::now() + pause >= deadline {
                for (task, reason) in named(&failed) {
                    let document_id = document_id(task);
                    tracing::warn!(document.id = document_id, %reason, "A change was not applied");
                }
                tally.failures.extend(failed.iter().map(|(_, reason)| *reason));
                return tally;
            }
            if first_round {
                for (task, reason) in named(&failed) {
                    let document_id = document_id(task);
                    tracing::info!(document.id = document_id, %reason, "A change is retried");
                }
                first_round = false;
            }
            sleep(pause).await;
            tasks = failed.into_iter().map(|(task, _)| task).collect();
            group = (group / 2).max(1);
        }
    }

    /// Tries each task once. After the deadline none is begun any more when one has failed: the
    /// store is in trouble, and the batch will be delivered again in any case. As long as none has,
    /// a batch may take longer than the budget.
    async fn round(
        &self,
        tasks: Vec<Task<P::Change>>,
        group: usize,
        deadline: Instant,
    ) -> Vec<Tried<P::Change>> {
        let trouble = &Trouble { met: AtomicBool::new(false), deadline };
        let tries = groups(tasks, group)
            .into_iter()
            .map(|tasks| -> BoxFuture<'_, _> { self.try_group(tasks, trouble).boxed() });
        let tried: Vec<_> = stream::iter(tries).buffer_unordered(P::CONCURRENCY).collect().await;
        tried.into_iter().flatten().collect()
    }

    /// Tries tasks together, and each by itself when one of them spoils it for all.
    async fn try_group(
        &self,
        tasks: Vec<Task<P::Change>>,
        trouble: &Trouble,
    ) -> Vec<Tried<P::Change>> {
        if tasks.len() > 1
            && !trouble.is_over()
            && let Some(results) = self.attempt_all(&tasks).await
        {
            trouble.met.fetch_or(results.iter().any(Result::is_err), Relaxed);
            return tasks.into_iter().zip(results).collect();
        }
        let mut tried = Vec::with_capacity(tasks.len());
        for task in tasks {
            let result = if trouble.is_over() {
                Err(Unfinished::NOT_BEGUN)
            } else {
                self.attempt(&task).await.map_err(|e| Unfinished::from(&e))
            };
            trouble.met.fetch_or(result.is_err(), Relaxed);
            tried.push((task, result));
        }
        tried
    }

    /// Applies changes together; `None` when that can never be done with these.
    async fn attempt_all(
        &self,
        tasks: &[Task<P::Change>],
    ) -> Option<Vec<Result<Fate, Unfinished>>> {
        let changes: Vec<_> = tasks.iter().filter_map(|task| task.change.as_ref().ok()).collect();
        match apply_all(self.projection, &changes).await {
            Ok(effects) if effects.len() == tasks.len() => {
                Some(effects.into_iter().map(|effect| Ok(Fate::Done(effect))).collect())
            }
            Err(Failure::Transient(StoreError { reason, .. })) => {
                // Whatever it was, it may have been about one of them only.
                let again = |_| Err(Unfinished { reason, try_again: true });
                Some(tasks.iter().map(again).collect())
            }
            Ok(_) | Err(Failure::Permanent(_)) => None,
        }
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
        let letter = DeadLetter::new(self.projection, self.invocation, &task.document, reason);
        self.letters.store(&letter).await?;
        Ok(Fate::DeadLetter)
    }
}

/// Returns the failed changes that the log names: one that fails again and again is found by its id.
/// Throttling is counted instead (`store.throttled`).
fn named<C>(failed: &[(Task<C>, Reason)]) -> impl Iterator<Item = &(Task<C>, Reason)> {
    failed.iter().filter(|(_, reason)| *reason != Reason::Throttled).take(MAX_NAMED_CHANGES)
}

/// Returns the id of a change's document.
fn document_id<C>(task: &Task<C>) -> Option<String> {
    #[derive(serde::Deserialize)]
    struct Identified {
        id: String,
    }
    task.document.parse::<Identified>().ok().map(|document| document.id)
}

/// A task, and what has come of trying it.
type Tried<C> = (Task<C>, Result<Fate, Unfinished>);

/// Whether something has failed, and until when all is tried nevertheless.
struct Trouble {
    met: AtomicBool,
    deadline: Instant,
}

impl Trouble {
    /// Whether nothing more is to be begun.
    fn is_over(&self) -> bool {
        self.met.load(Relaxed) && Instant::now() >= self.deadline
    }
}

/// The tasks in groups of at most `size`. What cannot be read stands alone, and spoils no group.
fn groups<C>(tasks: Vec<Task<C>>, size: usize) -> Vec<Vec<Task<C>>> {
    let (readable, unreadable): (Vec<_>, Vec<_>) =
        tasks.into_iter().partition(|task| task.change.is_ok());
    let mut groups: Vec<_> = unreadable.into_iter().map(|task| vec![task]).collect();
    let mut readable = readable.into_iter().peekable();
    while readable.peek().is_some() {
        groups.push(readable.by_ref().take(size).collect());
    }
    groups
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
        // A write finds nothing where something was read: it was deleted meanwhile.
        let lost_race = error.is_race() || error.reason == Reason::NotFound;
        Self { reason: error.reason, try_again: lost_race || error.is_transient() }
    }
}

/// The tasks of a batch, and how many changes were left out since a newer one came with them.
struct Collapsed<C> {
    tasks: Vec<Task<C>>,
    older: usize,
}

/// Keeps the newest change of each source, and every document that cannot be read.
fn collapse<P: Projection>(container: &str, documents: Vec<Document>) -> Collapsed<P::Change> {
    let mut tasks: Vec<Task<P::Change>> = Vec::with_capacity(documents.len());
    let mut newest: HashMap<String, (usize, u64)> = HashMap::new();
    let mut older = 0;
    for document in documents {
        let change = match read::<P>(container, &document) {
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
fn lag_ms(stamps: &[Stamps]) -> u64 {
    let oldest = stamps.iter().map(|stamps| stamps.written).min();
    oldest
        .and_then(Timestamp::from_unix_seconds)
        .map_or(0, |written| Timestamp::now().millis_since(written))
}
