//! Interleavings: a test holds a store request of an operation back and lets another operation run. Then
//! the request is sent, or the operation is dropped there, as by a crash of the handler.
//!
//! Two commands that are joined in one process may run one after the other: each runs until it has to
//! wait. So a test of a race names the store request at which the other operation runs.

use futures::{FutureExt, future::LocalBoxFuture};
use tributary_local::cosmos::{Hold, RequestKind};

use crate::{AppUnderTest, World};

/// Starts an operation, and holds its first request of a kind back.
pub async fn held<'a, A: AppUnderTest, T: 'a>(
    (world, kind, container): (&World<A>, RequestKind, &str),
    operation: impl Future<Output = T> + 'a,
) -> (Hold, LocalBoxFuture<'a, T>) {
    let mut hold = world.endpoint.hold(kind, container);
    let mut operation = operation.boxed_local();
    tokio::select! {
        biased;
        () = hold.arrived() => {}
        _ = &mut operation => panic!("the operation ended without that request"),
    }
    (hold, operation)
}

/// Runs `meanwhile` while the operation's first request of a kind is held back.
pub fn amid<'a, A: AppUnderTest, T: 'a>(
    at: (&'a World<A>, RequestKind, &'a str),
    operation: impl Future<Output = T> + 'a,
    meanwhile: impl Future<Output = ()> + 'a,
) -> LocalBoxFuture<'a, T> {
    async move {
        let (hold, operation) = held(at, operation).await;
        meanwhile.await;
        hold.release();
        operation.await
    }
    .boxed_local()
}
