//! A paused projection: its batches are refused, and none is lost.

use std::{
    fs,
    path::Path,
    time::{Duration, Instant},
};

use tributary_local::cosmos::{
    ContainersFile, CosmosEndpoint, EndpointOptions, Fault, RequestKind::Read,
};
use tributary_testing::{AppUnderTest, problems::problem};

use super::{attentive, pause, resume};
use crate::{Rooms, World, given};

async fn copies(world: &World) -> usize {
    let people = world.items("people").await;
    let rooms = people.iter().filter(|item| item["type"] == "room");
    rooms.count()
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
    assert_eq!(copies(&world).await, 0);
    resume(&second, "RoomCopies").await.expect(200);
    world.deliver("RoomCopies", &rooms).await.unwrap();
    assert_eq!(copies(&world).await, 1);
}

#[tokio::test]
async fn an_instance_reads_the_state_once_in_two_seconds_and_follows() {
    let world = given::rooms().await;
    let rooms = world.items("rooms").await;
    let reads = || {
        let mut requests = world.endpoint.requests();
        requests.retain(|request| request.container == "projections" && request.kind == Read);
        requests.len()
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
    assert_eq!(copies(&world).await, 0);
}

#[tokio::test]
async fn without_the_container_of_states_all_projections_run_and_none_can_be_paused() {
    let endpoint = CosmosEndpoint::new(EndpointOptions::default()).unwrap();
    let file = fs::read_to_string(Path::new(Rooms::ROOT).join("infra/containers.json")).unwrap();
    let others = ContainersFile::parse(&file.replace("\"projections\"", "\"another\"")).unwrap();
    endpoint.provision(World::DATABASE, &others).await.unwrap();
    let world = attentive(&given::rooms_in(World::on(endpoint).await).await).await;
    world.deliver("RoomCopies", &world.items("rooms").await).await.unwrap();
    assert_eq!(copies(&world).await, 1);
    let all = world.get("/api/projections").await.expect(200).json();
    assert_eq!(all["items"][0]["status"], "running");
    problem(&pause(&world, "RoomCopies").await, 503);
}
