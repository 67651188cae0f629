//! Faults of the service, requested by a test or drawn at random.

use std::sync::Mutex;
use std::time::Duration;

use cosmos_store::http::Kind;
use http::{HeaderValue, Response, StatusCode};
use tokio::sync::oneshot;
use tokio::time::timeout;

use super::store::Bytes;
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
    kind: Kind,
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
    pub(super) fn add(&self, fault: Fault, kind: Kind, container: &str, times: usize) {
        let met = RequestFault::of(fault);
        let container = container.to_owned();
        self.push(Pending { met, kind, container, times, by_chance: false });
    }

    pub(super) fn take(&self, kind: Kind, container: &str) -> Option<RequestFault> {
        self.asked_for(kind, container).or_else(|| self.by_chance(kind, container))
    }

    fn asked_for(&self, kind: Kind, container: &str) -> Option<RequestFault> {
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

    fn by_chance(&self, kind: Kind, container: &str) -> Option<RequestFault> {
        let chaos = self.chaos.as_ref()?;
        if let Some(mut random) = chaos.roll(ChaosKind::Throttle) {
            return Some(self.throttle(chaos, &mut random, kind, container));
        }
        if kind.writes() && chaos.roll(ChaosKind::LostAnswer).is_some() {
            chaos.note(ChaosKind::LostAnswer, format_args!("{kind:?} in {container}"));
            return Some(RequestFault::of(Fault::AnswerLost));
        }
        None
    }

    /// Throttles a request, and at times also the next requests of its kind to the container.
    fn throttle(
        &self,
        chaos: &Chaos,
        random: &mut Random,
        kind: Kind,
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
    pub(super) fn of(fault: Fault) -> Self {
        Self { fault, retry_after_ms: 1 }
    }

    pub(super) fn answer(self) -> Response<Bytes> {
        let (status, sub_status) = match self.fault {
            Fault::Refused(status) => (status, None),
            Fault::RefusedWith(status, sub_status) => (status, Some(sub_status)),
            Fault::AnswerLost => (408, None),
        };
        let body = format!(r#"{{"code":"{status}","message":"a fault that was asked for"}}"#);
        let mut answer = Response::new(Bytes::from(body));
        *answer.status_mut() =
            StatusCode::from_u16(status).unwrap_or(StatusCode::SERVICE_UNAVAILABLE);
        let headers = answer.headers_mut();
        headers.insert("content-type", HeaderValue::from_static("application/json"));
        headers.insert("x-ms-request-charge", HeaderValue::from_static("0"));
        headers.insert("x-ms-retry-after-ms", self.retry_after_ms.into());
        if let Some(sub_status) = sub_status {
            headers.insert("x-ms-substatus", sub_status.into());
        }
        answer
    }
}

/// The longest wait for a request. On a loaded machine a command takes seconds.
const MAX_ARRIVAL_WAIT: Duration = Duration::from_secs(30);

/// A request that is held back on its way to the store until this value is released. If it is dropped, the request
/// is lost: the store never gets it.
#[derive(Debug)]
pub struct Hold {
    arrived: oneshot::Receiver<()>,
    release: oneshot::Sender<()>,
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
    pub fn release(self) {
        // Its caller may have gone.
        let _ = self.release.send(());
    }
}

#[derive(Debug, Default)]
pub(super) struct Holds(Mutex<Vec<PendingHold>>);

#[derive(Debug)]
struct PendingHold {
    kind: Kind,
    container: String,
    arrive: oneshot::Sender<()>,
    released: oneshot::Receiver<()>,
}

impl Holds {
    pub(super) fn add(&self, kind: Kind, container: &str) -> Hold {
        let (arrive, arrived) = oneshot::channel();
        let (release, released) = oneshot::channel();
        let container = container.to_owned();
        lock(&self.0).push(PendingHold { kind, container, arrive, released });
        Hold { arrived, release }
    }

    /// Waits if the request is held back. Returns false if it is lost.
    pub(super) async fn wait(&self, kind: Kind, container: &str) -> bool {
        let held = lock(&self.0)
            .extract_if(.., |hold| hold.kind == kind && hold.container == container)
            .next();
        let Some(PendingHold { arrive, released, .. }) = held else { return true };
        // A hold that is dropped before the request arrives holds nothing.
        arrive.send(()).is_err() || released.await.is_ok()
    }
}
