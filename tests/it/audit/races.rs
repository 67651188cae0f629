//! Repairs that meet other writers: each story holds one request to the store back, lets something
//! else happen, and lets the request go on.

use std::time::Duration;

use serde_json::json;
use tributary_local::cosmos::RequestKind::{self, Batch, Create, Delete, Query, Read, Replace};

use super::{audit_within, change, findings, in_short, remove, reserve_in_a_ring, small_blog};
use tributary_testing::interleavings::amid;

use crate::{
    blog::{like, post},
    world::World,
};

/// Damages the small blog in one place, repairs it, and lets `meanwhile` happen while the repair's
/// first request of a kind is on its way. Both have to last.
async fn repair_amid(
    damage: impl AsyncFnOnce(&World),
    (kind, container): (RequestKind, &str),
    meanwhile: impl AsyncFnOnce(&World),
) -> World {
    let world = small_blog().await;
    damage(&world).await;
    let repair = audit_within(&world, Duration::ZERO, true);
    let (found, summary) = amid((&world, kind, container), repair, meanwhile(&world)).await;
    assert!(summary.findings > 0 && summary.repaired == summary.findings, "{found:?}");
    world.settle().await;
    assert_eq!(findings(&world).await, [""; 0], "{found:?}");
    world
}

/// As before, but what happens meanwhile puts everything right, and the repair must not undo that,
/// not even until its next look.
async fn repair_too_late(
    damage: impl AsyncFnOnce(&World),
    (kind, container): (RequestKind, &str),
    meanwhile: impl AsyncFnOnce(&World),
) {
    let world = small_blog().await;
    damage(&world).await;
    let mut write = world.endpoint.hold(kind, container);
    let others = async {
        write.arrived().await;
        meanwhile(&world).await;
        let mut look = world.endpoint.hold(if container == "feed" { Query } else { Read }, "posts");
        write.release();
        look.arrived().await;
        assert_eq!(findings(&world).await, [""; 0]);
    };
    let mut repair = Box::pin(audit_within(&world, Duration::ZERO, true));
    let (found, summary) = tokio::select! {
        () = others => repair.await,
        // There is nothing left to look at.
        result = &mut repair => result,
    };
    assert_eq!((found.len(), summary.repaired), (1, 1), "{found:?}");
    assert_eq!(findings(&world).await, [""; 0]);
}

/// A like, which reaches the copies too.
async fn liked(world: &World) {
    like(world, "p1", "bob").await.expect(201);
    world.settle().await;
}

#[tokio::test]
async fn an_edit_while_the_counts_or_the_name_of_its_post_are_written_stays() {
    for fields in [json!({"likeCount": 9}), json!({"userUsername": "Annie"})] {
        let damage = async |world: &World| {
            change(world, ("posts", "p1", "p1"), fields.clone()).await;
        };
        let world = repair_amid(damage, (Replace, "posts"), async |world: &World| {
            let text = json!({"userId": "ann", "title": "edited", "content": "C"});
            world.put("/api/posts/p1", text).await.expect(200);
        });
        assert_eq!(world.await.get("/api/posts/p1").await.json()["title"], "edited");
    }
}

#[tokio::test]
async fn a_copy_that_is_updated_during_its_repair_stays_updated() {
    let copy = ("users", "ann", "post:p1");
    let in_feed = ("feed", "post", "p1");
    let older = json!({"version": 1});
    let change = async |world: &World, copy| change(world, copy, older.clone()).await;
    repair_too_late(async |world| change(world, copy).await, (Replace, "users"), liked).await;
    repair_too_late(async |world| remove(world, copy).await, (Create, "users"), liked).await;
    repair_too_late(async |world| change(world, in_feed).await, (Batch, "feed"), liked).await;
}

#[tokio::test]
async fn a_copy_that_gets_its_post_while_it_is_deleted_stays() {
    let posted = async |world: &World| {
        post(world, "p3", "ann").await.expect(201);
        world.settle().await;
    };
    for (container, id) in [("users", "post:p1"), ("feed", "p1")] {
        let damage = async |world: &World| {
            let mut copy = world.item(container, id).await;
            copy["id"] = json!(id.replace("p1", "p3"));
            copy["postId"] = json!("p3");
            copy["version"] = json!(0);
            world.write_item(container, &copy).await;
        };
        repair_too_late(damage, (Delete, container), posted).await;
    }
}

#[tokio::test]
async fn a_name_in_use_is_free_at_no_moment_of_its_repair() {
    let world = small_blog().await;
    reserve_in_a_ring(&world).await;
    let (_, requests) = world.requests_of(audit_within(&world, Duration::ZERO, true)).await;
    assert!(requests.iter().all(|request| request.kind != Delete), "{requests:?}");
}

#[tokio::test]
async fn a_lasting_divergence_beside_a_changing_one_is_reported_once() {
    let world = small_blog().await;
    change(&world, ("feed", "post", "p1"), json!({"title": "Other"})).await;
    let moves = async {
        for n in 0_u32.. {
            let mut look = world.endpoint.hold(Query, "feed");
            look.arrived().await;
            change(&world, ("feed", "post", "p2"), json!({"title": n.to_string()})).await;
            look.release();
        }
    };
    let (found, summary) = tokio::select! {
        result = audit_within(&world, Duration::from_millis(100), false) => result,
        () = moves => unreachable!("it has no end"),
    };
    let found: Vec<_> = found.iter().map(in_short).collect();
    assert_eq!(found, ["copy-different feed post p1"]);
    assert_eq!(summary.unsettled, 1);
}
