//! The audit of copies, from their definition.

use std::{
    num::NonZeroU32,
    time::{Duration, Instant},
};

use serde_json::json;
use tributary_functions::{
    app::{AppOptions, MAINTENANCE},
    audit::Audit,
    projection::BackgroundOptions,
    values::Timestamp,
};
use tributary_testing::audits::findings;

use super::{NEW, World, model::HeadingsOfOwners, notes, put, status};

/// The findings of the audit, sorted.
async fn audited(world: &World, repair: bool) -> Vec<String> {
    let cosmos = World::cosmos(&world.endpoint).await;
    let [notes, copies] = ["notes", "headings-of-owners"].map(|id| cosmos.container(id));
    let audit = Audit::of_copies::<HeadingsOfOwners>("Audit", "0 0 3 * * 0", &notes, &copies);
    findings(&audit, repair).await
}

#[tokio::test]
async fn the_audit_checks_and_repairs_copies_from_their_definition() {
    let world = notes(5).await;
    world.delete("/api/notes/n4").await.expect(204);
    let copies = world.container("headings-of-owners").await;
    let stored = world.items("headings-of-owners").await;
    let copy = |id: &str| stored.iter().find(|copy| copy["id"] == *id).unwrap().clone();
    copies.delete_item("ann", "n0", None).await.unwrap();
    for (id, property, value) in [
        ("n1", "heading", json!("OTHER")),
        ("n2", "version", json!(0)),
        ("n3", "version", json!(9)),
    ] {
        let mut copy = copy(id);
        copy[property] = value;
        copies.upsert_item("ann", id, &copy, None).await.unwrap();
    }
    let mut extra = copy("n1");
    extra["id"] = json!("n9");
    copies.upsert_item("ann", "n9", &extra, None).await.unwrap();

    // No projection has delivered the tombstone of n4.
    let found = [
        "copy-different ann n1",
        "copy-extra ann n9",
        "copy-missing ann n0",
        "copy-newer ann n3",
        "copy-older ann n2",
        "copy-older ann n4",
    ];
    assert_eq!(audited(&world, false).await, found);
    assert_eq!(audited(&world, true).await, found);
    assert_eq!(audited(&world, false).await, [""; 0]);
    let repaired = world.items("headings-of-owners").await;
    assert_eq!(repaired.iter().filter(|copy| copy.get("ttl").is_none()).count(), 4);

    // Either tombstone may expire first.
    let sources = world.container("notes").await;
    let tombstone = world.item("notes", "n4").await;
    sources.delete_item("n4", "n4", None).await.unwrap();
    assert_eq!(audited(&world, false).await, [""; 0]);
    sources.upsert_item("n4", "n4", &tombstone, None).await.unwrap();
    copies.delete_item("ann", "n4", None).await.unwrap();
    assert_eq!(audited(&world, false).await, [""; 0]);
}

#[tokio::test]
async fn a_copy_is_not_extra_because_a_replica_lacks_its_source() {
    let world = notes(1).await;
    let _stale = world.stale_reads("notes");
    put(&world, "n1", "ann", "Note 1").await.expect(201);
    world.settle().await;
    assert_eq!(audited(&world, true).await, [""; 0]);
}

#[tokio::test]
async fn a_repair_writes_the_newest_copy_though_a_replica_has_an_older_source() {
    let world = notes(1).await;
    let stale = world.stale_reads("notes");
    put(&world, "n0", "ann", "Edited").await.expect(200);
    world.settle().await;
    let copies = world.container("headings-of-owners").await;
    copies.delete_item("ann", "n0", None).await.unwrap();
    assert_eq!(audited(&world, true).await, ["copy-missing ann n0"]);
    drop(stale);
    assert_eq!(audited(&world, false).await, [""; 0]);
}

#[tokio::test]
async fn the_audit_of_a_rebuild_keeps_to_the_budget_of_the_background() {
    let world = notes(130).await;
    tokio::time::sleep(Duration::from_millis(1_100)).await;
    let since = Timestamp::now();
    tokio::time::sleep(Duration::from_millis(10)).await;
    // It applies no source, and audits all.
    let rewind = json!({"since": since});
    world.post(&format!("/api/projections/{NEW}/rebuild"), rewind).await.expect(200);
    let rate = 400;
    let background = BackgroundOptions {
        request_units_per_second: NonZeroU32::new(rate),
        ..BackgroundOptions::default()
    };
    let options = AppOptions { background, ..World::options() };
    let began = Instant::now();
    world.with_app(options).await.tick(MAINTENANCE).await.unwrap();
    let seconds = began.elapsed().as_secs_f64();
    let rebuild = status(&world, NEW).await["rebuild"].clone();
    assert_eq!((&rebuild["step"], &rebuild["progress"]["audited"]), (&json!("done"), &json!(520)));
    let units = rebuild["progress"]["requestUnits"].as_f64().unwrap();
    // The next work pays for the last page. So three quarters are certain.
    assert!(seconds >= units * 0.75 / f64::from(rate), "{units} RU in {seconds} s");
}
