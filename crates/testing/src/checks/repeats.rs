//! Requests that the host repeats, and requests at another instance.

use futures::future::join_all;
use serde_json::Value;

use crate::{AppUnderTest, World};

/// The most times that the host repeats a request without a body when the connection to the handler
/// breaks, under one invocation id, also to a restarted handler.
const HOST_REPEATS: usize = 40;

/// Sends a request 40 times at once to two instances, and then to one that was just started. Each answer
/// is the first one: its status, body, ETag and location.
pub async fn answered_as_the_first_time<A: AppUnderTest>(
    world: &World<A>,
    invocation: &str,
    request: (&str, &str),
    status: u16,
) {
    let other = world.second_instance().await;
    let sent = (0..HOST_REPEATS).map(|n| {
        let world = if n % 4 == 0 { &other } else { world };
        world.invoke(invocation, request)
    });
    let mut answers = join_all(sent).await;
    answers.push(world.second_instance().await.invoke(invocation, request).await);
    let (first, others) = answers.split_first().unwrap();
    assert_eq!(first.status, status, "{request:?}: {}", first.text);
    for answer in others {
        assert_eq!((answer.status, &answer.text), (first.status, &first.text), "{request:?}");
        assert_eq!(answer.header("etag"), first.header("etag"), "{request:?}");
        assert_eq!(answer.header("location"), first.header("location"), "{request:?}");
    }
}

/// Sends requests, each as method, path, body and expected status, each to an instance that has seen no
/// earlier write.
///
/// A story makes the containers [stale](World::stale_reads), writes through one instance, and asks the
/// others here.
pub async fn at_other_instances<A: AppUnderTest>(
    world: &World<A>,
    requests: impl IntoIterator<Item = (&str, &str, Option<Value>, u16)>,
) {
    for (method, path, body, status) in requests {
        let answer = world.second_instance().await.call(method, path, &[], body).await;
        assert_eq!(answer.status.as_u16(), status, "{method} {path}: {}", answer.text);
    }
}
