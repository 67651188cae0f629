//! Trying again after a lost race or a lost answer.

use std::{
    sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed},
    time::Duration,
};

use backon::{ExponentialBuilder, Retryable as _};

use super::StoreError;

/// How many tries that had no answer another may follow.
const UNANSWERED: u32 = 3;

/// An error that tells what another try can do about it.
pub trait Retryable {
    /// Whether reading again and deciding anew can help.
    fn is_retryable(&self) -> bool;

    /// The store's part in it.
    fn of_store(&self) -> Option<&StoreError>;
}

/// Runs `attempt` until it succeeds, fails for good, or has lost too many races.
///
/// `attempt` reads, decides and writes under a precondition, from the beginning each time. It is
/// told whether the answer of an earlier try was lost: then what it finds may be its own write.
///
/// The pauses double from 2 ms to 256 ms and each is lengthened at random by up to its own length,
/// so that writers of one item spread out; they end after about 10 s in all. Tries without an answer
/// end it after three, for each may have taken the SDK's whole patience.
pub async fn retry<T, E, F, A>(mut attempt: F) -> Result<T, E>
where
    E: Retryable,
    F: FnMut(bool) -> A,
    A: Future<Output = Result<T, E>>,
{
    let (answer_lost, unanswered) = (AtomicBool::new(false), AtomicU32::new(0));
    let pauses = ExponentialBuilder::default()
        .with_min_delay(Duration::from_millis(2))
        .with_max_delay(Duration::from_millis(256))
        .with_total_delay(Some(Duration::from_secs(10)))
        .with_max_times(100)
        .with_jitter();
    (|| attempt(answer_lost.load(Relaxed)))
        .retry(pauses)
        .when(|error: &E| {
            let store = error.of_store();
            answer_lost.fetch_or(store.is_some_and(|error| error.answer_lost), Relaxed);
            let silent = store.is_some_and(StoreError::is_unanswered);
            let before = unanswered.fetch_add(u32::from(silent), Relaxed);
            error.is_retryable() && !(silent && before >= UNANSWERED)
        })
        .await
}
