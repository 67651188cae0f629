//! The thread that carries out all writes: those that wait become one new state, and one transaction on the disk.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, PoisonError, RwLock},
    thread::JoinHandle,
    time::{SystemTime, UNIX_EPOCH},
};

use tokio::sync::{mpsc, oneshot};

use super::{
    View,
    catalog::Catalog,
    disk::{self, Disk},
};
use crate::{Refusal, Result};

/// The most requests of one commit, and as many may wait for the next one. Each can have 2 MB.
const MAX_REQUESTS: usize = 256;

/// Sends the answer of a request, after the commit.
type Answer = Box<dyn FnOnce() + Send>;

/// A request that waits for the thread.
type Work = Box<dyn FnOnce(&mut Writer) -> Answer + Send>;

/// What a request changes.
pub(super) struct Writer {
    /// The state after the requests before this one.
    pub catalog: Catalog,
    /// What has to be written to the disk; `None` in memory.
    pub rows: Option<Vec<disk::Row>>,
}

/// The queue to the thread. Dropping it ends the thread, after what waits.
#[derive(Debug)]
pub(super) struct Queue {
    sender: Option<mpsc::Sender<Work>>,
    thread: Option<JoinHandle<()>>,
}

impl Drop for Queue {
    fn drop(&mut self) {
        self.sender = None;
        if let Some(thread) = self.thread.take() {
            _ = thread.join();
        }
    }
}

impl Queue {
    pub(super) fn start(disk: Option<Disk>, newest: Arc<RwLock<View>>) -> std::io::Result<Self> {
        let (sender, receiver) = mpsc::channel(MAX_REQUESTS);
        let thread = std::thread::Builder::new().name("cosmos-store-writer".to_owned());
        let thread = thread.spawn(move || run(disk.as_ref(), receiver, &newest))?;
        Ok(Self { sender: Some(sender), thread: Some(thread) })
    }

    /// Carries out a request. What it refuses must not have been written.
    pub(super) async fn write<T: Send + 'static>(
        &self,
        request: impl FnOnce(&mut Writer) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let lost = || Refusal::new(500, "The write was not carried out: the store cannot write.");
        let (answer, answered) = oneshot::channel();
        let work: Work = Box::new(move |writer| {
            let result = request(writer);
            // A caller that does not wait any more is no error.
            Box::new(move || _ = answer.send(result))
        });
        self.sender.as_ref().ok_or_else(lost)?.send(work).await.map_err(|_| lost())?;
        answered.await.map_err(|_| lost())?
    }
}

fn run(disk: Option<&Disk>, mut requests: mpsc::Receiver<Work>, newest: &RwLock<View>) {
    while let Some(first) = requests.blocking_recv() {
        let mut batch = vec![first];
        while batch.len() < MAX_REQUESTS
            && let Ok(next) = requests.try_recv()
        {
            batch.push(next);
        }
        let before = newest.read().unwrap_or_else(PoisonError::into_inner).clone();
        // A defect must not end the thread: the requests of this batch fail, and nothing of them is written.
        match catch_unwind(AssertUnwindSafe(|| commit(disk, before.catalog(), batch))) {
            Ok(Ok((catalog, answers))) => {
                let mut newest = newest.write().unwrap_or_else(PoisonError::into_inner);
                let old = std::mem::replace(&mut *newest, View::new(catalog));
                // The end of a state can be that of a large container, for which readers are not to wait.
                drop(newest);
                drop((before, old));
                for answer in answers {
                    answer();
                }
            }
            Ok(Err(error)) => tracing::error!(%error, "a transaction was not committed"),
            Err(_) => tracing::error!("a transaction was given up after a panic"),
        }
    }
}

fn commit(
    disk: Option<&Disk>,
    before: &Catalog,
    batch: Vec<Work>,
) -> Result<(Catalog, Vec<Answer>), redb::Error> {
    let mut writer = Writer { catalog: before.clone(), rows: disk.map(|_| Vec::new()) };
    writer.catalog.counters.ts = writer.catalog.counters.ts.max(now());
    let answers = batch.into_iter().map(|work| work(&mut writer)).collect();
    if let (Some(disk), Some(rows)) = (disk, &writer.rows) {
        disk.commit(before, &writer.catalog, rows)?;
    }
    Ok((writer.catalog, answers))
}

/// Returns the seconds since 1970.
pub(super) fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
}
