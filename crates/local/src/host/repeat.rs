//! Requests without a body that the host sends several times.
//!
//! The host repeats such a request after a broken connection, up to 40 times within two seconds and
//! under one invocation id. The handler may have carried it out before the connection broke, and may
//! still be working on it when the next one arrives.

use axum::Router;
use axum::body::{Body, HttpBody as _};
use axum::extract::Request;
use axum::http::HeaderValue;
use axum::middleware::{Next, from_fn};
use futures::future::join_all;

use super::wire::INVOCATION_ID;
use crate::chaos::{Chaos, ChaosKind};

/// The number of times that the host sends a request at most.
const MAX_SENDS: u64 = 40;
/// The probability that a repeated request is sent that often.
const MAX_SENDS_PROBABILITY: f64 = 0.05;
/// The probability that the requests run side by side, not one after the other.
const SIDE_BY_SIDE_PROBABILITY: f64 = 0.5;

/// Sends a request without a body once, or several times if [`ChaosKind::Repeat`] happens. One answer is
/// kept, and all others are dropped.
pub(super) async fn send<F: Future>(chaos: &Chaos, once: impl Fn() -> F) -> F::Output {
    let Some(mut random) = chaos.roll(ChaosKind::Repeat) else {
        return once().await;
    };
    let times = if random.chance(MAX_SENDS_PROBABILITY) { MAX_SENDS } else { 2 + random.below(4) };
    let side_by_side = random.chance(SIDE_BY_SIDE_PROBABILITY);
    let how = if side_by_side { "side by side" } else { "one after the other" };
    chaos.note(ChaosKind::Repeat, format_args!("a request {times} times, {how}"));
    if side_by_side {
        let others = join_all((1..times).map(|_| once()));
        return futures::join!(once(), others).0;
    }
    for _ in 1..times {
        once().await;
    }
    once().await
}

/// Puts the host's repetitions in front of a router, for tests in one process without a host.
///
/// Each request without a body gets an invocation id, if it has none. A repeated one keeps it.
pub fn repeating(router: Router, chaos: Chaos) -> Router {
    router.layer(from_fn(move |mut request: Request, next: Next| {
        let chaos = chaos.clone();
        async move {
            if !request.body().is_end_stream() {
                return next.run(request).await;
            }
            if !request.headers().contains_key(INVOCATION_ID)
                && let Ok(id) = HeaderValue::try_from(uuid::Uuid::new_v4().to_string())
            {
                request.headers_mut().insert(INVOCATION_ID, id);
            }
            let (head, _) = request.into_parts();
            let once = || next.clone().run(Request::from_parts(head.clone(), Body::empty()));
            send(&chaos, once).await
        }
    }))
}
