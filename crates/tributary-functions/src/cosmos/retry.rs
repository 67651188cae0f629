//! Retries: after a lost race or a lost answer, and on the latest state before a refusal.

use std::{
    sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed},
    time::Duration,
};

use backon::{ExponentialBuilder, Retryable as _};

use super::{StoreError, budget::check_request_budget};

/// The most attempts without an answer that a further attempt may follow.
const MAX_RETRIED_UNANSWERED: u32 = 3;

/// An error that says whether a retry can help.
pub trait Retryable {
    /// Returns true if reading again and deciding anew can help.
    fn is_retryable(&self) -> bool;

    /// Returns true if the error was decided upon a read, which may have been of an old state.
    fn may_be_stale(&self) -> bool {
        false
    }

    /// Returns the error of the store behind this error.
    fn store_error(&self) -> Option<&StoreError>;
}

impl Retryable for StoreError {
    fn is_retryable(&self) -> bool {
        self.is_race() || self.is_unanswered()
    }

    fn store_error(&self) -> Option<&StoreError> {
        Some(self)
    }
}

/// The consistency of reads.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Reads {
    /// All that this instance has written, or has heard of from the store. What others have written
    /// may be missing for a moment, since a read asks one replica.
    #[default]
    Session,
    /// All that was committed, by any instance. It asks more than one replica, for twice the request
    /// units.
    Latest,
}

impl Reads {
    /// Refuses a decision to do nothing unless it was made upon the latest state: no write follows
    /// that the store could refuse.
    pub fn confirmed(self) -> Result<(), Unconfirmed> {
        // guard: an edit that looks unchanged is confirmed => `true`
        if self == Self::Latest { Ok(()) } else { Err(Unconfirmed) }
    }
}

/// A decision to do nothing was made upon a state that may be old: [`confirm`] makes it again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a decision upon a state that may be old")]
pub struct Unconfirmed;

/// The input of an attempt.
#[derive(Debug, Clone, Copy)]
pub struct Attempt {
    /// True if the answer of an earlier attempt was lost: an item that is found may be its write.
    pub answer_lost: bool,
    /// The consistency of its reads.
    pub reads: Reads,
}

/// Decides upon reads of the session, and if that ends in a refusal which an old state may be the
/// reason of, once more upon the latest state: so a stale replica costs only where something misses.
///
/// What is written needs no such care: it is written under the ETag that was read, or as a new item,
/// so the store refuses what was decided upon an old state, and [`retry`] decides anew.
pub async fn confirm<T, E, F, A>(decide: F) -> Result<T, E>
where
    E: Retryable,
    F: Fn(Reads) -> A,
    A: Future<Output = Result<T, E>>,
{
    match decide(Reads::Session).await {
        // guard: a refusal is confirmed upon the latest state => `if false`
        Err(error) if error.may_be_stale() => decide(Reads::Latest).await,
        decided => decided,
    }
}

/// Runs `attempt` until it succeeds, fails for good, or has lost too many races.
///
/// `attempt` reads, decides and writes under a precondition, from the beginning each time. What the
/// first decides upon a read alone is confirmed ([`confirm`]). All later ones read the latest state:
/// the same replica would show them again what they have lost the race upon, and it may not have
/// heard of a write of their own whose answer was lost.
///
/// The pauses double from 2 ms to 256 ms and each is lengthened at random by up to its own length,
/// so that writers of one item spread out; they end after about 10 s in all. Attempts without an
/// answer end it after three, for each may have taken the SDK's whole patience. So does the budget of the
/// request ([`Limits`](super::Limits)).
pub async fn retry<T, E, F, A>(attempt: F) -> Result<T, E>
where
    E: Retryable,
    F: Fn(Attempt) -> A,
    A: Future<Output = Result<T, E>>,
{
    let (answer_lost, unanswered) = (AtomicBool::new(false), AtomicU32::new(0));
    let pauses = ExponentialBuilder::default()
        .with_min_delay(Duration::from_millis(2))
        .with_max_delay(Duration::from_millis(256))
        .with_total_delay(Some(Duration::from_secs(10)))
        .with_max_times(100)
        .with_jitter();
    let (attempt, is_first) = (&attempt, AtomicBool::new(true));
    let attempt_once = || {
        let (answer_lost, is_first) = (answer_lost.load(Relaxed), is_first.swap(false, Relaxed));
        let attempt = move |reads| attempt(Attempt { answer_lost, reads });
        async move {
            if is_first {
                confirm(attempt).await
            } else {
                // guard: an attempt after a lost race reads the latest state =>
                //     `attempt(Reads::Session).await`
                attempt(Reads::Latest).await
            }
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
            // guard: a lost race is run again => `false`
            error.is_retryable() && !is_silent && check_request_budget().is_ok()
        })
        .await
}
