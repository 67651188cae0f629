//! Requests that a test holds back, to let something happen in the middle of an operation.

use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

use tokio::{sync::oneshot, time::timeout};

use super::operation::RequestKind;

/// How long a request may take to arrive; on a busy machine a command takes seconds.
const PATIENCE: Duration = Duration::from_secs(30);

/// A request that is held back on its way to the store, from when it arrives until this is
/// released or dropped.
#[derive(Debug)]
pub struct Hold {
    arrived: oneshot::Receiver<()>,
    /// Dropping it lets the request go on.
    _released: oneshot::Sender<()>,
}

impl Hold {
    /// Waits until the request is there.
    ///
    /// # Panics
    ///
    /// When none comes within 30 seconds: a test that waits in vain is to fail and not to hang.
    pub async fn arrived(&mut self) {
        // An error within means that the account is gone, and with it whoever waits.
        let waited = timeout(PATIENCE, &mut self.arrived).await;
        assert!(waited.is_ok(), "the request that was to be held back has not come");
    }

    /// Lets the request go on.
    pub fn release(self) {}
}

/// The requests that are to be held back.
#[derive(Debug, Default)]
pub(super) struct Holds(Mutex<Vec<Pending>>);

#[derive(Debug)]
struct Pending {
    kind: RequestKind,
    container: String,
    arrived: oneshot::Sender<()>,
    released: oneshot::Receiver<()>,
}

impl Holds {
    /// Holds the next request of a kind to a container back.
    pub(super) fn add(&self, kind: RequestKind, container: &str) -> Hold {
        let (arrive, arrived) = oneshot::channel();
        let (release, released) = oneshot::channel();
        let container = container.to_owned();
        let pending = Pending { kind, container, arrived: arrive, released };
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(pending);
        Hold { arrived, _released: release }
    }

    /// Waits if this request is to be held back.
    pub(super) async fn wait(&self, kind: RequestKind, container: &str) {
        if let Some(Pending { arrived, released, .. }) = self.take(kind, container) {
            let _ = arrived.send(());
            let _ = released.await;
        }
    }

    fn take(&self, kind: RequestKind, container: &str) -> Option<Pending> {
        let mut pending = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let place =
            pending.iter().position(|one| one.kind == kind && one.container == container)?;
        Some(pending.remove(place))
    }
}
