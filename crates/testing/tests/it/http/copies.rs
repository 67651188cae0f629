//! Callers that see their own writes in copies: lists that projections make.

use std::time::{Duration, Instant};

use futures::future::join_all;
use serde_json::{Value, json};
use tributary_functions::{
    app::AppOptions,
    http::{AdmissionOptions, ConsistencyOptions},
};
use tributary_testing::{
    Answer,
    RequestKind::{self, Query, Read},
};

use crate::{World, given};

const TOKEN: &str = "consistency-token";

async fn read(world: &World, path: &str, token: &str, prefer: &str) -> Answer {
    let headers = [(TOKEN, token), ("prefer", prefer)];
    world.call("GET", path, &headers, None).await.expect(200)
}

/// Sends a command with the token of the one before, and returns its token.
async fn command(
    world: &World,
    token: &str,
    (method, path): (&str, &str),
    body: Option<Value>,
) -> String {
    let headers = [(TOKEN, token)];
    let headers = if token.is_empty() { &[][..] } else { &headers };
    let answer = world.call(method, path, headers, body).await;
    assert!(answer.status.is_success(), "{}", answer.text);
    answer.header(TOKEN).to_owned()
}

fn kinds(world: &World, n_before: usize) -> Vec<(RequestKind, String)> {
    let requests = world.endpoint.requests_since(n_before).into_iter();
    requests.map(|request| (request.kind, request.container)).collect()
}

#[tokio::test]
async fn a_wait_that_ends_first_gives_an_ordinary_answer_that_says_so() {
    let world = given::rooms().await;
    let token = command(&world, "", ("DELETE", "/api/rooms/r1"), None).await;
    let consistency = ConsistencyOptions {
        wait: Duration::from_millis(300),
        max_wait: Duration::from_secs(1),
        ..Default::default()
    };
    let world = world.with_app(AppOptions { consistency, ..World::options() }).await;
    for (prefer, seconds, applied) in [
        ("wait=9", 1.0..1.9, "wait=1"),
        ("foo", 0.3..0.9, "wait=0"),
        ("wait=0", 0.0..0.2, "wait=0"),
    ] {
        let began = Instant::now();
        let list = read(&world, "/api/people/ann/rooms", &token, prefer).await;
        let waited = began.elapsed();
        assert!(seconds.contains(&waited.as_secs_f64()), "{prefer}: {waited:?}");
        assert_eq!(list.header("copies-behind"), "?1");
        assert_eq!(list.header("preference-applied"), applied);
        assert_eq!(list.json()["items"], json!([]), "no trigger has run");
    }
    let plain = world.get("/api/people/ann/rooms").await.expect(200);
    assert_eq!((plain.header("copies-behind"), plain.header("preference-applied")), ("", ""));
}

#[tokio::test]
async fn an_instance_that_has_seen_the_effect_of_a_write_looks_no_more() {
    let world = given::rooms().await;
    let name = Some(json!({"name": "Anna"}));
    let token = command(&world, "", ("PUT", "/api/people/ann"), name).await;
    let room = Some(json!({"personId": "ann", "title": "T"}));
    let token = command(&world, &token, ("PUT", "/api/rooms/r2"), room).await;
    world.settle().await;
    let other = world.second_instance().await;
    for path in ["/api/people/ann/rooms", "/api/newest-rooms"] {
        let first = read(&other, path, &token, "").await;
        assert_eq!(first.header("copies-behind"), "");
        let n_before = other.endpoint.request_count();
        read(&other, path, &token, "").await;
        let kinds = kinds(&other, n_before);
        assert!(matches!(kinds.as_slice(), [(Query, _)]), "{kinds:?}");
    }
    // A write elsewhere concerns no list.
    let booked = given::booking(&other, "r2", "bob").await.expect(201);
    let n_before = other.endpoint.request_count();
    read(&other, "/api/rooms/r2/bookings", booked.header(TOKEN), "").await;
    assert_eq!(kinds(&other, n_before), [(Query, "rooms".to_owned())]);
}

#[tokio::test]
async fn a_later_change_of_the_same_item_does_not_end_the_wait() {
    let world = given::rooms().await;
    world.settle().await;
    let room = |title: &str| Some(json!({"personId": "ann", "title": title}));
    let token = command(&world, "", ("PUT", "/api/rooms/r1"), room("mine")).await;
    // The feed has the latest version of an item: that of another caller.
    command(&world, "", ("PUT", "/api/rooms/r1"), room("theirs")).await;
    let list = read(&world, "/api/people/ann/rooms", &token, "wait=1").await;
    assert_eq!(list.header("copies-behind"), "?1", "neither is in the list");
}

#[tokio::test]
async fn a_request_that_waits_holds_no_place_and_only_so_many_wait() {
    let world = given::rooms().await;
    let token = command(&world, "", ("DELETE", "/api/rooms/r1"), None).await;
    let admission = AdmissionOptions { requests: 1, ..Default::default() };
    let world = world.with_app(AppOptions { admission, ..World::options() }).await;
    let timed = async |prefer: &str| {
        let began = Instant::now();
        let list = read(&world, "/api/people/ann/rooms", &token, prefer).await;
        assert_eq!(list.header("copies-behind"), "?1");
        (began.elapsed(), Instant::now())
    };
    let many = join_all((0..300).map(|_| timed("wait=3")));
    let meanwhile = async {
        tokio::time::sleep(Duration::from_millis(500)).await;
        world.get("/api/rooms/none").await.expect(404);
        Instant::now()
    };
    let (mut waits, answered) = futures::join!(many, meanwhile);
    waits.retain(|(wait, _)| *wait >= Duration::from_secs(3));
    assert_eq!(waits.len(), 256);
    assert!(waits.iter().all(|(_, ended)| answered < *ended), "it waited for their place");
    // All of them share the reads of the leases.
    let leases = kinds(&world, 0).into_iter().filter(|(_, container)| container == "leases");
    let n_leases = leases.filter(|(kind, _)| matches!(kind, Read | Query)).count();
    assert!(n_leases < 200, "{n_leases}");
}
