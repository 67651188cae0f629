//! A projection pauses itself when many of its changes fail.

use std::time::Duration;

use tributary_functions::{
    app::AppOptions,
    projection::{FailureLimit, ProjectionOptions},
};

use super::resume;
use crate::{World, given};

/// Returns a world in which a projection pauses itself after three failures, and five unreadable rooms.
async fn world() -> World {
    let world = given::rooms().await;
    for n in 0..5 {
        world.write_item("rooms", &given::bad_room(&format!("bad{n}"))).await;
    }
    let limit = FailureLimit { changes: 3, within: Duration::from_mins(10) };
    let projections = ProjectionOptions {
        state_max_age: Duration::ZERO,
        failure_limit: Some(limit),
        ..ProjectionOptions::default()
    };
    world.with_app(AppOptions { projections, ..World::options() }).await
}

/// Delivers an unreadable room; false if the batch is refused.
async fn deliver(world: &World, n: usize) -> bool {
    let bad = world.item("rooms", &format!("bad{n}")).await;
    world.deliver("RoomCopies", &[bad]).await.is_ok()
}

#[tokio::test]
async fn a_projection_pauses_itself_after_so_many_failed_changes() {
    let world = world().await;
    for n in [0, 0, 1, 0, 1] {
        assert!(deliver(&world, n).await, "a change that fails again is one failure");
    }
    assert!(deliver(&world, 2).await);
    assert!(!deliver(&world, 3).await);
    assert_eq!(given::dead_letters(&world).await.len(), 3);
    let paused = world.get("/api/projections/RoomCopies").await.expect(200).json();
    assert_eq!(paused["pause"]["by"], "the limit of failures");
    let reason = paused["pause"]["reason"].as_str().unwrap();
    assert!(reason.starts_with("3 changes have failed since "), "{reason}");
    let other = world.get("/api/projections/RoomCounts").await.expect(200).json();
    assert_eq!(other["status"], "running");
}

#[tokio::test]
async fn failures_before_a_resume_count_no_more() {
    let world = world().await;
    for n in 0..3 {
        assert!(deliver(&world, n).await);
    }
    resume(&world, "RoomCopies").await.expect(200);
    assert!(deliver(&world, 3).await);
    assert!(deliver(&world, 4).await, "two failures after the resume");
}
