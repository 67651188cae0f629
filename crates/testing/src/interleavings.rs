//! What happens in the middle of an operation: a request to the store is held back, something else
//! happens, and the request goes on, or the handler ends there.
//!
//! Two commands that are joined in one process do not meet by themselves: each runs until it waits for
//! something that is not there. A test of a race says where the other one comes in.

use futures::{FutureExt, future::LocalBoxFuture};
use tributary_local::cosmos::{Hold, RequestKind};

use crate::{AppUnderTest, World};

/// An operation whose first request of a kind is on its way, and held back.
pub async fn held<'a, A: AppUnderTest, T: 'a>(
    (world, kind, container): (&World<A>, RequestKind, &str),
    operation: impl Future<Output = T> + 'a,
) -> (Hold, LocalBoxFuture<'a, T>) {
    let (mut hold, mut operation) = (world.endpoint.hold(kind, container), operation.boxed_local());
    tokio::select! {
        biased;
        () = hold.arrived() => {}
        _ = &mut operation => panic!("it ended without that request"),
    }
    (hold, operation)
}

/// Lets `meanwhile` happen while the operation's first request of a kind is on its way.
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

/// Ends the operation where its first request of a kind is on its way.
pub async fn killed_at<A: AppUnderTest>(
    at: (&World<A>, RequestKind, &str),
    operation: impl Future<Output = ()>,
) {
    drop(held(at, operation).await);
}
