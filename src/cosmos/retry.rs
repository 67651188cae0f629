//! Trying again after a lost race or a lost answer.

use std::{
    sync::atomic::{AtomicU32, Ordering::Relaxed},
    time::Duration,
};

use backon::{ExponentialBuilder, Retryable as _};

/// How many lost answers a try may follow.
const LOST_ANSWERS: u32 = 3;

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
/// so that writers of one item spread out; they end after about 10 s in all. Lost answers end it
/// after three, for each may have taken the SDK's whole patience.
pub async fn retry<T, E, F, A>(mut attempt: F) -> Result<T, E>
where
    E: Retryable,
    F: FnMut(bool) -> A,
    A: Future<Output = Result<T, E>>,
{
    let answers_lost = AtomicU32::new(0);
    let pauses = ExponentialBuilder::default()
        .with_min_delay(Duration::from_millis(2))
        .with_max_delay(Duration::from_millis(256))
        .with_total_delay(Some(Duration::from_secs(10)))
        .with_max_times(100)
        .with_jitter();
    (|| attempt(answers_lost.load(Relaxed) > 0))
        .retry(pauses)
        .when(|error: &E| {
            let lost = error.is_answer_lost();
            let before = answers_lost.fetch_add(u32::from(lost), Relaxed);
            error.is_retryable() && !(lost && before >= LOST_ANSWERS)
        })
        .await
}
