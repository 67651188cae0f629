//! Retries: after a lost race or a lost answer, and on the latest state before a refusal.

use std::{
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

    /// Returns true if a new attempt can succeed, which reads again and decides anew: by default after a lost
    /// race, and after an unanswered store request, since a command recognises its own writes.
    fn is_retryable(&self) -> bool {
        self.store_error().is_some_and(|error| error.is_race() || error.is_unanswered())
    }

    /// Returns true if the error follows from a read, which may have returned an old state: by default each
    /// error but those of the store.
    fn may_be_stale(&self) -> bool {
        self.store_error().is_none()
    }
}

impl Retryable for StoreError {
    fn store_error(&self) -> Option<&StoreError> {
        Some(self)
    }
}

/// The consistency of reads.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Reads {
    /// All writes of this instance, and all that it has read before. Recent writes of other instances may
    /// be missing, since a read asks one replica.
    #[default]
    Session,
    /// All committed writes of any instance. A read asks more than one replica, for twice the request
    /// units.
    Latest,
}

impl Reads {
    /// Refuses a decision to write nothing unless it was made on the latest state: no write follows that
    /// the store could refuse.
    pub fn confirmed(self) -> Result<(), Unconfirmed> {
        if self == Self::Latest { Ok(()) } else { Err(Unconfirmed) }
    }
}

/// The error of a decision to write nothing on a state that may be old. [`confirm`] decides again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a decision upon a state that may be old")]
pub struct Unconfirmed;

/// The input of an attempt.
#[derive(Debug, Clone, Copy)]
pub struct Attempt {
    /// True if the answer of an earlier attempt was lost: an item in the store may be its write.
    pub answer_lost: bool,
    /// The consistency of its reads.
    pub reads: Reads,
}

/// Runs `decide` with session reads. If it fails with an error that an old state may have caused, runs it
/// once more on the latest state. So the more expensive reads are made only before a refusal.
///
/// Writes need no such care. They are made under the ETag that was read, or as a new item, so the store
/// refuses a write that was decided on an old state, and [`retry`] decides anew.
pub async fn confirm<T, E: Retryable, A: Future<Output = Result<T, E>>>(
    decide: impl Fn(Reads) -> A,
) -> Result<T, E> {
    match decide(Reads::Session).await {
        Err(error) if error.may_be_stale() => decide(Reads::Latest).await,
        decided => decided,
    }
}

/// Runs `attempt` until it succeeds, fails for good, or has failed too often.
///
/// Each attempt reads, decides and writes under a precondition, from the beginning. A refusal of the
/// first attempt is confirmed ([`confirm`]). All later attempts read the latest state: the same replica
/// could return the state on which they have lost the race, and could lack a write of their own whose
/// answer was lost.
///
/// The back-off doubles from 2 ms to 256 ms. Jitter lengthens each pause by up to its own length, so that
/// writers of one item spread out. The retries end with one of:
///
/// - about 10 s of pauses in all, or 100 retries;
/// - the fourth attempt without an answer, since each may have taken the SDK's whole time limit;
/// - the budget of the request ([`Limits`](super::Limits)).
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
    let is_first = AtomicBool::new(true);
    let attempt_once = || {
        let answer_lost = answer_lost.load(Relaxed);
        let is_first = is_first.swap(false, Relaxed);
        // On the heap: each layer around it keeps a copy on the stack in a debug build, 190 KB together.
        let attempt = move |reads| Box::pin(attempt(Attempt { answer_lost, reads }));
        async move { if is_first { confirm(attempt).await } else { attempt(Reads::Latest).await } }
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
