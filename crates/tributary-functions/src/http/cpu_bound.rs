//! CPU-bound work of requests, such as the hash of a password, one piece at a time, first come, first served. A
//! thread of its own does each piece, with a lower priority than the threads that answer requests: these keep
//! three quarters of a processor. Requests with such work wait in a [`WorkQueue`](super::WorkQueue) of their own.

use std::{sync::Arc, thread};

use tokio::sync::{Semaphore, oneshot};

/// The niceness of a thread that does CPU-bound work. Linux gives it a third of the time of a thread that
/// answers requests (`sched_prio_to_weight`: 335 of 1,024).
#[cfg(unix)]
const NICENESS: i32 = 5;

/// The CPU-bound work of an instance. Cloning is cheap, and clones take turns.
#[derive(Debug, Clone)]
pub struct CpuBoundWork(Arc<Semaphore>);

/// The failure of a piece of work: its thread could not start, or the work has panicked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the work has no thread, or has panicked")]
pub struct CpuBoundError;

impl Default for CpuBoundWork {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(1)))
    }
}

impl CpuBoundWork {
    /// Runs `work` on a thread of its own, when no other work of this instance runs. Once begun, it runs to its end.
    pub async fn run<T, E>(
        &self,
        work: impl FnOnce() -> Result<T, E> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<CpuBoundError> + Send + 'static,
    {
        let turn = Arc::clone(&self.0).acquire_owned().await.map_err(|_| CpuBoundError)?;
        let request = tracing::Span::current();
        let (done, result) = oneshot::channel();
        let work = move || {
            // The turn lasts until the work ends.
            let _turn = turn;
            // A system that refuses the lower priority does the work all the same.
            #[cfg(unix)]
            let _ = rustix::process::nice(NICENESS);
            let _ = done.send(request.in_scope(work));
        };
        // A thread of the runtime's pool would keep the low priority.
        thread::Builder::new().name("cpu-bound".into()).spawn(work).map_err(|_| CpuBoundError)?;
        result.await.unwrap_or_else(|_| Err(CpuBoundError.into()))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

    use futures::future::join_all;

    use super::*;

    #[tokio::test]
    async fn one_piece_is_done_at_a_time_also_for_requests_that_have_ended() {
        let cpu_bound = CpuBoundWork::default();
        let at_work = Arc::new(AtomicUsize::new(0));
        let (started, running) = std::sync::mpsc::channel();
        let work = || {
            let at_work = Arc::clone(&at_work);
            let started = started.clone();
            cpu_bound.run(move || {
                assert_eq!(at_work.fetch_add(1, SeqCst), 0);
                let _ = started.send(());
                std::thread::sleep(std::time::Duration::from_millis(20));
                at_work.fetch_sub(1, SeqCst);
                Ok::<_, CpuBoundError>(())
            })
        };
        // The first request ends when its work has begun.
        let mut gone = Box::pin(work());
        while running.try_recv().is_err() {
            tokio::select! { biased; _ = &mut gone => break, () = tokio::task::yield_now() => {} }
        }
        drop(gone);
        assert!(join_all((0..4).map(|_| work())).await.into_iter().all(|done| done.is_ok()));
        // The thread of the last piece gives its turn back after the answer.
        let turn = cpu_bound.0.acquire().await.unwrap();
        assert_eq!(cpu_bound.0.available_permits(), 0);
        drop(turn);
    }

    #[cfg(unix)]
    #[tokio::test]
    async fn work_gives_way_to_the_threads_that_answer() {
        let niceness = || rustix::process::nice(0).map_err(|_| CpuBoundError);
        let of_work = CpuBoundWork::default().run(niceness).await.unwrap();
        assert_eq!(of_work, (niceness().unwrap() + NICENESS).min(19));
    }

    #[tokio::test]
    async fn work_that_panics_is_an_error_and_gives_its_turn_back() {
        let cpu_bound = CpuBoundWork::default();
        let panicked: Result<(), CpuBoundError> = cpu_bound.run(|| panic!("a bug")).await;
        assert_eq!(panicked, Err(CpuBoundError));
        assert_eq!(cpu_bound.run(|| Ok::<_, CpuBoundError>(5)).await, Ok(5));
    }
}
