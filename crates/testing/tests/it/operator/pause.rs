//! A paused projection: its batches are refused, and none is lost.

use std::{
    ops::RangeInclusive,
    time::{Duration, Instant},
};

use futures::{StreamExt, future::join_all, stream};
use serde_json::{Value, json};
use tributary_local::{
    cosmos::{Fault, RequestKind::Read},
    host::{Console, FeedOptions, FeedPump},
};
use tributary_testing::problems::problem;

use super::{attentive, pause, resume};
use crate::{World, given};

/// The rooms of the long story, and the number of writes of each.
const ROOMS: usize = 200;
const VERSIONS: usize = 6;

/// Returns the ids and versions of the copies of rooms, sorted.
async fn copies(world: &World) -> Vec<(String, u64)> {
    let people = world.items("people").await;
    let rooms = people.iter().filter(|item| item["type"] == "room");
    let mut copies: Vec<_> = rooms
        .map(|room| {
            (room["roomId"].as_str().unwrap().to_owned(), room["version"].as_u64().unwrap())
        })
        .collect();
    copies.sort();
    copies
}

#[tokio::test]
async fn a_paused_projection_refuses_its_batches_and_no_others() {
    let world = attentive(&given::rooms().await).await;
    let second = attentive(&world).await;
    pause(&world, "RoomCopies").await.expect(200);
    let rooms = world.items("rooms").await;
    for instance in [&world, &second] {
        let refused = instance.deliver("RoomCopies", &rooms).await.unwrap_err();
        assert_eq!(refused, "the handler answered 503");
        instance.deliver("NewestRooms", &rooms).await.unwrap();
    }
    assert_eq!(copies(&world).await, []);
    resume(&second, "RoomCopies").await.expect(200);
    world.deliver("RoomCopies", &rooms).await.unwrap();
    assert_eq!(copies(&world).await.len(), 1);
}

#[tokio::test]
async fn an_instance_reads_the_state_once_in_two_seconds_and_follows() {
    let world = given::rooms().await;
    let rooms = world.items("rooms").await;
    let reads = || {
        let requests = world.endpoint.requests();
        requests
            .iter()
            .filter(|request| request.container == "projections" && request.kind == Read)
            .count()
    };
    for _ in 0..10 {
        world.deliver("RoomCopies", &rooms).await.unwrap();
    }
    assert_eq!(reads(), 1);
    pause(&world.second_instance().await, "RoomCopies").await.expect(200);
    let began = Instant::now();
    while world.deliver("RoomCopies", &rooms).await.is_ok() {
        assert!(began.elapsed() < Duration::from_secs(20), "the instance does not follow");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test]
async fn a_batch_is_refused_while_the_state_of_its_projection_cannot_be_read() {
    let world = attentive(&given::rooms().await).await;
    let rooms = world.items("rooms").await;
    world.endpoint.inject(Fault::Refused(503), Read, "projections", 1_000_000);
    let refused = world.deliver("RoomCopies", &rooms).await.unwrap_err();
    assert_eq!(refused, "the handler answered 500");
    assert_eq!(copies(&world).await, []);
}

#[tokio::test]
async fn without_the_container_of_states_all_projections_run_and_none_can_be_paused() {
    let world = given::rooms().await;
    world.container("projections").await.delete(None).await.unwrap();
    let world = attentive(&world).await;
    world.deliver("RoomCopies", &world.items("rooms").await).await.unwrap();
    assert_eq!(copies(&world).await.len(), 1);
    let all = world.get("/api/projections").await.expect(200).json();
    assert_eq!(all["items"][0]["status"], "running");
    problem(&pause(&world, "RoomCopies").await, 503);
}

/// Returns a version of a room, as commands would write it.
fn version(room: usize, version: usize) -> Value {
    let id = format!("room-{room}");
    json!({
        "id": id, "roomId": id, "type": "room", "personId": "ann", "personName": "Ann",
        "personVersion": 1, "title": format!("Title {version}"), "version": version,
        "bookingCount": 0, "creationDate": "2026-11-21T09:25:54.120Z", "createdBy": "a-command",
    })
}

/// 1,200 writes while the projection is paused, with two restarts of the handler.
#[tokio::test]
async fn a_paused_projection_refuses_batches_and_loses_nothing() {
    let world = World::with_partitions(3).await;
    pause(&world, "RoomCopies").await.expect(200);
    let write = async |versions: RangeInclusive<usize>| {
        for n in versions {
            let rooms: Vec<Value> = (0..ROOMS).map(|room| version(room, n)).collect();
            let writes = rooms.iter().map(|room| world.write_item("rooms", room));
            stream::iter(writes).buffer_unordered(16).collect::<Vec<_>>().await;
        }
    };
    for versions in [1..=2, 3..=4, 5..=VERSIONS] {
        write(versions).await;
        // An instance of its own, as after a restart of the handler.
        let restarted = attentive(&world).await;
        let pumps = restarted.pumps(&FeedOptions {
            retry_scale: 0.001,
            console: Console::kept(),
            ..FeedOptions::default()
        });
        let drained = join_all(pumps.iter().map(FeedPump::drain)).await;
        let refused: Vec<String> =
            drained.into_iter().filter_map(|outcome| Some(outcome.err()?.to_string())).collect();
        assert_eq!(refused, ["a batch for RoomCopies failed 5 times: the handler answered 503"]);
        assert_eq!(copies(&world).await, []);
    }
    resume(&world, "RoomCopies").await.expect(200);
    world.settle().await;
    let mut newest: Vec<_> =
        (0..ROOMS).map(|room| (format!("room-{room}"), VERSIONS as u64)).collect();
    newest.sort();
    assert_eq!(copies(&world).await, newest);
    assert!(given::dead_letters(&world).await.is_empty());
}
