//! Callers that see their own writes in copies: lists that projections make.

use std::time::{Duration, Instant};

use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use futures::{StreamExt, stream::FuturesUnordered};
use serde_json::{Value, json};
use tributary_functions::{
    app::AppOptions,
    cosmos::Limits,
    http::{AdmissionOptions, ConsistencyOptions},
    projection::{BackgroundOptions, EagerOptions, ProjectionOptions},
};
use tributary_testing::{
    Answer,
    RequestKind::{self, Query},
    interleavings::held,
    problems::problem,
};

use crate::{World, given};

const TOKEN: &str = "consistency-token";
const ROOMS: &str = "/api/people/ann/rooms";
const MOMENT: Duration = Duration::from_millis(300);

async fn settled() -> World {
    let world = given::rooms().await;
    world.settle().await;
    world
}

fn charge(answer: &Answer) -> f64 {
    answer.header("x-ms-request-charge").parse().unwrap()
}

fn titled(title: &str) -> Option<Value> {
    Some(json!({"personId": "ann", "title": title}))
}

async fn read(world: &World, path: &str, token: &str, prefer: &str) -> Answer {
    let headers = [(TOKEN, token), ("prefer", prefer)];
    world.call("GET", path, &headers, None).await
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
    let world = settled().await;
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
        assert_eq!(list.json()["items"][0]["id"], "r1", "no trigger has run");
    }
    let plain = world.get("/api/people/ann/rooms").await.expect(200);
    assert_eq!((plain.header("copies-behind"), plain.header("preference-applied")), ("", ""));
}

#[tokio::test]
async fn a_later_change_of_the_same_item_does_not_end_the_wait() {
    let world = given::rooms().await;
    world.settle().await;
    let token = command(&world, "", ("PUT", "/api/rooms/r1"), titled("mine")).await;
    // The feed has the latest version of an item: that of another caller.
    command(&world, "", ("PUT", "/api/rooms/r1"), titled("theirs")).await;
    let list = read(&world, "/api/people/ann/rooms", &token, "wait=1").await;
    assert_eq!(list.header("copies-behind"), "?1", "neither is in the list");
}

/// Returns another instance, which handles a request at a time and lets it wait for a minute.
async fn patient(world: &World) -> World {
    let admission = AdmissionOptions { requests: 1, ..Default::default() };
    let max_wait = Duration::from_mins(1);
    let consistency = ConsistencyOptions { max_wait, ..Default::default() };
    world.with_app(AppOptions { admission, consistency, ..World::options() }).await
}

#[tokio::test]
async fn a_request_that_waits_holds_no_place_of_others_and_the_oldest_gives_way() {
    let world = settled().await;
    let token = command(&world, "", ("DELETE", "/api/rooms/r1"), None).await;
    let world = patient(&world).await;
    let (n_before, began) = (world.endpoint.request_count(), Instant::now());
    let waits = (0..300).map(|_| read(&world, ROOMS, &token, "wait=60"));
    let mut waits: FuturesUnordered<_> = waits.collect();
    for _ in 0..44 {
        assert_eq!(waits.next().await.unwrap().header("copies-behind"), "?1");
    }
    world.get("/api/rooms/none").await.expect(404);
    // All of them share the reads of the lease.
    let n_reads = kinds(&world, n_before).iter().filter(|(_, of)| of == "leases").count();
    assert!(n_reads as u128 <= 2 + began.elapsed().as_millis() / 250, "{n_reads}");
    let (rest, ()) = futures::join!(waits.collect::<Vec<_>>(), world.settle());
    assert_eq!(rest.len(), 256);
    assert!(rest.iter().all(|list| list.header("copies-behind").is_empty()));
}

/// Returns a token with another number in place of that of its last write.
fn forged(token: &str, number: impl Fn(u64) -> u64) -> String {
    let text = String::from_utf8(BASE64_URL_SAFE_NO_PAD.decode(token).unwrap()).unwrap();
    let (before, rest) = text.split_once('#').unwrap();
    let end = rest.find(|next: char| !next.is_ascii_digit()).unwrap_or(rest.len());
    let (last, after) = rest.split_at(end);
    BASE64_URL_SAFE_NO_PAD.encode(format!("{before}#{}{after}", number(last.parse().unwrap())))
}

#[tokio::test]
async fn a_wait_for_a_write_that_never_was_ends_at_once_and_costs_no_more_than_an_honest_one() {
    let world = settled().await;
    let token = command(&world, "", ("DELETE", "/api/rooms/r1"), None).await;
    let text = String::from_utf8(BASE64_URL_SAFE_NO_PAD.decode(&token).unwrap()).unwrap();
    let elsewhere = BASE64_URL_SAFE_NO_PAD.encode(text.replacen("/0:", "/77:", 1));
    let other = world.second_instance().await;
    let honest = charge(&read(&other, ROOMS, &token, "wait=1").await);
    let at_once = charge(&read(&other, ROOMS, &token, "wait=0").await);
    assert!(honest - at_once <= 8.0, "{honest} {at_once}");
    for forged in [forged(&token, |_| 999_999_999), forged(&token, |last| last + 1), elsewhere] {
        let other = world.second_instance().await;
        let began = Instant::now();
        let list = read(&other, ROOMS, &forged, "wait=10").await;
        assert!(began.elapsed() < Duration::from_secs(5));
        assert_eq!(list.header("copies-behind"), "?1");
        assert!(charge(&list) < honest, "{} {honest}", charge(&list));
    }
    // What a wait has used counts against the budget of its request.
    let limits = Limits { request_units: 3, ..Limits::REQUEST };
    problem(&read(&other.with_limits(limits).await, ROOMS, &token, "wait=1").await, 503);
}

#[tokio::test]
async fn a_write_that_never_was_ends_no_wait_of_other_callers_for_its_effects() {
    let eager = EagerOptions { projections: Some(&["NamesInRooms"]), time: MOMENT * 10 };
    let projections = ProjectionOptions { eager, ..ProjectionOptions::default() };
    let world = settled().await.with_app(AppOptions { projections, ..World::options() }).await;
    let renamed = async |name: &str| {
        command(&world, "", ("PUT", "/api/people/ann"), Some(json!({"name": name}))).await
    };
    let token = renamed("Anna").await;
    world.settle().await;
    for number in [1, 1_000] {
        read(&world, ROOMS, &forged(&token, |last| last + number), "wait=1").await;
    }
    let token = renamed("Annie").await;
    let list = read(&world, ROOMS, &token, "wait=1").await;
    assert_eq!(list.header("copies-behind"), "?1", "no trigger has copied the name: {}", list.text);
}

#[tokio::test]
async fn after_a_split_no_answer_takes_a_waiting_write_for_applied() {
    let eager = EagerOptions { projections: Some(&["NamesInRooms"]), time: MOMENT * 100 };
    let projections = ProjectionOptions { eager, ..ProjectionOptions::default() };
    let options = AppOptions { projections, ..World::options() };
    // Some of the rooms lie in either half. A renamed person has its name in the room at once.
    for (room, renames) in [(0, false), (1, false), (2, false), (3, false), (0, true)] {
        let world = given::rooms().await.with_app(options).await;
        given::more_rooms(&world, 0..4).await;
        let room = format!("/api/rooms/b{room}");
        let body = |text: &str| Some(json!({"personId": "bob", "title": text, "name": text}));
        command(&world, "", ("PUT", &room), body("first")).await;
        world.settle().await;
        let list = async |token: &str, prefer: &str| {
            let other = world.with_app(options).await;
            let list = read(&other, "/api/people/bob/rooms", token, prefer).await;
            (list.header("copies-behind").to_owned(), list.text)
        };
        let path = if renames { "/api/people/bob" } else { &room };
        let token = command(&world, "", ("PUT", path), body("mine")).await;
        world.endpoint.split(World::DATABASE, "rooms").await.unwrap();
        assert_eq!(list(&token, "wait=0").await.0, "?1", "{path} {room}: no trigger has run");
        assert!(read(&world, &room, &token, "").await.text.contains("mine"));
        world.settle().await;
        // The lease of the room's old partition is gone.
        let (prefer, expected) = if renames { ("wait=9", "") } else { ("wait=0", "?1") };
        let (behind, text) = list(&token, prefer).await;
        assert_eq!(behind, expected, "{path}");
        assert!(text.contains("mine"), "{text}");
        let token = command(&world, "", ("PUT", path), body("later")).await;
        assert_eq!(list(&token, "wait=0").await.0, "?1");
        world.settle().await;
        let (behind, text) = list(&token, "wait=9").await;
        assert!(behind.is_empty() && text.contains("later"), "{path}: {text}");
    }
}

#[tokio::test]
async fn a_reader_of_a_rename_in_slices_waits_for_the_first_one() {
    let world = given::rooms().await;
    given::more_rooms(&world, 0..20).await;
    world.settle().await;
    let name = Some(json!({"name": "Anna"}));
    let token = command(&world, "", ("PUT", "/api/people/ann"), name).await;
    let background = BackgroundOptions { slice: Duration::ZERO, ..World::options().background };
    let hasty = world.with_app(AppOptions { background, ..World::options() }).await;
    let behind = async |prefer: &str| {
        let room = read(&world, "/api/rooms/r1", &token, prefer).await;
        room.header("copies-behind").to_owned()
    };
    let renamed = async || {
        let rooms = world.items("rooms").await;
        rooms.iter().filter(|room| room["personName"] == "Anna").count()
    };
    let (first, mut triggers) = held((&world, Query, "rooms"), hasty.settle()).await;
    assert_eq!((behind("wait=1").await.as_str(), renamed().await), ("?1", 0));
    let mut second = world.endpoint.hold(Query, "rooms");
    first.release();
    tokio::select! {
        biased;
        () = second.arrived() => {}
        () = &mut triggers => panic!("it took one slice"),
    }
    assert_eq!(behind("wait=5").await, "");
    assert!((1..21).contains(&renamed().await));
    second.release();
    triggers.await;
    assert_eq!((behind("wait=5").await.as_str(), renamed().await), ("", 21));
}

#[tokio::test]
async fn a_write_that_became_a_dead_letter_is_not_waited_for_and_seen_after_its_replay() {
    let world = settled().await;
    let token = command(&world, "", ("PUT", "/api/rooms/r1"), titled("mine")).await;
    let copy = world.make_unreadable("people", "room:r1", "version").await;
    world.settle().await;
    world.write_item("people", &copy).await;
    let title = async || {
        let list = read(&world, ROOMS, &token, "wait=5").await;
        assert_eq!(list.header("copies-behind"), "");
        list.json()["items"][0]["title"].clone()
    };
    assert_eq!(title().await, "A title");
    let dead_letter = world.list("/api/dead-letters").await.remove(0);
    given::replay(&world, &dead_letter).await.expect(200);
    assert_eq!(title().await, "mine");
}
