//! Isolation of panics: a panic of a handler ends its own request alone.

use std::any::Any;
use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::task::Poll;

/// Runs the future in place, so that it keeps its span and ends when the caller closes the connection. A
/// panic becomes an error with the panic's message, after the panic hook has run.
pub(crate) async fn catch<F: Future>(future: F) -> Result<F::Output, String> {
    let mut future = pin!(future);
    // A future that has panicked is dropped without another poll, so no broken state is seen.
    poll_fn(move |context| match catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(context))) {
        Ok(poll) => poll.map(Ok),
        Err(payload) => Poll::Ready(Err(message(payload.as_ref()))),
    })
    .await
}

fn message(payload: &(dyn Any + Send)) -> String {
    if let Some(text) = payload.downcast_ref::<&str>() {
        (*text).to_owned()
    } else if let Some(text) = payload.downcast_ref::<String>() {
        text.clone()
    } else {
        "a panic without a message".to_owned()
    }
}
