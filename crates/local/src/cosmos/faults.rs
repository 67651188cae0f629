//! Faults of the service, requested by a test or drawn at random.

use std::sync::Mutex;
use std::time::Duration;

use azure_core::Bytes;
use azure_core::http::headers::{HeaderName, Headers};
use tokio::sync::oneshot;
use tokio::time::timeout;

use super::emulator::Response;
use super::operation::RequestKind;
use crate::chaos::{Chaos, ChaosKind, Random};
use crate::lock;

/// A fault of a data-plane request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The request is not carried out and answered with this status: 429 (throttled), 449 (a concurrent
    /// write), 503 (unavailable).
    Refused(u16),
    /// As [`Fault::Refused`], with a status and a sub-status: 403 and 1014 (a logical partition is
    /// full), 404 and 1002 or 1003 (the session or the container is not available here).
    RefusedWith(u16, u16),
    /// The request is carried out, and answered with 408 as if it had timed out: the client cannot
    /// know.
    AnswerLost,
}

#[derive(Debug)]
pub(super) struct Faults {
    pub(super) pending: Mutex<Vec<Pending>>,
    pub(super) chaos: Option<Chaos>,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct RequestFault {
    pub(super) fault: Fault,
    retry_after_ms: u64,
}

#[derive(Debug)]
pub(super) struct Pending {
    met: RequestFault,
    kind: RequestKind,
    container: String,
    times: usize,
    by_chance: bool,
}

/// The longest wait, in milliseconds, that the store asks for when it throttles at random.
const MAX_RETRY_AFTER_MS: u64 = 40;
/// The share of throttled requests that begin a burst. The SDK gives up on the longest bursts.
const BURST_PROBABILITY: f64 = 0.05;
/// The number of requests of one kind to one container that a burst throttles at most.
const MAX_BURST_REQUESTS: usize = 40;

impl Faults {
    pub(super) fn add(&self, fault: Fault, kind: RequestKind, container: &str, times: usize) {
        let met = RequestFault { fault, retry_after_ms: 1 };
        let container = container.to_owned();
        self.push(Pending { met, kind, container, times, by_chance: false });
    }

    pub(super) fn take(&self, kind: RequestKind, container: &str) -> Option<RequestFault> {
        self.asked_for(kind, container).or_else(|| self.by_chance(kind, container))
    }

    fn asked_for(&self, kind: RequestKind, container: &str) -> Option<RequestFault> {
        let mut pending = lock(&self.pending);
        if self.chaos.as_ref().is_some_and(Chaos::is_stopped) {
            pending.retain(|fault| !fault.by_chance);
        }
        let meets = |fault: &Pending| fault.kind == kind && fault.container == container;
        let place = pending.iter().position(meets)?;
        let one = &mut pending[place];
        let met = one.met;
        one.times -= 1;
        if one.times == 0 {
            pending.remove(place);
        }
        Some(met)
    }

    fn by_chance(&self, kind: RequestKind, container: &str) -> Option<RequestFault> {
        let chaos = self.chaos.as_ref()?;
        if let Some(mut random) = chaos.roll(ChaosKind::Throttle) {
            return Some(self.throttle(chaos, &mut random, kind, container));
        }
        if kind.is_write() && chaos.roll(ChaosKind::LostAnswer).is_some() {
            chaos.note(ChaosKind::LostAnswer, format_args!("{kind:?} in {container}"));
            return Some(RequestFault { fault: Fault::AnswerLost, retry_after_ms: 1 });
        }
        None
    }

    /// Throttles a request, and at times also the next requests of its kind to the container.
    fn throttle(
        &self,
        chaos: &Chaos,
        random: &mut Random,
        kind: RequestKind,
        container: &str,
    ) -> RequestFault {
        let retry_after_ms = 1 + random.below(MAX_RETRY_AFTER_MS);
        let met = RequestFault { fault: Fault::Refused(429), retry_after_ms };
        let more =
            if random.chance(BURST_PROBABILITY) { random.index(MAX_BURST_REQUESTS) } else { 0 };
        let after = format_args!("{more} more; retry after {retry_after_ms} ms");
        chaos.note(ChaosKind::Throttle, format_args!("{kind:?} in {container}, and {after}"));
        let container = container.to_owned();
        self.push(Pending { met, kind, container, times: more, by_chance: true });
        met
    }

    fn push(&self, one: Pending) {
        if one.times > 0 {
            lock(&self.pending).push(one);
        }
    }
}

impl RequestFault {
    pub(super) fn answer(self) -> Response {
        let (status, sub_status) = match self.fault {
            Fault::Refused(status) => (status, None),
            Fault::RefusedWith(status, sub_status) => (status, Some(sub_status)),
            Fault::AnswerLost => (408, None),
        };
        let mut headers = Headers::new();
        if let Some(sub_status) = sub_status {
            headers.insert(HeaderName::from_static("x-ms-substatus"), sub_status.to_string());
        }
        headers.insert(HeaderName::from_static("content-type"), "application/json");
        let retry_after_ms = self.retry_after_ms.to_string();
        headers.insert(HeaderName::from_static("x-ms-retry-after-ms"), retry_after_ms);
        headers.insert(HeaderName::from_static("x-ms-request-charge"), "0");
        let body = format!(r#"{{"code":"{status}","message":"a fault that was asked for"}}"#);
        Response { status, headers, body: Bytes::from(body), items_loaded: None }
    }
}

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
    /// If no request arrives within 30 seconds, so that the test fails instead of hanging.
    pub async fn arrived(&mut self) {
        // An inner error means that the account was dropped, and all requests with it.
        let waited = timeout(MAX_ARRIVAL_WAIT, &mut self.arrived).await;
        assert!(waited.is_ok(), "no request arrived that could be held back");
    }

    /// Releases the request.
    pub fn release(self) {}
}

#[derive(Debug, Default)]
pub(super) struct Holds(Mutex<Vec<PendingHold>>);

#[derive(Debug)]
struct PendingHold {
    kind: RequestKind,
    container: String,
    arrived: oneshot::Sender<()>,
    released: oneshot::Receiver<()>,
}

impl Holds {
    pub(super) fn add(&self, kind: RequestKind, container: &str) -> Hold {
        let (arrive, arrived) = oneshot::channel();
        let (release, released) = oneshot::channel();
        let container = container.to_owned();
        let pending = PendingHold { kind, container, arrived: arrive, released };
        lock(&self.0).push(pending);
        Hold { arrived, _released: release }
    }

    pub(super) async fn wait(&self, kind: RequestKind, container: &str) {
        let held = lock(&self.0)
            .extract_if(.., |hold| hold.kind == kind && hold.container == container)
            .next();
        if let Some(PendingHold { arrived, released, .. }) = held {
            let _ = arrived.send(());
            let _ = released.await;
        }
    }
}
