//! Readers are switched to a successor, back, and again.

use std::time::{Duration, Instant};

use clap::Parser;
use futures::future::join;
use serde_json::{Value, json};
use tributary_functions::{
    app::AppOptions,
    operator::command::{self, ProjectionArguments},
    projection::{ProjectionOptions, succession::SwitchTimes},
    values::Timestamp,
};
use tributary_local::{
    cosmos::{
        Fault,
        RequestKind::{Create, Read, Replace},
    },
    host::FeedOptions,
};
use tributary_testing::problems::problem;

use super::{
    NEW, OLD, TIMES, World, compared, instance, notes, operate, put, rebuild, shape, status,
    switched, with_times,
};

/// A list that an instance has answered.
struct Sample {
    begun: Timestamp,
    ended: Timestamp,
    shape: String,
}

/// Reads until a time.
async fn sample(world: &World, until: Timestamp) -> Vec<Sample> {
    let mut samples = Vec::new();
    while Timestamp::now() < until {
        let begun = Timestamp::now();
        let shape = shape(world).await;
        samples.push(Sample { begun, ended: Timestamp::now(), shape });
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    samples
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn readers_of_two_instances_are_switched_at_one_time_back_and_again() {
    let world = compared(3).await;
    let second = instance(&world).await;
    let [mut before, mut after] = ["old", "new"];
    for command in ["switch", "switch-back", "switch"] {
        // Both know the state before the switch.
        assert_eq!((shape(&world).await.as_str(), shape(&second).await.as_str()), (before, before));
        let switched = operate(&world, command).await.expect(200).json();
        let at = Timestamp::parse(switched["succession"]["switchedAt"].as_str().unwrap()).unwrap();
        let serves = if before == "old" { OLD } else { NEW };
        assert_eq!(switched["succession"]["serves"], serves, "not before its time");
        let until = at.after(Duration::from_millis(500));
        let samples = join(sample(&world, until), sample(&second, until)).await;
        for samples in [samples.0, samples.1] {
            for Sample { begun, ended, shape } in samples {
                let expected = match () {
                    () if ended < at => before,
                    () if begun >= at => after,
                    () => continue,
                };
                assert_eq!(
                    shape, expected,
                    "{command}: a read from {begun} to {ended}, not at {at}"
                );
            }
        }
        (before, after) = (after, before);
    }
    let third = instance(&world).await;
    assert_eq!(shape(&third).await, "new", "an instance that starts reads the state first");
    assert_eq!(status(&third, OLD).await["succession"]["serves"], NEW);
    assert_eq!(status(&third, NEW).await["successorOf"], OLD);
}

#[tokio::test]
async fn readers_are_not_switched_until_the_successor_was_compared() {
    let world = notes(3).await;
    let refused = async |command: &str, text: &str| {
        let detail = problem(&operate(&world, command).await, 409)["detail"].to_string();
        assert!(detail.contains(text), "{detail}");
    };
    refused("switch", "its last rebuild has not ended").await;
    let path = format!("/api/projections/{NEW}");
    world.post(&format!("{path}/rebuild"), json!({})).await.expect(200);
    refused("switch", "its last rebuild has not ended").await;
    world.tick(tributary_functions::app::MAINTENANCE).await.unwrap();
    let done = world.item("projections", NEW).await;
    for (changed, text) in [
        (json!({"progress": {"read": 3, "audited": 0}}), "its domain has no audit"),
        (json!({"progress": {"read": 3, "audited": 6, "findings": 1}}), "could not repair"),
        (json!({"since": "2026-11-25T09:00:00.000Z"}), "its last rebuild has not ended"),
        (
            json!({"step": {"name": "cancelled", "endedAt": "2026-11-25T09:00:00.000Z"}}),
            "its last rebuild",
        ),
    ] {
        let mut state = done.clone();
        for (name, value) in changed.as_object().unwrap() {
            state["rebuild"][name] = value.clone();
        }
        world.write_item("projections", &state).await;
        refused("switch", text).await;
    }
    world.write_item("projections", &done).await;
    world.post(&format!("{path}/pause"), json!({})).await.expect(200);
    refused("switch", "is paused").await;
    world.post(&format!("{path}/resume"), json!({})).await.expect(200);
    let bad = json!({"id": "bad", "noteId": "bad", "type": "poem"});
    world.write_item("notes", &bad).await;
    world.deliver(NEW, &[bad]).await.unwrap();
    refused("switch", "has dead letters").await;
    operate(&world, "switch?force=maybe").await.expect(400);
    operate(&world, "switch?force=true").await.expect(200);
}

#[tokio::test]
async fn readers_get_no_projection_that_is_behind() {
    let world = instance(&World::new().await).await;
    put(&world, "n0", "ann", "Note").await.expect(201);
    // The rebuild applies the note. No trigger has run.
    rebuild(&world).await;
    let detail = problem(&operate(&world, "switch").await, 409)["detail"].to_string();
    assert!(detail.contains("lag is unknown"), "{detail}");
    world.settle().await;
    switched(&world, "switch").await;
    world.post(&format!("/api/projections/{OLD}/pause"), json!({})).await.expect(200);
    let detail = problem(&operate(&world, "switch-back").await, 409)["detail"].to_string();
    assert!(detail.contains("is paused"), "{detail}");
    operate(&world, "switch-back?force=true").await.expect(200);
}

#[tokio::test]
async fn a_switch_is_one_step_for_its_operators() {
    let world = compared(1).await;
    operate(&world, "switch-back").await.expect(200);
    assert!(world.item("projections", OLD).await.is_null(), "nothing was to be done");
    // Two operators at once, and a lost answer.
    world.endpoint.inject(Fault::AnswerLost, Create, "projections", 1);
    let (one, other) = join(operate(&world, "switch"), operate(&world, "switch")).await;
    let (one, other) = (one.expect(200), other.expect(200));
    assert_eq!((one.json(), one.header("etag")), (other.json(), other.header("etag")));
    let early = problem(&operate(&world, "switch-back").await, 409)["detail"].to_string();
    assert!(early.contains("Another switch holds in a few seconds"), "{early}");
    let early = problem(&operate(&world, "confirm").await, 409)["detail"].to_string();
    assert!(early.contains("The switch holds in a few seconds"), "{early}");
    tokio::time::sleep(TIMES.lead).await;
    assert_eq!(operate(&world, "switch").await.expect(200).json()["succession"]["serves"], NEW);
    world.endpoint.inject(Fault::AnswerLost, Replace, "projections", 1);
    switched(&world, "switch-back").await;
    assert_eq!(shape(&world).await, "old");

    let path = format!("/api/projections/{OLD}/switch");
    let stale = [("if-match", one.header("etag"))];
    problem(&world.call("POST", &path, &stale, None).await, 412);
    let etag = world.get(&format!("/api/projections/{OLD}")).await.header("etag").to_owned();
    world.call("POST", &path, &[("if-match", &etag)], None).await.expect(200);
}

#[tokio::test]
async fn only_the_name_of_a_projection_with_a_successor_is_taken() {
    let world = compared(1).await;
    for command in ["switch", "switch-back", "confirm"] {
        let of = |name: &str| format!("/api/projections/{name}/{command}");
        let detail = problem(&world.post(&of(NEW), Value::Null).await, 409)["detail"].to_string();
        assert!(detail.contains("Name the projection that it replaces"), "{detail}");
        problem(&world.post(&of("Unknown"), Value::Null).await, 404);
    }
    let rooms = crate::given::rooms().await;
    rooms.post("/api/projections/RoomCopies/switch", Value::Null).await.expect(404);
}

#[tokio::test]
async fn an_instance_that_cannot_read_the_state_goes_on_for_a_time_and_then_refuses() {
    let world = compared(1).await;
    let started = instance(&world).await;
    assert_eq!(shape(&world).await, "old");
    let began = Instant::now();
    world.endpoint.inject(Fault::Refused(503), Read, "projections", 1_000_000);
    let path = "/api/owners/ann/notes";
    problem(&started.get(path).await, 503);
    while world.get(path).await.status == 200 {
        assert!(began.elapsed() < Duration::from_secs(20), "it trusts what it knows for ever");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert!(began.elapsed() + TIMES.known_for >= TIMES.trusted_for, "{:?}", began.elapsed());
    world.put("/api/notes/n1", json!({"ownerId": "ann", "title": "A"})).await.expect(201);
}

#[tokio::test]
async fn an_instance_reads_the_state_once_in_two_seconds() {
    let world = with_times(&compared(1).await, SwitchTimes::DEFAULT).await;
    let before = world.endpoint.request_count();
    for _ in 0..20 {
        assert_eq!(shape(&world).await, "old");
    }
    let requests = world.endpoint.requests_since(before);
    let reads = requests.iter().filter(|one| one.container == "projections").count();
    assert_eq!((reads, requests.len()), (1, 21));
}

#[tokio::test]
async fn a_confirmed_switch_holds_by_a_clock_that_is_behind() {
    let world = compared(1).await;
    switched(&world, "switch").await;
    operate(&world, "confirm").await.expect(200);
    let mut state = world.item("projections", OLD).await;
    state["switch"]["from"] = json!("2999-01-01T00:00:00.000Z");
    world.write_item("projections", &state).await;
    assert_eq!(shape(&instance(&world).await).await, "new");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_query_with_a_token_waits_for_the_projection_that_serves() {
    let world = compared(1).await;
    switched(&world, "switch").await;
    let token = put(&world, "n1", "ann", "New").await.expect(201);
    let token = token.header("consistency-token");
    let pumps = world.pumps(&FeedOptions::default());
    let [new, old] = pumps.as_slice() else { panic!("two triggers") };
    old.drain().await.unwrap();
    let read = async || {
        let headers = [("consistency-token", token), ("prefer", "wait=1")];
        let list = world.call("GET", "/api/owners/ann/notes", &headers, None).await.expect(200);
        let texts = list.json()["items"].as_array().unwrap().len();
        (list.header("copies-behind").to_owned(), texts)
    };
    assert_eq!(read().await, ("?1".to_owned(), 1), "its trigger has not run");
    new.drain().await.unwrap();
    assert_eq!(read().await, (String::new(), 2));
}

#[derive(Parser)]
struct CommandLine {
    #[command(flatten)]
    arguments: ProjectionArguments,
}

/// Runs `projections` with these arguments on the app; true if it succeeds.
async fn run(world: &World, arguments: &[&str]) -> bool {
    let projections = ProjectionOptions { switch: TIMES, ..ProjectionOptions::default() };
    let options = AppOptions { projections, ..World::options() };
    let app = World::app(&World::cosmos(&world.endpoint).await, options);
    let CommandLine { arguments } =
        CommandLine::try_parse_from([&["projections"], arguments].concat()).unwrap();
    let code = command::run(app.rebuilds(), &arguments).await;
    format!("{code:?}") == format!("{:?}", std::process::ExitCode::SUCCESS)
}

#[tokio::test]
async fn the_command_switches_confirms_and_removes_to_the_end() {
    let world = notes(3).await;
    assert!(!run(&world, &["switch", OLD]).await, "it was not compared");
    assert!(run(&world, &["switch", OLD, "--force"]).await);
    tokio::time::sleep(TIMES.lead).await;
    assert!(run(&world, &["switch-back", OLD, "--json"]).await);
    tokio::time::sleep(TIMES.lead).await;
    assert!(!run(&world, &["confirm", OLD]).await, "readers get the old copies");
    assert!(run(&world, &["rebuild", NEW]).await);
    assert!(run(&world, &["switch", OLD]).await);
    tokio::time::sleep(TIMES.lead).await;
    assert!(run(&world, &["confirm", OLD]).await);
    assert!(world.items("notes-of-owners").await.is_empty());
    assert!(run(&world, &["confirm", OLD, "--json"]).await, "it is confirmed already");
    assert!(run(&world, &["list"]).await);
}
