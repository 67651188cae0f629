//! What callers see of an instance that works on as many requests as it can.

use std::{convert::Infallible, time::Duration};

use axum::{body::Body, http::Request};
use bytes::Bytes;
use futures::{StreamExt, future::join_all, join, stream};
use serde_json::{Value, json};
use tower::ServiceExt;
use tributary_functions::{app::Options, http::AdmissionOptions};
use tributary_local::cosmos::RequestKind::{Query, Read};

use super::expect::{free_of_charge, problem};
use crate::{blog::given, interleavings::held, webstore, world::World};

const SOON: Duration = Duration::from_millis(20);
const LATE: Duration = Duration::from_secs(10);

async fn world_with(requests: u16, memory_mib: u16, wait: Duration) -> World {
    let admission = AdmissionOptions { requests, memory_mib, wait };
    given::blog().await.with_app(Options { admission, ..World::options() }).await
}

#[tokio::test]
async fn a_request_too_many_is_a_503_that_says_when_to_come_back() {
    let world = world_with(1, 32, SOON).await;
    let (hold, first) = held((&world, Read, "users"), world.get("/api/users/ann")).await;
    for path in ["/api/users/bob", "/api/posts/p1", "/api/feed"] {
        let refused = world.get(path).await;
        let problem = problem(&refused, 503);
        assert_eq!(problem["type"], "urn:tributary:problem:overloaded", "{path}");
        assert_eq!(refused.header("retry-after"), "1");
        free_of_charge(&refused);
    }
    // The change feed is the host's to bound: it does not wait behind callers.
    let posts = world.items("posts").await;
    world.deliver("HomeFeed", &posts).await.unwrap();
    hold.release();
    first.await.expect(200);
    let feed = world.get("/api/feed").await.expect(200).json();
    assert_eq!(feed["items"][0]["id"], "p1");
}

#[tokio::test]
async fn a_request_waits_for_its_turn() {
    let world = world_with(1, 1, LATE).await;
    for (kind, container, path) in [(Read, "users", "/api/users/ann"), (Query, "feed", "/api/feed")]
    {
        let (hold, first) = held((&world, kind, container), world.get(path)).await;
        let first = async {
            hold.release();
            first.await
        };
        let (second, third, first) = join!(world.get(path), world.get("/api/posts/p1"), first);
        for answer in [first, second, third] {
            answer.expect(200);
        }
    }
}

#[tokio::test]
async fn who_waits_for_a_large_page_stands_in_nobodys_way() {
    let world = world_with(2, 1, SOON).await;
    let (hold, page) = held((&world, Query, "feed"), world.get("/api/feed")).await;
    // The page may need all the memory that there is for large answers.
    problem(&world.get("/api/feed?limit=50").await, 503);
    problem(&world.get("/api/posts/p1/comments").await, 503);
    world.get("/api/feed?limit=1").await.expect(200);
    world.get("/api/users/ann").await.expect(200);
    given::comment(&world, "p1", "bob", "Small.").await.expect(201);
    let large = json!({"userId": "ann", "title": "T", "content": "x".repeat(100_000)});
    problem(&world.put("/api/posts/p2", large.clone()).await, 503);
    hold.release();
    page.await.expect(200);
    world.put("/api/posts/p2", large).await.expect(201);
}

#[tokio::test]
async fn who_waits_for_memory_has_no_place_yet() {
    let world = world_with(2, 1, LATE).await;
    let (hold, page) = held((&world, Query, "feed"), world.get("/api/feed")).await;
    let small = async {
        world.get("/api/users/ann").await.expect(200);
        hold.release();
        page.await.expect(200);
    };
    let (large, ()) = join!(world.get("/api/feed?limit=50"), small);
    large.expect(200);
}

#[tokio::test]
async fn an_answer_takes_memory_until_it_is_sent() {
    let world = world_with(2, 1, SOON).await;
    let content = "x".repeat(400_000);
    let post = json!({"userId": "ann", "title": "T", "content": content});
    world.put("/api/posts/p2", post).await.expect(201);
    let request = Request::get("/api/posts/p2").body(Body::empty()).unwrap();
    let unsent = world.router.clone().oneshot(request).await.unwrap();
    // 400 KB of 1 MiB: there is room for six short posts, and not for 100.
    world.get("/api/feed?limit=6").await.expect(200);
    problem(&world.get("/api/feed").await, 503);
    drop(unsent);
    world.get("/api/feed").await.expect(200);
}

#[tokio::test]
async fn a_page_is_full_however_little_memory_there_is() {
    let world = world_with(1, 1, SOON).await;
    let content = "\u{1}".repeat(10_000);
    for _ in 0..30 {
        given::comment(&world, "p1", "bob", &content).await.expect(201);
    }
    let page = world.get("/api/posts/p1/comments?limit=29").await.expect(200).json();
    assert_eq!(page["items"].as_array().map(Vec::len), Some(29));
    assert_ne!(page["nextCursor"], Value::Null);
}

/// A hash takes a processor for longer than anything else, and no place from anything else.
#[tokio::test]
async fn reads_are_served_while_passwords_wait_for_their_hashes() {
    let world = world_with(4, 32, SOON).await;
    let login = || webstore::given::verify(&world, "eve", "not her password");
    let reads = async {
        for _ in 0..20 {
            world.get("/api/users/ann").await.expect(200);
        }
    };
    let (statuses, ()) = join!(join_all((0..12).map(|_| login())), reads);
    assert!(statuses.iter().all(|status| [401, 503].contains(status)), "{statuses:?}");
}

#[tokio::test]
async fn a_login_too_many_is_a_503_at_once_and_asks_nothing_of_the_store() {
    let world = world_with(128, 32, LATE).await;
    let path = "/api/customers/eve/password/verify";
    let login = || world.post(path, json!({"password": "not her password"}));
    let answers = join_all((0..80).map(|_| login())).await;
    let refused: Vec<_> = answers.iter().filter(|answer| answer.status != 401).collect();
    // 32 wait and two are worked on.
    assert!(refused.len() >= 80 - 34, "{}", refused.len());
    for answer in refused {
        let problem = problem(answer, 503);
        assert_eq!(problem["type"], "urn:tributary:problem:overloaded");
        assert_eq!(answer.header("retry-after"), "1");
        free_of_charge(answer);
    }
}

/// A sender of a body has no place before its body is there.
#[tokio::test]
async fn a_slow_sender_takes_no_place() {
    let world = world_with(1, 32, SOON).await;
    let body = stream::iter([Ok::<_, Infallible>(Bytes::from("{"))]).chain(stream::pending());
    let request = Request::post("/api/users").header("content-type", "application/json");
    let request = request.body(Body::from_stream(body)).unwrap();
    let mut slow = Box::pin(world.send(request));
    assert!(futures::poll!(&mut slow).is_pending());
    for _ in 0..3 {
        world.get("/api/users/ann").await.expect(200);
        assert!(futures::poll!(&mut slow).is_pending());
    }
}
