//! Queues of requests whose handlers wait for something other than the store, such as a hash. Without a queue,
//! they could take all permits of the admission control. The queue is bounded: a request beyond its length is
//! refused at once.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// A queue of some functions of an instance. Cloning is cheap, and clones share the queue.
#[derive(Debug, Clone)]
pub struct WorkQueue {
    entries: Arc<Semaphore>,
    turns: Arc<Semaphore>,
}

pub(super) type Turn = [OwnedSemaphorePermit; 2];

impl WorkQueue {
    /// Creates a queue with this many turns at a time, and this many waiting requests.
    pub fn new(at_work: usize, waiting: usize) -> Self {
        let [entries, turns] =
            [at_work + waiting, at_work].map(|permits| Arc::new(Semaphore::new(permits)));
        Self { entries, turns }
    }

    pub(super) fn enter(&self) -> Option<impl Future<Output = Option<Turn>> + use<>> {
        let entry = Arc::clone(&self.entries).try_acquire_owned().ok()?;
        let turn = Arc::clone(&self.turns).acquire_owned();
        Some(async { Some([entry, turn.await.ok()?]) })
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    #[tokio::test]
    async fn a_full_queue_refuses_and_an_entry_that_goes_makes_room() {
        let queue = WorkQueue::new(1, 1);
        let at_work = queue.enter().unwrap().await.unwrap();
        let mut waiting = Box::pin(queue.clone().enter().unwrap());
        assert!(waiting.as_mut().now_or_never().is_none() && queue.enter().is_none());
        // A caller that goes while it waits leaves nothing behind.
        drop(waiting);
        let next = queue.enter().unwrap();
        drop(at_work);
        assert!(next.await.is_some() && queue.enter().is_some());
    }
}
