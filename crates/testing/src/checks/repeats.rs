//! Requests that the host repeats, and requests at another instance.

use std::time::Duration;

use futures::future::join_all;

use super::{
    containers,
    examples::{Example, Examples},
};
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
    // An instance that is full asks for a retry.
    let send = async |world: &World<A>| loop {
        let answer = world.invoke(invocation, request).await;
        if answer.status != 503 {
            return answer;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    };
    let sent = (0..HOST_REPEATS).map(|n| send(if n % 4 == 0 { &other } else { world }));
    let mut answers = join_all(sent).await;
    answers.push(send(&world.second_instance().await).await);
    let (first, others) = answers.split_first().unwrap();
    assert_eq!(first.status, status, "{request:?}: {}", first.text);
    for answer in others {
        assert_eq!((answer.status, &answer.text), (first.status, &first.text), "{request:?}");
        assert_eq!(answer.header("etag"), first.header("etag"), "{request:?}");
        assert_eq!(answer.header("location"), first.header("location"), "{request:?}");
    }
}

/// Checks that no request is refused for the state of a replica that is behind, by the examples of the OpenAPI
/// document.
///
/// The replicas of all containers show nothing that the check writes, and each request comes to an instance that
/// has seen no earlier write. Items that one instance creates are found, edited under their ETags and deleted at
/// others.
///
/// # Panics
///
/// When a request is refused. If the other checks take the example that the message names, the function decided on an
/// old state.
pub async fn stale_replicas_refuse_nothing<A: AppUnderTest>() {
    let world = World::<A>::new().await;
    // The leases are those of the host.
    let stale = containers::<A>().into_iter().filter(|container| container != "leases");
    let _stale: Vec<_> = stale.map(|container| world.stale_reads(&container)).collect();
    let send =
        async |_: &Examples, one: &Example| one.send(&world.second_instance().await, &[]).await;
    let create = async |examples: &Examples, one: &Example| {
        let created = send(examples, one).await;
        let function = &one.of.function;
        if created.status.is_success()
            && function.method == "PUT"
            && function.signature.is_conditional
        {
            let other = world.second_instance().await;
            let etag = Some(("if-match", created.header("etag")));
            let etag = etag.filter(|(_, etag)| !etag.is_empty());
            let edit = examples.edit(&one.of);
            let edited = other.call("PUT", &one.path, etag.as_slice(), edit).await;
            let line = one.of.line();
            assert!(edited.status.is_success(), "PUT {}: {}; see {line}", one.path, edited.text);
        }
        created
    };
    let mut examples = Examples::of::<A>("");
    examples.create(&world, create).await;
    world.settle().await;
    examples.read(send).await;
    examples.delete(send).await;
    examples.all_have_succeeded();
}
