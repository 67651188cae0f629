//! Faults that a test asks for: what the service does now and then, on purpose and at once.

use std::sync::{Mutex, PoisonError};

use azure_core::{
    Bytes,
    http::headers::{HeaderName, Headers},
};

use super::{operation::RequestKind, store::Response};

/// What goes wrong with a data-plane request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The request is not carried out and answered with this status: 429 (throttled), 449 (a
    /// concurrent write), 503 (unavailable).
    Refused(u16),
    /// The request is carried out, and answered with 408 as if it had timed out: who sent it
    /// cannot know.
    AnswerLost,
}

/// The faults that are still to come.
#[derive(Debug, Default)]
pub(super) struct Faults(Mutex<Vec<Pending>>);

#[derive(Debug)]
struct Pending {
    fault: Fault,
    kind: RequestKind,
    container: String,
    times: usize,
}

impl Faults {
    pub(super) fn add(&self, fault: Fault, kind: RequestKind, container: &str, times: usize) {
        let container = container.to_owned();
        let mut pending = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        pending.push(Pending { fault, kind, container, times });
    }

    /// The fault that this request meets, if any.
    pub(super) fn take(&self, kind: RequestKind, container: &str) -> Option<Fault> {
        let mut pending = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let meets = |one: &Pending| one.times > 0 && one.kind == kind && one.container == container;
        let met = pending.iter_mut().find(|one| meets(one))?;
        met.times -= 1;
        Some(met.fault)
    }
}

/// The answer to a request that failed, with the shortest pause to wait.
pub(super) fn answer(status: u16) -> Response {
    let mut headers = Headers::new();
    headers.insert(HeaderName::from_static("content-type"), "application/json");
    headers.insert(HeaderName::from_static("x-ms-retry-after-ms"), "1");
    headers.insert(HeaderName::from_static("x-ms-request-charge"), "0");
    let body = format!(r#"{{"code":"{status}","message":"a fault that was asked for"}}"#);
    Response { status, headers, body: Bytes::from(body) }
}
