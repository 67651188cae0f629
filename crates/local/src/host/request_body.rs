//! The body of a request as the host's server reads it: within a limit, at a least rate, without trailers.

use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use axum::body::{Body, Bytes, HttpBody};
use http_body::{Frame, SizeHint};
use http_body_util::BodyExt as _;
use tokio::time::{Sleep, sleep, timeout};

/// Kestrel's `MinRequestBodyDataRate`: the mean since the body began, after the grace.
const MIN_BYTES_PER_SECOND: u64 = 240;
const GRACE: Duration = Duration::from_secs(5);

/// The time for which Kestrel reads the rest of a body beside its answer.
const DRAIN_TIME: Duration = Duration::from_secs(5);

/// A body on its way from the caller. A reader that pauses is not counted against the caller.
#[derive(Default)]
pub(super) struct ArrivingBody {
    pub(super) body: Body,
    pub(super) limit: u64,
    pub(super) n_bytes: u64,
    /// The time of the waits that have ended.
    pub(super) waited: Duration,
    pub(super) wait: Option<(Instant, Pin<Box<Sleep>>)>,
}

impl HttpBody for ArrivingBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let this = &mut *self;
        if this.n_bytes.saturating_add(this.body.size_hint().lower()) > this.limit {
            let reason = format!("the body has more than {} bytes", this.limit);
            // The rest is read and dropped.
            this.limit = u64::MAX;
            return Poll::Ready(Some(Err(axum::Error::new(reason))));
        }
        let Poll::Ready(frame) = Pin::new(&mut this.body).poll_frame(context) else {
            let (_, timer) = this.wait.get_or_insert_with(|| {
                let paid = Duration::from_secs(this.n_bytes / MIN_BYTES_PER_SECOND);
                let rest = GRACE.max(paid).saturating_sub(this.waited);
                (Instant::now(), Box::pin(sleep(rest)))
            });
            ready!(timer.as_mut().poll(context));
            let reason =
                format!("the body came at less than {MIN_BYTES_PER_SECOND} bytes a second");
            return Poll::Ready(Some(Err(axum::Error::new(reason))));
        };
        if let Some((begin, _)) = this.wait.take() {
            this.waited += begin.elapsed();
        }
        match frame.map(|frame| frame.map(Frame::into_data)) {
            Some(Ok(Ok(data))) => {
                this.n_bytes += data.len() as u64;
                Poll::Ready(Some(Ok(Frame::data(data))))
            }
            Some(Err(error)) => Poll::Ready(Some(Err(error))),
            // Trailers end a body, and are dropped.
            Some(Ok(Err(_))) | None => Poll::Ready(None),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// Reads the rest of a body that nothing waits for, while its answer goes out. A body that ends in time
/// keeps its connection.
pub(super) fn drain(mut body: Body) {
    if !body.is_end_stream() {
        let rest = async move { while let Some(Ok(_)) = body.frame().await {} };
        tokio::spawn(timeout(DRAIN_TIME, rest));
    }
}
