//! Requests that a test holds back, so that something else happens in the middle of an operation.

use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

use tokio::{sync::oneshot, time::timeout};

use super::operation::RequestKind;

/// The longest wait for a request. On a loaded machine a command takes seconds.
const MAX_ARRIVAL_WAIT: Duration = Duration::from_secs(30);

/// A request that is held back on its way to the store, until this value is released or dropped.
#[derive(Debug)]
pub struct Hold {
    arrived: oneshot::Receiver<()>,
    /// Its drop releases the request.
    _released: oneshot::Sender<()>,
}

impl Hold {
    /// Waits until the request arrives.
    ///
    /// # Panics
    ///
    /// If no request arrives within 30 seconds, so that the test fails instead of hanging.
    pub async fn arrived(&mut self) {
        // An inner error means that the account was dropped, and all requests with it.
        let waited = timeout(MAX_ARRIVAL_WAIT, &mut self.arrived).await;
        assert!(waited.is_ok(), "no request arrived that could be held back");
    }

    /// Releases the request.
    pub fn release(self) {}
}

/// The pending holds.
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
    /// Holds back the next request of a kind to a container.
    pub(super) fn add(&self, kind: RequestKind, container: &str) -> Hold {
        let (arrive, arrived) = oneshot::channel();
        let (release, released) = oneshot::channel();
        let container = container.to_owned();
        let pending = Pending { kind, container, arrived: arrive, released };
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(pending);
        Hold { arrived, _released: release }
    }

    /// Waits while this request is held back.
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
