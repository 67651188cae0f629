//! A switch is confirmed: the old projection is retired, and its copies are removed.

use std::{
    num::NonZeroU32,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use tributary_functions::{
    app::{AppOptions, MAINTENANCE},
    audit::AuditOptions,
    projection::{BackgroundOptions, ProjectionOptions, succession::SwitchTimes},
};
use tributary_local::cosmos::{Fault, RequestKind};
use tributary_testing::{checks::shapes::StoredShapes, problems::problem};

use super::{
    NEW, Notes, OLD, TIMES, World, compared, instance, operate, put, shape, status, switched,
    with_times,
};

const COPIES: &str = "notes-of-owners";

/// Creates a world with so many notes, in which the switch to the successor is confirmed.
async fn confirmed(count: usize) -> World {
    let world = compared(count).await;
    switched(&world, "switch").await;
    operate(&world, "confirm").await.expect(200);
    world
}

async fn old_copies(world: &World) -> usize {
    world.items(COPIES).await.len()
}

async fn removal(world: &World) -> Value {
    status(world, OLD).await["succession"]["removal"].clone()
}

/// Deletes all old copies.
async fn remove(world: &World) {
    tokio::time::sleep(TIMES.removal_delay).await;
    world.tick(MAINTENANCE).await.unwrap();
}

#[tokio::test]
async fn a_retired_projection_acknowledges_changes_and_writes_nothing() {
    let world = confirmed(2).await;
    put(&world, "n2", "ann", "Note 2").await.expect(201);
    world.settle().await;
    assert_eq!((old_copies(&world).await, world.items("headings-of-owners").await.len()), (2, 3));
    let view = status(&world, OLD).await;
    assert_eq!((&view["status"], &view["lag"]["changes"]), (&json!("retired"), &json!(0)));
    let bad = json!({"id": "bad", "noteId": "bad", "type": "poem"});
    world.write_item("notes", &bad).await;
    world.deliver(OLD, &[bad]).await.unwrap();
    assert!(world.items("dead-letters").await.is_empty());
    for command in ["rebuild", "switch-back"] {
        let detail = problem(
            &world.post(&format!("/api/projections/{OLD}/{command}"), json!({})).await,
            409,
        );
        assert!(detail["detail"].as_str().unwrap().contains("is retired"), "{detail}");
    }
    assert_eq!(operate(&world, "switch").await.expect(200).json()["status"], "retired");
    assert_eq!(shape(&world).await, "new");
}

#[tokio::test]
async fn a_dead_letter_of_a_retired_projection_is_not_replayed() {
    let world = compared(1).await;
    let note = world.item("notes", "n0").await;
    let bad = json!({"id": "n0", "noteId": "n0", "type": "poem"});
    world.write_item("notes", &bad).await;
    world.deliver(OLD, &[bad]).await.unwrap();
    world.write_item("notes", &note).await;
    switched(&world, "switch").await;
    operate(&world, "confirm").await.expect(200);
    remove(&world).await;
    let letter = world.list("/api/dead-letters").await.remove(0);
    let path = format!("/api/dead-letters/{}/replay", letter["id"].as_str().unwrap());
    let detail = problem(&world.post(&path, Value::Null).await, 409)["detail"].to_string();
    assert!(detail.contains("is retired. Delete the dead letter"), "{detail}");
    assert_eq!(old_copies(&world).await, 0);
}

#[tokio::test]
async fn only_copies_that_no_reader_gets_are_given_up() {
    let world = compared(1).await;
    let refused = async |text: &str| {
        let detail = problem(&operate(&world, "confirm").await, 409)["detail"].to_string();
        assert!(detail.contains(text), "{detail}");
    };
    refused("Switch them to its successor first").await;
    switched(&world, "switch").await;
    switched(&world, "switch-back").await;
    refused("Switch them to its successor first").await;
    switched(&world, "switch").await;
    world.post(&format!("/api/projections/{OLD}/rebuild"), json!({})).await.expect(200);
    refused("A rebuild of the projection is under way").await;
    world.post(&format!("/api/projections/{OLD}/cancel-rebuild"), json!({})).await.expect(200);
    let confirmed = operate(&world, "confirm").await.expect(200).json();
    assert_eq!(operate(&world, "confirm").await.expect(200).json(), confirmed);
}

#[tokio::test]
async fn no_copy_is_removed_while_an_instance_may_know_an_older_state() {
    const LATER: &SwitchTimes = &SwitchTimes { removal_delay: Duration::from_secs(2), ..*TIMES };
    let world = with_times(&compared(3).await, LATER).await;
    switched(&world, "switch").await;
    let confirmed = Instant::now();
    operate(&world, "confirm").await.expect(200);
    while old_copies(&world).await > 0 {
        let looked = confirmed.elapsed();
        world.tick(MAINTENANCE).await.unwrap();
        if old_copies(&world).await < 3 {
            assert!(confirmed.elapsed() >= Duration::from_secs(2), "removed after {looked:?}");
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

#[tokio::test]
async fn a_removal_that_is_killed_goes_on_with_the_copies_that_are_left() {
    let world = confirmed(230).await;
    tokio::time::sleep(TIMES.removal_delay).await;
    let killed = instance(&world).await;
    tokio::select! {
        biased;
        () = async {
            while old_copies(&world).await > 120 {
                tokio::task::yield_now().await;
            }
        } => {}
        _ = killed.tick(MAINTENANCE) => panic!("it ended before it was killed"),
    }
    let left = old_copies(&world).await;
    assert!((1..=120).contains(&left), "{left}");
    assert!(removal(&world).await["endedAt"].is_null());
    for kind in [RequestKind::Delete, RequestKind::Query] {
        world.endpoint.inject(Fault::AnswerLost, kind, COPIES, 1);
    }
    world.tick(MAINTENANCE).await.unwrap();
    assert_eq!(old_copies(&world).await, 0);
    let removal = removal(&world).await;
    assert!(removal["endedAt"].is_string(), "{removal}");
    let removed = removal["progress"]["removed"].as_u64().unwrap();
    // Those of the page that was killed, and the one whose answer was lost, are not counted.
    assert!((230 - 60..=230).contains(&removed), "{removal}");
    assert_eq!(world.list("/api/owners/ann/notes").await.len(), 230);
}

#[tokio::test]
async fn copies_of_a_late_writer_are_removed_too() {
    let world = confirmed(3).await;
    let copy = world.item(COPIES, "n0").await;
    tokio::time::sleep(TIMES.removal_delay).await;
    // A batch that was under way writes a copy behind the only page.
    let mut removing = world.endpoint.hold(RequestKind::Replace, "projections");
    let worker = instance(&world).await;
    let (ran, ()) = tokio::join!(worker.tick(MAINTENANCE), async {
        removing.arrived().await;
        world.write_item(COPIES, &copy).await;
        removing.release();
    });
    ran.unwrap();
    assert_eq!(old_copies(&world).await, 0);
    assert!(removal(&world).await["endedAt"].is_string());

    // An instance of an older version comes later.
    world.write_item(COPIES, &copy).await;
    world.tick(MAINTENANCE).await.unwrap();
    assert_eq!(old_copies(&world).await, 0);
    let before = world.endpoint.request_count();
    world.tick(MAINTENANCE).await.unwrap();
    let requests = world.endpoint.requests_since(before);
    let of_copies = requests.iter().filter(|one| one.container == COPIES).count();
    assert_eq!(of_copies, 1, "a look is cheap: {requests:?}");
}

#[tokio::test]
async fn an_item_that_cannot_be_deleted_is_counted_and_ends_no_removal() {
    let world = confirmed(2).await;
    let copies = world.container(COPIES).await;
    let odd = json!({"id": "odd", "ownerId": 7});
    copies.create_item(7_i64, "odd", &odd, None).await.unwrap();
    remove(&world).await;
    let removal = removal(&world).await;
    let progress = &removal["progress"];
    assert_eq!((&progress["removed"], &progress["left"]), (&json!(2), &json!(1)));
    assert!(removal["endedAt"].is_string());
}

#[tokio::test]
async fn a_removal_keeps_to_the_budget_of_the_background() {
    let world = confirmed(130).await;
    tokio::time::sleep(TIMES.removal_delay).await;
    let rate = 250;
    let background = BackgroundOptions {
        request_units_per_second: NonZeroU32::new(rate),
        ..BackgroundOptions::default()
    };
    let projections = ProjectionOptions { switch: TIMES, ..ProjectionOptions::default() };
    let options = AppOptions { background, projections, ..World::options() };
    let began = Instant::now();
    world.with_app(options).await.tick(MAINTENANCE).await.unwrap();
    let seconds = began.elapsed().as_secs_f64();
    let units = removal(&world).await["progress"]["requestUnits"].as_f64().unwrap();
    // The next work pays for the last page. So only half is certain.
    assert!(units > 500.0, "{units}");
    assert!(seconds >= units / 2.0 / f64::from(rate), "{units} RU in {seconds} s");
    assert_eq!(old_copies(&world).await, 0);
}

#[tokio::test]
async fn the_audit_repairs_no_copy_of_a_retired_projection() {
    let audit = async |world: &World| {
        let app = World::app(&World::cosmos(&world.endpoint).await, World::options());
        let options = AuditOptions { settle: Duration::from_millis(100), repair: true };
        let mut found = Vec::new();
        for (_, audit) in app.audits() {
            audit.run(options, &mut found).await.unwrap();
        }
        found.iter().map(|one| format!("{} {}", one.container, one.id)).collect::<Vec<_>>()
    };
    let world = compared(2).await;
    let copies = world.container(COPIES).await;
    copies.delete_item("ann", "n0", None).await.unwrap();
    assert_eq!(audit(&world).await, [format!("{COPIES} n0")]);
    assert_eq!(old_copies(&world).await, 2);
    switched(&world, "switch").await;
    operate(&world, "confirm").await.expect(200);
    remove(&world).await;
    assert_eq!(audit(&world).await, [""; 0]);
    assert_eq!(old_copies(&world).await, 0);
    let headings = world.container("headings-of-owners").await;
    headings.delete_item("ann", "n0", None).await.unwrap();
    assert_eq!(audit(&world).await, ["headings-of-owners n0"]);
}

/// With `UPDATE_SHAPES=1` in the environment, new samples are written.
#[tokio::test]
async fn a_switch_is_stored_in_the_shape_of_its_sample() {
    let world = confirmed(1).await;
    remove(&world).await;
    let samples = StoredShapes::in_folder::<Notes>("shapes");
    samples.hold(&world).await;
    samples
        .are_read(async |world: &World| assert_eq!(status(world, OLD).await["status"], "retired"))
        .await;
    assert_eq!(status(&world, NEW).await["successorOf"], OLD);
}
