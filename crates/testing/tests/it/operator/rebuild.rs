//! A projection is rebuilt: its sources are applied again, beside live changes.

use std::time::Duration;

use futures::{StreamExt, stream};
use serde_json::{Value, json};
use tributary_functions::{app::MAINTENANCE, values::Timestamp};
use tributary_local::cosmos::{
    Fault,
    RequestKind::{ChangeFeed, Create, Query, Read, Replace},
};
use tributary_testing::{
    Answer,
    interleavings::{amid, held},
    problems::problem,
};

use super::{pause, resume};
use crate::{World, given};

/// More than a page.
const ROOMS: usize = 130;

/// Creates a world with many rooms in three partitions, of which no copy was made.
async fn world_without_copies() -> World {
    let world = World::with_partitions(3).await;
    let rooms = (0..ROOMS).map(|n| room(&world, n));
    stream::iter(rooms).buffer_unordered(16).collect::<Vec<_>>().await;
    world
}

async fn room(world: &World, n: usize) {
    world.write_item("rooms", &given::stored_room(&format!("room-{n}"), "A title")).await;
}

async fn copies(world: &World) -> usize {
    world.items("people").await.len()
}

async fn rebuild(world: &World, body: Value) -> Answer {
    world.post("/api/projections/RoomCopies/rebuild", body).await
}

async fn status(world: &World) -> Value {
    world.get("/api/projections/RoomCopies").await.expect(200).json()
}

/// Lets another worker take the rebuild, as some time after a crash.
async fn expire_claim(world: &World) {
    let mut state = world.item("projections", "RoomCopies").await;
    state["rebuild"]["worker"]["until"] = json!("2026-01-01T00:00:00.000Z");
    world.write_item("projections", &state).await;
}

#[tokio::test]
async fn a_rebuild_makes_every_copy_again_and_reports_its_progress() {
    let world = world_without_copies().await;
    let asked = rebuild(&world, json!({})).await.expect(200).json();
    assert_eq!([&asked["status"], &asked["rebuild"]["step"]], ["rebuilding", "sources"]);
    assert_eq!(asked["rebuild"]["hasWorker"], false);
    assert_eq!(copies(&world).await, 0, "the timer has not run");

    world.tick(MAINTENANCE).await.unwrap();
    assert_eq!(copies(&world).await, ROOMS);
    let done = status(&world).await;
    assert_eq!([&done["status"], &done["rebuild"]["step"]], ["running", "done"]);
    let progress = &done["rebuild"]["progress"];
    let counts = ["items", "read", "applied", "deadLetters"].map(|name| &progress[name]);
    assert_eq!(counts, [ROOMS, ROOMS, ROOMS, 0]);
    assert!(progress["requestUnits"].as_f64().unwrap() > 500.0, "{progress}");

    world.settle().await;
    world.tick(MAINTENANCE).await.unwrap();
    let before = world.endpoint.request_count();
    world.tick(MAINTENANCE).await.unwrap();
    let requests = world.endpoint.requests_since(before);
    // For each of the three physical partitions: one query of the states, one of the leases, and one read
    // of the change feed for each of the five projections.
    let count = |kind| requests.iter().filter(|request| request.kind == kind).count();
    let counts = [Query, ChangeFeed, Read].map(count);
    assert_eq!((counts, requests.len()), ([6, 15, 1], 22), "a run with nothing to do is cheap");
}

#[tokio::test]
async fn a_rewind_applies_only_what_was_written_since() {
    let world = world_without_copies().await;
    let future = problem(&rebuild(&world, json!({"since": "2999-01-01T00:00:00.000Z"})).await, 400);
    assert_eq!(future["errors"][0]["field"], "since");
    tokio::time::sleep(Duration::from_millis(2_100)).await;
    let since = Timestamp::now();
    room(&world, 0).await;
    tokio::time::sleep(Duration::from_millis(10)).await;
    rebuild(&world, json!({"since": since})).await.expect(200);
    world.tick(MAINTENANCE).await.unwrap();
    assert_eq!(copies(&world).await, 1);
    assert_eq!(status(&world).await["rebuild"]["progress"]["items"], 1);
}

#[tokio::test]
async fn a_rebuild_that_is_killed_goes_on_behind_its_last_page() {
    let world = world_without_copies().await;
    rebuild(&world, json!({})).await.expect(200);
    let killed = world.second_instance().await;
    let limit = world.endpoint.request_count() + 90;
    tokio::select! {
        biased;
        () = async {
            while world.endpoint.request_count() < limit {
                tokio::task::yield_now().await;
            }
        } => {}
        _ = killed.tick(MAINTENANCE) => panic!("it ended before it was killed"),
    }
    let read = status(&world).await["rebuild"]["progress"]["read"].as_u64().unwrap();
    assert!((1..ROOMS as u64).contains(&read), "{read}");

    world.tick(MAINTENANCE).await.unwrap();
    assert_eq!(status(&world).await["status"], "rebuilding", "the claim has not expired");
    expire_claim(&world).await;
    world.tick(MAINTENANCE).await.unwrap();
    let done = status(&world).await;
    assert_eq!(done["rebuild"]["progress"]["read"], ROOMS, "no page is read again");
    assert_eq!(copies(&world).await, ROOMS);
}

#[tokio::test]
async fn a_second_rebuild_is_refused_until_the_first_has_ended_or_is_cancelled() {
    let world = world_without_copies().await;
    rebuild(&world, json!({})).await.expect(200);
    problem(&rebuild(&world, json!({})).await, 409);
    let cancel = || world.post("/api/projections/RoomCopies/cancel-rebuild", json!({}));
    let cancelled = cancel().await.expect(200).json();
    assert_eq!([&cancelled["status"], &cancelled["rebuild"]["step"]], ["running", "cancelled"]);
    assert_eq!(cancel().await.expect(200).json(), cancelled);
    world.tick(MAINTENANCE).await.unwrap();
    assert_eq!(copies(&world).await, 0);
    rebuild(&world, json!({})).await.expect(200);
    // It stops a worker, too.
    let worker = world.second_instance().await;
    let cancelled = async { drop(cancel().await.expect(200)) };
    amid((&world, Create, "people"), worker.tick(MAINTENANCE), cancelled).await.unwrap();
    assert_eq!(status(&world).await["rebuild"]["step"], "cancelled");
    assert!(copies(&world).await < ROOMS);
}

#[tokio::test]
async fn a_paused_projection_is_rebuilt_after_it_is_resumed() {
    let world = world_without_copies().await;
    pause(&world, "RoomCopies").await.expect(200);
    problem(&rebuild(&world, json!({})).await, 409);
    resume(&world, "RoomCopies").await.expect(200);
    rebuild(&world, json!({})).await.expect(200);
    pause(&world, "RoomCopies").await.expect(200);
    world.tick(MAINTENANCE).await.unwrap();
    assert_eq!(status(&world).await["status"], "paused");
    assert_eq!(copies(&world).await, 0);
    resume(&world, "RoomCopies").await.expect(200);
    assert_eq!(status(&world).await["status"], "rebuilding");
    let worker = world.second_instance().await;
    let paused = async { drop(pause(&world, "RoomCopies").await.expect(200)) };
    amid((&world, Create, "people"), worker.tick(MAINTENANCE), paused).await.unwrap();
    let stopped = status(&world).await;
    let read = &stopped["rebuild"]["progress"]["read"];
    assert_eq!((&stopped["status"], read), (&json!("paused"), &json!(copies(&world).await)));
    assert!(read.as_u64().unwrap() < ROOMS as u64);
    resume(&world, "RoomCopies").await.expect(200);
    world.tick(MAINTENANCE).await.unwrap();
    assert_eq!(copies(&world).await, ROOMS);
    assert_eq!(status(&world).await["rebuild"]["progress"]["read"], ROOMS, "no page twice");
}

#[tokio::test]
async fn a_rebuild_finds_sources_that_a_replica_does_not_show_yet() {
    let world = World::new().await;
    let frozen = world.stale_reads("rooms");
    room(&world, 0).await;
    rebuild(&world, json!({})).await.expect(200);
    world.second_instance().await.tick(MAINTENANCE).await.unwrap();
    drop(frozen);
    assert_eq!(copies(&world).await, 1);
}

/// A position that the store refuses begins the sources again, but not for ever.
#[tokio::test]
async fn a_rebuild_whose_positions_are_all_refused_fails_and_can_be_asked_for_again() {
    let world = world_without_copies().await;
    rebuild(&world, json!({})).await.expect(200);
    let refuse_position = async || {
        let mut state = world.item("projections", "RoomCopies").await;
        state["rebuild"]["step"]["position"] = json!("of another version");
        state["rebuild"]["worker"] = Value::Null;
        world.write_item("projections", &state).await;
    };
    for _ in 0..3 {
        refuse_position().await;
        let worker = world.second_instance().await;
        drop(held((&world, Create, "people"), worker.tick(MAINTENANCE)).await);
    }
    refuse_position().await;
    world.tick(MAINTENANCE).await.unwrap();
    let failed = status(&world).await;
    assert_eq!([&failed["status"], &failed["rebuild"]["step"]], ["running", "failed"]);
    assert_eq!(failed["rebuild"]["progress"]["restarts"], 3);
    assert!(copies(&world).await < ROOMS);
    world.tick(MAINTENANCE).await.unwrap();
    assert_eq!(status(&world).await, failed, "nothing is left to do");

    rebuild(&world, json!({})).await.expect(200);
    refuse_position().await;
    world.tick(MAINTENANCE).await.unwrap();
    assert_eq!(copies(&world).await, ROOMS);
    assert_eq!(status(&world).await["rebuild"]["progress"]["read"], ROOMS);
}

#[tokio::test]
async fn lost_answers_and_bad_sources_end_in_the_same_copies() {
    let world = world_without_copies().await;
    world.write_item("rooms", &given::bad_room("bad")).await;
    rebuild(&world, json!({})).await.expect(200);
    for (kind, container) in
        [(Create, "people"), (Replace, "projections"), (Read, "projections"), (Query, "rooms")]
    {
        world.endpoint.inject(Fault::AnswerLost, kind, container, 1);
    }
    world.tick(MAINTENANCE).await.unwrap();
    assert_eq!(copies(&world).await, ROOMS);
    assert_eq!(given::dead_letters(&world).await, ["RoomCopies"]);
    assert_eq!(status(&world).await["rebuild"]["progress"]["deadLetters"], 1);
}

#[tokio::test]
async fn a_slow_worker_stores_no_position_after_another_has_taken_over() {
    let world = world_without_copies().await;
    rebuild(&world, json!({})).await.expect(200);
    let first = world.second_instance().await;
    let second = world.second_instance().await;
    let (copying, slow) = held((&world, Create, "people"), first.tick(MAINTENANCE)).await;
    expire_claim(&world).await;
    let (counting, takes_over) = held((&world, Query, "rooms"), second.tick(MAINTENANCE)).await;
    copying.release();
    slow.await.unwrap();
    assert_eq!(status(&world).await["rebuild"]["progress"]["read"], 0);
    counting.release();
    takes_over.await.unwrap();
    assert_eq!(status(&world).await["rebuild"]["progress"]["read"], ROOMS);
    assert_eq!(copies(&world).await, ROOMS);
}
