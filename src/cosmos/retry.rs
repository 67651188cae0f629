//! Trying again after a lost race or a lost answer.

use std::{
    sync::atomic::{AtomicBool, Ordering::Relaxed},
    time::Duration,
};

use backon::{ExponentialBuilder, Retryable as _};

/// An error that tells what another try can do about it.
pub trait Retryable {
    /// Whether reading again and deciding anew can help.
    fn is_retryable(&self) -> bool;

    /// Whether the write may have been carried out, and only its answer was lost.
    fn is_answer_lost(&self) -> bool;
}

/// Runs `attempt` until it succeeds, fails for good, or has lost too many races.
///
/// `attempt` reads, decides and writes under a precondition, from the beginning each time. It is
/// told whether the answer of an earlier try was lost: then what it finds may be its own write.
///
/// The pauses double from 2 ms to 256 ms and each is lengthened at random by up to its own length,
/// so that writers of one item spread out; they end after about 10 s in all.
pub async fn retry<T, E, F, A>(mut attempt: F) -> Result<T, E>
where
    E: Retryable,
    F: FnMut(bool) -> A,
    A: Future<Output = Result<T, E>>,
{
    let answer_lost = AtomicBool::new(false);
    let pauses = ExponentialBuilder::default()
        .with_min_delay(Duration::from_millis(2))
        .with_max_delay(Duration::from_millis(256))
        .with_total_delay(Some(Duration::from_secs(10)))
        .with_max_times(100)
        .with_jitter();
    (|| attempt(answer_lost.load(Relaxed)))
        .retry(pauses)
        .when(|error: &E| {
            answer_lost.fetch_or(error.is_answer_lost(), Relaxed);
            error.is_retryable()
        })
        .await
}
