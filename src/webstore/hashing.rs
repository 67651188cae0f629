//! Hashing of passwords, one at a time.
//!
//! A hash takes 46 MiB and some 50 ms of a processor (`model/password.rs`), and an instance has one
//! processor as a rule. So hashes wait for their turn, first come, first served. A thread of its own
//! makes each hash, with a lower priority than the threads that answer requests: any number of logins
//! leaves these threads three quarters of a processor. Requests that hash wait in a [queue] of their
//! own, and so take no place from other requests.

use std::{sync::Arc, thread};

use tokio::sync::{Semaphore, oneshot};
use tributary_functions::http::WorkQueue;

use super::model::{HashError, Password, PasswordHash};

/// The most requests with a hash that are worked on at a time: one hashes, and another one reads or
/// writes the store.
const MAX_ACTIVE_REQUESTS: usize = 2;

/// The most requests that wait. An idle processor makes some fifteen hashes a second, and a busy one
/// some four. So the last request waits for two to eight seconds, less than a request may wait for its
/// turn.
const MAX_WAITING_REQUESTS: usize = 32;

/// The niceness of a thread that hashes. Linux gives it a third of the time of a thread that answers
/// requests (`sched_prio_to_weight`: 335 of 1,024).
#[cfg(unix)]
const NICENESS: i32 = 5;

/// Creates the queue of the requests that hash a password.
pub(super) fn queue() -> WorkQueue {
    WorkQueue::new(MAX_ACTIVE_REQUESTS, MAX_WAITING_REQUESTS)
}

/// The hashing of an instance. Cloning is cheap.
#[derive(Clone)]
pub(super) struct Hashing(Arc<Semaphore>);

impl Default for Hashing {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(1)))
    }
}

impl Hashing {
    /// Hashes a new password.
    pub(super) async fn hash(&self, password: Password) -> Result<PasswordHash, HashError> {
        self.in_turn(move || PasswordHash::new(&password)).await
    }

    /// Returns true if `known` is the hash of this password ([`PasswordHash::matches`]).
    pub(super) async fn verify(
        &self,
        known: Option<PasswordHash>,
        password: Password,
    ) -> Result<bool, HashError> {
        self.in_turn(move || PasswordHash::matches(known.as_ref(), &password)).await
    }

    /// Runs `work` on a thread of its own, when no other work of this instance runs.
    async fn in_turn<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T, HashError> + Send + 'static,
    ) -> Result<T, HashError> {
        let turn = Arc::clone(&self.0).acquire_owned().await.map_err(|_| HashError)?;
        let request = tracing::Span::current();
        let (done, result) = oneshot::channel();
        let work = move || {
            // The turn lasts until the work ends, also if its request has ended before.
            let _turn = turn;
            lower_priority();
            let _ = done.send(request.in_scope(work));
        };
        // A thread of the runtime's pool would keep the low priority.
        thread::Builder::new().name("hash".into()).spawn(work).map_err(|_| HashError)?;
        result.await.unwrap_or(Err(HashError))
    }
}

/// Lowers the priority of this thread. A system that refuses this makes hashes all the same.
fn lower_priority() {
    #[cfg(unix)]
    let _ = rustix::process::nice(NICENESS);
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

    use futures::future::join_all;

    use super::*;

    #[tokio::test]
    async fn one_hash_is_made_at_a_time_also_for_requests_that_have_ended() {
        let hashing = Hashing::default();
        let at_work = Arc::new(AtomicUsize::new(0));
        let (started, running) = std::sync::mpsc::channel();
        let work = || {
            let (at_work, started) = (Arc::clone(&at_work), started.clone());
            hashing.in_turn(move || {
                assert_eq!(at_work.fetch_add(1, SeqCst), 0);
                let _ = started.send(());
                std::thread::sleep(std::time::Duration::from_millis(20));
                at_work.fetch_sub(1, SeqCst);
                Ok(())
            })
        };
        // The first request ends when its work has begun.
        let mut gone = Box::pin(work());
        while running.try_recv().is_err() {
            tokio::select! { biased; _ = &mut gone => break, () = tokio::task::yield_now() => {} }
        }
        drop(gone);
        assert!(join_all((0..4).map(|_| work())).await.into_iter().all(|done| done.is_ok()));
        assert_eq!(hashing.0.available_permits(), 1);
    }

    #[cfg(unix)]
    #[tokio::test]
    async fn a_hash_gives_way_to_the_threads_that_answer() {
        let niceness = || rustix::process::nice(0).map_err(|_| HashError);
        let of_hash = Hashing::default().in_turn(niceness).await.unwrap();
        assert_eq!(of_hash, (niceness().unwrap() + NICENESS).min(19));
    }

    #[tokio::test]
    async fn work_that_panics_is_an_error_and_gives_its_turn_back() {
        let hashing = Hashing::default();
        let panicked: Result<(), _> = hashing.in_turn(|| panic!("a bug")).await;
        assert_eq!(panicked, Err(HashError));
        assert_eq!(hashing.in_turn(|| Ok(5)).await, Ok(5));
    }
}
