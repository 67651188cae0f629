//! Eager projections: the instance of a command applies the command's change to the copies before it answers.

use std::{sync::Arc, time::Duration};

use axum::{
    extract::{RawQuery, State},
    http::StatusCode,
};
use serde_json::{Value, json};
use tributary_functions::{
    app::AppOptions,
    config::ConfigError,
    cosmos::{Container, StoreError},
    domain::{Context, Domain},
    http::{self, ApiError, AuthLevel},
    program::Program,
    projection::{EagerOptions, Effect, Projection, ProjectionOptions},
};
use tributary_testing::{
    Answer, AppUnderTest, Fault,
    RequestKind::{self, Create, Query, Read, Replace},
};

use crate::{
    Rooms, World, given,
    operator::{pause, resume},
    rooms::{self, RoomsItem},
};

const TOKEN: &str = "consistency-token";

/// The projections of rooms that have little work for a change.
const COPIES: &[&str] = &["RoomCopies", "RoomCounts", "NewestRooms"];

const ROOMS: &str = "/api/people/ann/rooms";
const NEWEST: &str = "/api/newest-rooms";

/// The lists that they make, each with the projection's container.
const LISTS: [(&str, &str); 3] =
    [(ROOMS, "people"), (NEWEST, "newest-rooms"), ("/api/people/ann/room-count", "room-counts")];

/// Returns the same world, seen through another instance at which these projections are eager.
async fn with_eager<A: AppUnderTest>(
    world: &tributary_testing::World<A>,
    projections: &'static [&'static str],
) -> tributary_testing::World<A> {
    within(world, projections, Duration::from_secs(10)).await
}

/// As [`with_eager`], with the time that an application may take. The state of a projection is read each time.
async fn within<A: AppUnderTest>(
    world: &tributary_testing::World<A>,
    projections: &'static [&'static str],
    time: Duration,
) -> tributary_testing::World<A> {
    let eager = EagerOptions { time, projections: Some(projections) };
    let state_max_age = Duration::ZERO;
    let projections = ProjectionOptions { eager, state_max_age, ..ProjectionOptions::default() };
    world.with_app(AppOptions { projections, ..World::options() }).await
}

/// Creates the world with Ann's room `r1` and all of its copies, seen through an eager instance.
async fn eager_rooms() -> World {
    let world = given::rooms().await;
    world.settle().await;
    with_eager(&world, COPIES).await
}

/// Reads a list with the token of an earlier answer, and waits for nothing.
async fn read(world: &World, path: &str, earlier: &Answer) -> Answer {
    let headers = [(TOKEN, earlier.header(TOKEN)), ("prefer", "wait=0")];
    world.call("GET", path, &headers, None).await.expect(200)
}

fn is_behind(answer: &Answer) -> bool {
    answer.header("copies-behind") == "?1"
}

/// Returns the requests for changes since then, but for those to states and leases.
fn requests(world: &World, n_before: usize) -> Vec<(RequestKind, String)> {
    let requests = world.endpoint.requests_since(n_before).into_iter();
    let of_changes = requests.filter(tributary_testing::budget::is_caused_by_a_change);
    of_changes.map(|request| (request.kind, request.container)).collect()
}

async fn copy(world: &World, room: &str) -> Value {
    world.item("people", &format!("room:{room}")).await
}

async fn settles(world: &World) {
    world.settle().await;
    assert!(given::dead_letters(world).await.is_empty());
    for room in world.items("rooms").await {
        if room["type"] == "room" {
            let copy = copy(world, room["id"].as_str().unwrap()).await;
            assert_eq!(copy["version"], room["version"]);
        }
    }
}

#[tokio::test]
async fn a_command_shows_its_copies_at_once_at_another_instance_though_no_trigger_runs() {
    let world = eager_rooms().await;
    let created = given::room(&world, "r2", "ann").await.expect(201);
    let other = with_eager(&world, COPIES).await;
    for (path, container) in LISTS {
        let n_before = other.endpoint.request_count();
        let list = read(&other, path, &created).await;
        assert!(!is_behind(&list));
        assert!(list.text.contains("r2") || list.json()["roomCount"] == 2, "{}", list.text);
        // One request, at the price of a read in a session.
        let asked = requests(&other, n_before);
        assert!(matches!(&*asked, [(Query | Read, of)] if of == container), "{asked:?}");
        let plain = other.get(path).await.expect(200);
        assert_eq!(list.header("x-ms-request-charge"), plain.header("x-ms-request-charge"));
    }
    settles(&world).await;
}

#[tokio::test]
async fn a_reader_with_its_token_sees_the_copies_behind_a_stale_replica() {
    let world = eager_rooms().await;
    let frozen = LISTS.map(|(_, container)| world.stale_reads(container));
    let edited = given::titled(&world, "r1", "ann", "Edited").await.expect(200);
    let booked = given::booking(&world, "r1", "bob").await.expect(201);
    for path in [ROOMS, NEWEST] {
        for (earlier, shows) in [(&edited, r#""title":"Edited""#), (&booked, r#""bookingCount":1"#)]
        {
            let list = read(&with_eager(&world, COPIES).await, path, earlier).await;
            assert!(!is_behind(&list) && list.text.contains(shows), "{path}: {}", list.text);
        }
    }
    let deleted = world.delete("/api/rooms/r1").await.expect(204);
    for (path, _) in LISTS {
        let list = read(&with_eager(&world, COPIES).await, path, &deleted).await;
        assert!(!is_behind(&list) && !list.text.contains("r1"), "{path}: {}", list.text);
    }
    drop(frozen);
    settles(&world).await;
}

#[tokio::test]
async fn a_copy_that_the_store_refuses_fails_no_command_and_the_change_feed_writes_it() {
    let world = eager_rooms().await;
    for (fault, room) in [
        (Fault::RefusedWith(403, 1014), "full"),
        (Fault::Refused(412), "race"),
        (Fault::AnswerLost, "lost"),
    ] {
        world.endpoint.inject(fault, Create, "people", 1);
        let created = given::room(&world, room, "ann").await.expect(201);
        let list = read(&world, ROOMS, &created).await;
        assert!(is_behind(&list) || list.text.contains(room), "{room}: {}", list.text);
        let newest = read(&world, NEWEST, &created).await;
        // It may be there, but not all eager projections have applied the change.
        assert!(is_behind(&newest) || newest.text.contains(room));
        settles(&world).await;
    }
}

#[tokio::test]
async fn a_slow_store_holds_up_a_command_for_the_time_limit_only() {
    let world = given::rooms().await;
    world.settle().await;
    let time = EagerOptions::default().time;
    assert_eq!(time, Duration::from_millis(100));
    let world = within(&world, &["RoomCopies"], time).await;
    let hold = world.endpoint.hold(Create, "people");
    let created = given::room(&world, "r2", "ann").await.expect(201);
    assert!(is_behind(&read(&world, ROOMS, &created).await));
    hold.release();
    settles(&world).await;
    world.endpoint.inject(Fault::Refused(429), Create, "people", 1_000);
    given::room(&world, "r3", "ann").await.expect(201);
    assert_eq!(copy(&world, "r3").await, Value::Null);
}

#[tokio::test]
async fn a_paused_projection_applies_nothing_eagerly() {
    let world = eager_rooms().await;
    assert_eq!(pause(&world, "RoomCopies").await.expect(200).json()["eager"], true);
    let created = given::room(&world, "r2", "ann").await.expect(201);
    assert_eq!(copy(&world, "r2").await, Value::Null);
    assert!(is_behind(&read(&world, ROOMS, &created).await));
    assert_ne!(world.item("newest-rooms", "r2").await, Value::Null, "the other one runs");
    resume(&world, "RoomCopies").await.expect(200);
    world.endpoint.inject(Fault::Refused(503), Read, "projections", 1_000);
    given::room(&world, "r3", "ann").await.expect(201);
    assert_eq!(copy(&world, "r3").await, Value::Null, "it may be paused");
}

#[tokio::test]
async fn a_write_whose_answer_was_lost_is_waited_for() {
    let world = eager_rooms().await;
    world.endpoint.inject(Fault::AnswerLost, Create, "rooms", 1);
    let created = given::room(&world, "r2", "ann").await;
    assert!(created.status.is_success());
    let list = read(&world, ROOMS, &created).await;
    assert!(is_behind(&list), "no instance has applied it: {}", list.text);
    // A refusal may hide an earlier attempt that was carried out. Only the next write is known.
    world.endpoint.inject(Fault::Refused(412), Replace, "rooms", 1);
    let edited = given::titled(&world, "r1", "ann", "Another title").await.expect(200);
    let list = read(&world, ROOMS, &edited).await;
    assert!(is_behind(&list), "an instance may have applied one of two: {}", list.text);
    settles(&world).await;
}

#[tokio::test]
async fn a_token_keeps_the_wait_for_an_earlier_write_that_no_instance_has_applied() {
    let world = eager_rooms().await;
    let plain = given::room(&with_eager(&world, &[]).await, "r2", "ann").await.expect(201);
    let room = json!({"personId": "ann", "title": "A title"});
    let headers = [(TOKEN, plain.header(TOKEN))];
    let eager = world.call("PUT", "/api/rooms/r3", &headers, Some(room)).await.expect(201);
    assert!(is_behind(&read(&world, ROOMS, &eager).await));
    world.settle().await;
    // The lease that the first read has seen is believed for a moment.
    let headers = [(TOKEN, eager.header(TOKEN)), ("prefer", "wait=1")];
    let list = world.call("GET", ROOMS, &headers, None).await.expect(200);
    assert!(!is_behind(&list) && list.text.contains("r2"), "{}", list.text);
}

#[tokio::test]
async fn a_chain_is_followed_though_its_begin_was_applied() {
    let world = eager_rooms().await;
    let world = with_eager(&world, &["NamesInRooms"]).await;
    let renamed = given::person(&world, "ann", "Anna").await.expect(200);
    let room = read(&world, "/api/rooms/r1", &renamed).await;
    assert!(!is_behind(&room) && room.text.contains("Anna"), "{}", room.text);
    for path in [ROOMS, NEWEST] {
        let list = read(&world, path, &renamed).await;
        assert!(is_behind(&list) && !list.text.contains("Anna"), "{}", list.text);
    }
    settles(&world).await;
    // The lease that a read has seen is believed for a moment.
    let headers = [(TOKEN, renamed.header(TOKEN)), ("prefer", "wait=1")];
    let list = world.call("GET", ROOMS, &headers, None).await.expect(200);
    assert!(!is_behind(&list) && list.text.contains("Anna"), "{}", list.text);
}

struct Buggy;

impl AppUnderTest for Buggy {
    const ROOT: &'static str = Rooms::ROOT;

    fn program() -> Program {
        Program::new("tributary", env!("CARGO_PKG_VERSION")).domain(rooms::domain).domain(bugs)
    }
}

fn bugs(context: &Context<'_>) -> Result<Domain, ConfigError> {
    let rooms = context.cosmos.container("rooms");
    let put = http::post("PutRooms", "/api/many-rooms", AuthLevel::Function, put_rooms);
    Ok(Domain {
        http_functions: vec![put.with_state(rooms.clone())],
        projections: vec![Arc::new(Panics(rooms))],
        eager: vec!["Panics"],
        ..Domain::new("bugs")
    })
}

struct Panics(Container);

impl Projection for Panics {
    const FUNCTION: &'static str = "Panics";
    type Change = RoomsItem;

    fn container(&self) -> &Container {
        &self.0
    }

    async fn apply(&self, _change: &RoomsItem) -> Result<Effect, StoreError> {
        assert!(self.0.id().is_empty(), "a bug of the story");
        Ok(Effect::Applied)
    }
}

#[tokio::test]
async fn a_projection_that_panics_fails_no_command() {
    let world = tributary_testing::World::<Buggy>::new().await;
    world.put("/api/people/ann", json!({"name": "Ann"})).await.expect(201);
    let room = json!({"personId": "ann", "title": "A title"});
    let created = world.put("/api/rooms/r1", room).await.expect(201);
    assert!(!created.header(TOKEN).is_empty());
}

/// Writes as many rooms of Ann as the query string says.
async fn put_rooms(
    State(rooms): State<Container>,
    RawQuery(n): RawQuery,
) -> Result<StatusCode, ApiError> {
    let n: u8 = n.unwrap_or_default().parse().unwrap_or_default();
    for id in (0..n).map(|n| format!("n{n:02}")) {
        rooms.create(&id, &id, &given::stored_room(&id, "A title")).await?;
    }
    Ok(StatusCode::NO_CONTENT)
}

#[tokio::test]
async fn a_command_beyond_a_budget_is_answered_and_the_change_feed_does_the_rest() {
    for (rooms, eager, requests_of_copies, is_late) in [
        (16, &["RoomCopies"][..], 16..17, false),
        (17, &["RoomCopies"], 0..1, true),
        (16, COPIES, 98..101, true),
    ] {
        let world = tributary_testing::World::<Buggy>::new().await;
        let (reader, many) =
            (World::on(world.endpoint.clone()).await, with_eager(&world, eager).await);
        given::person(&reader, "ann", "Ann").await.expect(201);
        reader.settle().await;
        let n_before = reader.endpoint.request_count();
        let written = many.post(&format!("/api/many-rooms?{rooms}"), json!({})).await.expect(204);
        let mut requests = requests(&reader, n_before);
        requests.retain(|(_, container)| container != "rooms");
        assert!(requests_of_copies.contains(&requests.len()), "{}", requests.len());
        let list = read(&with_eager(&reader, eager).await, ROOMS, &written).await;
        assert_eq!(is_behind(&list), is_late);
        settles(&reader).await;
        assert_eq!(reader.list(ROOMS).await.len(), rooms);
    }
}

#[test]
fn a_domain_names_only_its_own_projections_as_eager() {
    fn wrong(_: &Context<'_>) -> Result<Domain, ConfigError> {
        Ok(Domain { eager: vec!["RoomCopies"], ..Domain::new("wrong") })
    }
    let program = Program::new("tributary", "0").domain(rooms::domain).domain(wrong);
    let error = program.describe().err().unwrap().to_string();
    assert!(error.contains("RoomCopies"), "{error}");
}
