//! Answers that are ready before the request's body was read. The Functions host sends the whole body before it reads the
//! answer, and where the connection closes, the caller gets a 500 instead of the 404, 405, 413 or 415. So the handler
//! borrows the body. Dropped before its end, it comes back, and is read before the answer is sent: up to
//! [`MAX_DISCARDED_BYTES`], or [`MAX_DISCARD_TIME`] after the begin of the request. Then the connection is closed.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use axum::extract::Request;
use axum::response::Response;
use http_body::{Frame, SizeHint};
use http_body_util::BodyExt as _;
use tokio::time::Instant;

/// The host takes bodies of up to 100 MB, or 210 MB on the newer plans.
const MAX_DISCARDED_BYTES: u64 = 256 * 1024 * 1024;

/// The time from the begin of a request: a caller on a slow line sends a few megabytes in it.
pub(crate) const MAX_DISCARD_TIME: Duration = Duration::from_secs(30);

pub(crate) async fn answer<F>(
    request: Request,
    end: Instant,
    answer: impl FnOnce(Request) -> F,
) -> Response
where
    F: Future<Output = Response>,
{
    if request.body().is_end_stream() {
        return answer(request).await;
    }
    let (head, body) = request.into_parts();
    let back = Arc::new(Mutex::new(None));
    let lent = LentBody { body: Some(body), back: back.clone() };
    let response = answer(Request::from_parts(head, Body::new(lent))).await;
    let rest = back.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some(rest) = rest {
        // A caller that sends for longer sees the connection close.
        let _ = tokio::time::timeout_at(end, discard(rest)).await;
    }
    response
}

async fn discard(mut body: Body) {
    let mut n_bytes = body.size_hint().lower();
    if n_bytes > MAX_DISCARDED_BYTES {
        return;
    }
    n_bytes = 0;
    while let Some(Ok(frame)) = body.frame().await {
        n_bytes += frame.data_ref().map_or(0, |data| data.len() as u64);
        if n_bytes > MAX_DISCARDED_BYTES {
            return;
        }
    }
}

/// A body that comes back when it is dropped before its end.
struct LentBody {
    /// `None` after its end, or after it broke.
    body: Option<Body>,
    back: Arc<Mutex<Option<Body>>>,
}

impl HttpBody for LentBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let Some(body) = self.body.as_mut() else {
            return Poll::Ready(None);
        };
        let frame = ready!(Pin::new(body).poll_frame(context));
        if !matches!(frame, Some(Ok(_))) {
            self.body = None;
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.as_ref().is_none_or(HttpBody::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.body.as_ref().map_or_else(|| SizeHint::with_exact(0), HttpBody::size_hint)
    }
}

impl Drop for LentBody {
    fn drop(&mut self) {
        let rest = self.body.take().filter(|body| !body.is_end_stream());
        *self.back.lock().unwrap_or_else(PoisonError::into_inner) = rest;
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use axum::response::IntoResponse;
    use futures::{StreamExt, stream};

    use super::*;

    #[tokio::test]
    async fn a_body_that_stands_still_is_awaited_for_a_bounded_time() {
        let first = stream::iter([Ok::<_, io::Error>(Bytes::from_static(b"x"))]);
        let body = Body::from_stream(first.chain(stream::pending()));
        let end = Instant::now() + Duration::from_millis(50);
        answer(Request::new(body), end, async |_| ().into_response()).await;
        assert!(Instant::now() >= end);
    }
}
