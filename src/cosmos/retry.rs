//! Trying again after a lost race.

use std::time::Duration;

use backon::{ExponentialBuilder, Retryable as _};

/// An error that tells whether reading again and deciding anew can help.
pub trait Retryable {
    /// Whether to try again.
    fn is_retryable(&self) -> bool;
}

/// Runs `attempt` until it succeeds, fails for good, or has lost too many races.
///
/// `attempt` reads, decides and writes under a precondition, from the beginning each time. The
/// pauses double from 2 ms to 256 ms and each is lengthened at random by up to its own length, so
/// that writers of one item spread out; they end after about 10 s in all.
pub async fn retry<T, E, F, A>(attempt: F) -> Result<T, E>
where
    E: Retryable,
    F: FnMut() -> A,
    A: Future<Output = Result<T, E>>,
{
    let pauses = ExponentialBuilder::default()
        .with_min_delay(Duration::from_millis(2))
        .with_max_delay(Duration::from_millis(256))
        .with_total_delay(Some(Duration::from_secs(10)))
        .with_max_times(100)
        .with_jitter();
    attempt.retry(pauses).when(Retryable::is_retryable).await
}
