//! A request's body on its way to the handler.
//!
//! The host sends the head first, then the body in the caller's pieces, and reads no answer before the
//! whole body was sent. So a handler that answers and closes early breaks the host's copy, and the
//! caller gets a 500.

use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use http_body::{Frame, SizeHint};
use tokio::time::Sleep;

/// The time from the head to the body. In Azure, two processes and a network are between.
const BEHIND_HEAD: Duration = Duration::from_millis(1);

/// A body that is sent once at most. `None` is no body, and can be sent any number of times.
#[derive(Debug)]
pub(super) struct RequestBody(Option<Arc<Mutex<BodyState>>>);

#[derive(Debug)]
struct BodyState {
    /// `None` after the body was abandoned.
    body: Option<Body>,
    begun: bool,
    sent: bool,
}

impl RequestBody {
    pub(super) fn new(body: Body) -> Self {
        if body.is_end_stream() {
            return Self(None);
        }
        let state = BodyState { body: Some(body), begun: false, sent: false };
        Self(Some(Arc::new(Mutex::new(state))))
    }

    pub(super) fn is_none(&self) -> bool {
        self.0.is_none()
    }

    /// Returns the body to send; `None` if its sending has begun before.
    pub(super) fn to_send(&self) -> Option<Body> {
        let Some(state) = &self.0 else {
            return Some(Body::empty());
        };
        let known = lock(state);
        (!known.begun).then(|| {
            Body::new(Sending {
                size: known.body.as_ref().map(HttpBody::size_hint).unwrap_or_default(),
                pause: Some(Box::pin(tokio::time::sleep(BEHIND_HEAD))),
                state: state.clone(),
            })
        })
    }

    /// Returns true after the body was sent to its end.
    pub(super) fn is_sent(&self) -> bool {
        self.0.as_ref().is_none_or(|state| lock(state).sent)
    }

    /// Stops the sending.
    pub(super) fn abandon(&self) {
        let body = self.0.as_ref().and_then(|state| lock(state).body.take());
        drop(body);
    }
}

fn lock(state: &Mutex<BodyState>) -> MutexGuard<'_, BodyState> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

struct Sending {
    size: SizeHint,
    pause: Option<Pin<Box<Sleep>>>,
    state: Arc<Mutex<BodyState>>,
}

impl HttpBody for Sending {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        // The connection exists, and the head goes first.
        lock(&self.state).begun = true;
        if let Some(pause) = self.pause.as_mut() {
            ready!(pause.as_mut().poll(context));
            self.pause = None;
        }
        let mut state = lock(&self.state);
        let Some(body) = state.body.as_mut() else {
            return Poll::Ready(Some(Err(axum::Error::new(Abandoned))));
        };
        let frame = ready!(Pin::new(&mut *body).poll_frame(context));
        state.sent = frame.is_none() || body.is_end_stream();
        Poll::Ready(frame)
    }

    fn size_hint(&self) -> SizeHint {
        self.size
    }
}

#[derive(Debug, thiserror::Error)]
#[error("the body was abandoned")]
struct Abandoned;
