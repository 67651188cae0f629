//! The states over HTTP: listed, read, changed under conditions.

use serde_json::{Value, json};
use tributary_functions::app::MAINTENANCE;
use tributary_local::cosmos::{
    Fault,
    RequestKind::{Create, Read, Replace},
};
use tributary_testing::problems::problem;

use super::{attentive, pause, resume};
use crate::{World, given};

/// Returns a projection without its lag, which an answer to a command does not have.
fn state(projection: &Value) -> Value {
    let mut state = projection.clone();
    for field in ["lag", "leases"] {
        state.as_object_mut().unwrap().remove(field);
    }
    state
}

#[tokio::test]
async fn every_projection_runs_until_it_is_paused() {
    let world = World::new().await;
    let all = world.get("/api/projections").await.expect(200).json();
    let items = all["items"].as_array().unwrap().iter();
    let names: Vec<&Value> = items.map(|projection| &projection["name"]).collect();
    let expected = ["RoomCopies", "RoomCounts", "NewestRooms", "NamesInRooms", "RoomsIntegrity"];
    assert_eq!(names, expected);
    let running =
        json!({"name": "RoomCopies", "container": "rooms", "status": "running", "eager": false});
    assert_eq!(state(&all["items"][0]), running);
    let read = world.get("/api/projections/RoomCopies").await.expect(200).json();
    assert_eq!(state(&read), running);

    let body = json!({"reason": "A bug"});
    let paused = world.post("/api/projections/RoomCopies/pause", body).await.expect(200);
    assert_eq!(paused.json()["status"], "paused");
    assert_eq!(paused.json()["pause"]["reason"], "A bug");
    let read = world.get("/api/projections/RoomCopies").await.expect(200);
    assert_eq!(state(&read.json()), paused.json());
    assert_eq!(read.header("etag"), paused.header("etag"));
    let all = world.get("/api/projections").await.expect(200).json();
    assert_eq!(state(&all["items"][0]), paused.json());
    assert_eq!(all["items"][1]["status"], "running");

    assert_eq!(resume(&world, "RoomCopies").await.expect(200).json(), running);
    let read = world.get("/api/projections/RoomCopies").await.expect(200).json();
    assert_eq!(state(&read), running);
}

#[tokio::test]
async fn a_field_of_a_state_that_cannot_be_read_hides_no_other() {
    let world = attentive(&World::new().await).await;
    let newer = json!({"id": "of another version", "step": 5});
    let path = "/api/projections/RoomCopies";
    for pause in [json!("for ever"), json!({"since": 5, "reason": "A bug"})] {
        let bad = json!({"id": "RoomCopies", "pause": pause, "rebuild": newer});
        world.write_item("projections", &bad).await;
        let shown = world.get(path).await.expect(200).json();
        assert_eq!(shown["status"], "paused");
        let reason = shown["pause"]["reason"].as_str().unwrap();
        assert!(reason.contains("cannot read") && reason.contains("resume"), "{shown}");
        let all = world.get("/api/projections").await.expect(200).json();
        assert_eq!(state(&all["items"][0]), state(&shown));
        let room = given::stored_room("r1", "A title");
        assert!(world.deliver("RoomCopies", &[room]).await.is_err());
        resume(&world, "RoomCopies").await.expect(200);
    }
    // A rebuild of a newer version is left to that version, and a pause beside it is a pause.
    let bad = json!({"id": "RoomCopies", "resumedAt": 5, "rebuild": newer});
    world.write_item("projections", &bad).await;
    assert_eq!(world.get(path).await.expect(200).json()["status"], "running");
    pause(&world, "RoomCopies").await.expect(200);
    let stored = world.item("projections", "RoomCopies").await;
    assert_eq!((&stored["rebuild"], stored["pause"].is_object()), (&newer, true));
    resume(&world, "RoomCopies").await.expect(200);
    world.tick(MAINTENANCE).await.unwrap();
    assert_eq!(world.item("projections", "RoomCopies").await["rebuild"], newer, "it waits");
    // Another rebuild replaces it.
    world.write_item("rooms", &given::stored_room("r1", "A title")).await;
    world.post(&format!("{path}/rebuild"), json!({})).await.expect(200);
    world.tick(MAINTENANCE).await.unwrap();
    let done = world.get(path).await.expect(200).json();
    assert_eq!(done["rebuild"]["step"], "done", "{done}");
    assert_eq!(world.item("people", "room:r1").await["title"], "A title");
}

#[tokio::test]
async fn an_unknown_name_is_a_404_that_lists_the_names() {
    let world = World::new().await;
    for answer in [
        world.get("/api/projections/Unknown").await,
        pause(&world, "Unknown").await,
        resume(&world, "Unknown").await,
    ] {
        let detail = problem(&answer, 404)["detail"].to_string();
        assert!(detail.contains("RoomCopies, RoomCounts"), "{detail}");
    }
}

#[tokio::test]
async fn a_second_pause_or_resume_changes_nothing() {
    let world = World::new().await;
    resume(&world, "RoomCopies").await.expect(200);
    assert!(world.items("projections").await.is_empty());
    let first = pause(&world, "RoomCopies").await.expect(200);
    let second =
        world.post("/api/projections/RoomCopies/pause", json!({"reason": "Another"})).await;
    assert_eq!(second.expect(200).json(), first.json());
    resume(&world, "RoomCopies").await.expect(200);
    let before = world.items("projections").await;
    resume(&world, "RoomCopies").await.expect(200);
    assert_eq!(world.items("projections").await, before);
}

#[tokio::test]
async fn a_state_is_changed_under_the_conditions_of_its_caller() {
    let world = World::new().await;
    let path = "/api/projections/RoomCopies";
    let change = async |verb: &str, condition: (&str, &str)| {
        world.call("POST", &format!("{path}/{verb}"), &[condition], Some(json!({}))).await
    };
    problem(&change("pause", ("if-match", "*")).await, 412);
    change("pause", ("if-none-match", "*")).await.expect(200);
    let etag = world.get(path).await.header("etag").to_owned();
    world.call("GET", path, &[("if-none-match", &etag)], None).await.expect(304);
    problem(&change("resume", ("if-match", "\"0\"")).await, 412);
    change("resume", ("if-match", &etag)).await.expect(200);
    problem(&change("pause", ("if-match", &etag)).await, 412);
}

#[tokio::test]
async fn a_pause_whose_answer_was_lost_is_found_by_the_next_attempt() {
    let world = World::new().await;
    for (kind, verb) in [(Create, "pause"), (Replace, "resume"), (Replace, "pause")] {
        world.endpoint.inject(Fault::AnswerLost, kind, "projections", 1);
        let path = format!("/api/projections/RoomCopies/{verb}");
        let answer = world.post(&path, json!({})).await.expect(200).json();
        let status = if verb == "pause" { "paused" } else { "running" };
        assert_eq!(answer["status"], status);
    }
}

#[tokio::test]
async fn a_dead_letter_of_a_paused_projection_is_not_replayed() {
    let world = given::rooms().await;
    world.write_item("rooms", &given::bad_room("bad")).await;
    world.deliver("RoomCopies", &world.items("rooms").await).await.unwrap();
    let dead_letter = world.list("/api/dead-letters").await.remove(0);
    pause(&world, "RoomCopies").await.expect(200);
    let detail = problem(&given::replay(&world, &dead_letter).await, 409)["detail"].to_string();
    assert!(detail.contains("is paused. Resume the projection"), "{detail}");
    world.endpoint.inject(Fault::Refused(503), Read, "projections", 1_000);
    problem(&given::replay(&world, &dead_letter).await, 503);
}
