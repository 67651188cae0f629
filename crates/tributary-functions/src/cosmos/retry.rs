//! Retries: after a lost race or a lost answer, and on the latest state before a refusal.
//!
//! A read asks one replica, which may be behind. So no refusal of a request follows from such a read:
//!
//! 1. Each read of the session is noted in the current [`Decision`], and so is each write.
//! 2. A request that is refused after such reads, and has written nothing, is handled once more from its
//!    beginning, with reads of the latest state ([`confirmed`]).
//! 3. A command's attempt in [`retry`] is confirmed by a second attempt, which repeats less.
//!
//! Writes are made under the ETag that was read, or as a new item, so the store refuses one that was decided on
//! an old state, and [`retry`] decides anew.

use std::{
    cell::Cell,
    sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed},
    time::Duration,
};

use backon::{ExponentialBuilder, Retryable as _};

use super::{StoreError, budget::check_request_budget};

/// The most attempts without an answer from the store that are retried. The next one is the last.
const MAX_RETRIED_UNANSWERED: u32 = 3;

/// An error that says whether a retry can help.
pub trait Retryable {
    /// Returns the error of the store behind this error.
    fn store_error(&self) -> Option<&StoreError>;

    /// Returns true if a new attempt can succeed: by default after a lost race, and after a lost answer.
    fn is_retryable(&self) -> bool {
        self.store_error().is_some_and(|error| error.is_race() || error.is_unanswered())
    }

    /// Returns true if the error follows from a read, which may be old: by default each error but those of the store.
    fn may_be_stale(&self) -> bool {
        self.store_error().is_none()
    }
}

impl Retryable for StoreError {
    fn store_error(&self) -> Option<&StoreError> {
        Some(self)
    }
}

/// The input of an attempt.
#[derive(Debug, Clone, Copy)]
pub struct Attempt {
    /// True if the answer of an earlier attempt was lost: an item in the store may be its write.
    pub answer_lost: bool,
}

/// The state on which a decision rests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Basis {
    /// The latest state, or none.
    Latest,
    /// A state that may be old.
    Session,
    /// Its own writes: it is not to be decided again.
    Written,
}

struct Decision {
    on_latest: bool,
    basis: Cell<Basis>,
}

tokio::task_local! {
    static DECISION: Decision;
}

pub(crate) fn decides_on_latest() -> bool {
    DECISION.try_with(|decision| decision.on_latest).unwrap_or_default()
}

pub(super) fn note_session_read() {
    note(|basis| if basis == Basis::Latest { Basis::Session } else { basis });
}

pub(super) fn note_write() {
    note(|_| Basis::Written);
}

fn note(change: impl Fn(Basis) -> Basis) {
    let _ = DECISION.try_with(|decision| decision.basis.set(change(decision.basis.get())));
}

pub(crate) async fn decided<F: Future>(on_latest: bool, decide: F) -> (F::Output, Basis) {
    let decide = async { (decide.await, DECISION.with(|decision| decision.basis.get())) };
    DECISION.scope(Decision { on_latest, basis: Cell::new(Basis::Latest) }, decide).await
}

async fn decided_on_latest<F: Future>(before: Basis, decide: F) -> F::Output {
    let (output, latest) = decided(true, decide).await;
    note(|basis| if basis == Basis::Written { basis } else { before.max(latest) });
    output
}

pub(crate) async fn confirmed<T, F: Future<Output = T>>(
    handle: impl Fn() -> F,
    is_refusal: impl Fn(&T) -> bool,
) -> T {
    match decided(decides_on_latest(), handle()).await {
        (answer, Basis::Session) if is_refusal(&answer) => decided(true, handle()).await.0,
        (answer, _) => answer,
    }
}

/// Runs `attempt` until it succeeds, fails for good, or has failed too often: about 10 s of pauses (2 ms to 256 ms,
/// with jitter), 100 retries, a fourth attempt without an answer, or the request's budget
/// ([`Limits`](super::Limits)). Each attempt reads, decides and writes under a precondition. A refusal of the first
/// is confirmed by a second one. All later ones read the latest state: the same replica could return the state on
/// which they have lost the race, or lack a write of their own whose answer was lost.
pub async fn retry<T, E: Retryable, A: Future<Output = Result<T, E>>>(
    attempt: impl Fn(Attempt) -> A,
) -> Result<T, E> {
    let answer_lost = AtomicBool::new(false);
    let unanswered = AtomicU32::new(0);
    let pauses = ExponentialBuilder::default()
        .with_min_delay(Duration::from_millis(2))
        .with_max_delay(Duration::from_millis(256))
        .with_total_delay(Some(Duration::from_secs(10)))
        .with_max_times(100)
        .with_jitter();
    let attempt = &attempt;
    let before = DECISION.try_with(|decision| decision.basis.get()).unwrap_or(Basis::Latest);
    let is_first = AtomicBool::new(true);
    let attempt_once = || {
        let answer_lost = answer_lost.load(Relaxed);
        let is_first = is_first.swap(false, Relaxed);
        // On the heap: each layer around it keeps a copy on the stack in a debug build, 190 KB together.
        let attempt = move || Box::pin(attempt(Attempt { answer_lost }));
        async move {
            if is_first {
                match attempt().await {
                    Err(error) if error.may_be_stale() => {}
                    decided => return decided,
                }
            }
            decided_on_latest(before, attempt()).await
        }
    };
    attempt_once
        .retry(pauses)
        .when(|error: &E| {
            let store = error.store_error();
            answer_lost.fetch_or(store.is_some_and(|error| error.answer_lost), Relaxed);
            let silent = store.is_some_and(StoreError::is_unanswered);
            let before = unanswered.fetch_add(u32::from(silent), Relaxed);
            let is_silent = silent && before >= MAX_RETRIED_UNANSWERED;
            error.is_retryable() && !is_silent && check_request_budget().is_ok()
        })
        .await
}
