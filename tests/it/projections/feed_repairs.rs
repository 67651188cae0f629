//! A feed whose copies an operator has deleted, and refills that meet other changes.

use serde_json::{Value, json};
use tributary_local::cosmos::RequestKind::{Batch, Query};

use crate::{blog::given, interleavings::held, world::World};

/// A world with 101 posts of Ann, `p000` to `p100`, of which the feed holds the newest 100.
pub(super) async fn full_feed() -> World {
    let world = given::blog().await;
    world.delete("/api/posts/p1").await.expect(204);
    for n in 0..=100 {
        given::post(&world, &format!("p{n:03}"), "ann").await.expect(201);
    }
    let posts = world.items("posts").await;
    world.deliver("HomeFeed", &posts).await.unwrap();
    assert_eq!(copy(&world, "p000").await, Value::Null);
    world
}

/// A post's copy in the feed.
async fn copy(world: &World, id: &str) -> Value {
    world.item("feed", id).await
}

/// A post, as the change feed shows it now.
async fn change(world: &World, id: &str) -> Value {
    world.item("posts", id).await
}

async fn deliver(world: &World, change: &Value) {
    world.deliver("HomeFeed", std::slice::from_ref(change)).await.unwrap();
}

/// Deletes a member, and ends the handler before it has filled the feed up.
pub(super) async fn leave_a_gap(world: &World, id: &str) {
    world.delete(&format!("/api/posts/{id}")).await.expect(204);
    let tombstone = change(world, id).await;
    drop(held((world, Query, "posts"), deliver(world, &tombstone)).await);
    assert_eq!(world.item("feed", "~head").await["refill"], true);
}

async fn delete_copy(world: &World, id: &str) {
    world.container("feed").await.delete_item("post", id, None).await.unwrap();
}

/// The feed shows the newest 100 posts, each as it is.
pub(super) async fn the_feed_is_right(world: &World) {
    let mut posts = world.items("posts").await;
    posts.retain(|item| item["type"] == "post");
    posts.sort_by_key(|post| (post["creationDate"].to_string(), post["id"].to_string()));
    let shown = |post: &Value| (post["id"].clone(), post["likeCount"].clone());
    let expected: Vec<_> = posts.iter().rev().take(100).map(shown).collect();
    let feed = world.get("/api/feed").await.expect(200).json();
    let feed: Vec<_> = feed["items"].as_array().unwrap().iter().map(shown).collect();
    assert_eq!(feed, expected);
}

#[tokio::test]
async fn a_member_whose_copy_was_deleted_is_written_again_by_a_replay() {
    let world = given::blog().await;
    world.settle().await;
    // The repair of docs/dead-letters.md for a copy that cannot be read.
    let mut broken = copy(&world, "p1").await;
    broken["version"] = json!("broken");
    world.container("feed").await.upsert_item("post", "p1", &broken, None).await.unwrap();
    deliver(&world, &change(&world, "p1").await).await;
    let letter = world.list("/api/dead-letters").await.remove(0);
    delete_copy(&world, "p1").await;
    let path = format!("/api/dead-letters/{}/replay", letter["id"].as_str().unwrap());
    let outcome = world.post(&path, Value::Null).await.expect(200).json();
    assert_eq!(outcome["outcome"], "applied");
    assert_eq!(copy(&world, "p1").await["title"], "A title");
}

#[tokio::test]
async fn a_member_without_a_copy_leaves_the_full_feed() {
    let world = full_feed().await;
    // The two oldest, of which the first leaves alone and the second with another.
    for id in ["p001", "p002"] {
        delete_copy(&world, id).await;
    }
    given::post(&world, "p101", "ann").await.expect(201);
    deliver(&world, &change(&world, "p101").await).await;
    given::post(&world, "p102", "ann").await.expect(201);
    given::post(&world, "p103", "ann").await.expect(201);
    let both = [change(&world, "p102").await, change(&world, "p103").await];
    world.deliver("HomeFeed", &both).await.unwrap();
    the_feed_is_right(&world).await;
}

#[tokio::test]
async fn a_member_that_leaves_while_its_missing_copy_is_written_stays_out() {
    let world = full_feed().await;
    let other = world.second_instance().await;
    delete_copy(&world, "p001").await;
    let oldest = change(&world, "p001").await;
    let repair = deliver(&world, &oldest);
    let (hold, repair) = held((&world, Batch, "feed"), repair).await;
    given::post(&world, "p101", "ann").await.expect(201);
    deliver(&other, &change(&world, "p101").await).await;
    hold.release();
    repair.await;
    assert_eq!(copy(&world, "p001").await, Value::Null);
    the_feed_is_right(&world).await;
}

#[tokio::test]
async fn a_refill_that_stalls_takes_in_no_version_older_than_one_acknowledged_meanwhile() {
    let world = full_feed().await;
    let other = world.second_instance().await;
    leave_a_gap(&world, "p050").await;
    // It has read `p000` in its first version, and stalls before the second query.
    let tombstone = change(&world, "p050").await;
    let (first, refill) = held((&world, Query, "posts"), deliver(&world, &tombstone)).await;
    let second = held((&world, Query, "posts"), async {
        first.release();
        refill.await;
    });
    let (second, refill) = second.await;
    // Another instance acknowledges the second version, which comes in and leaves again.
    given::like(&world, "p000", "bob").await.expect(201);
    deliver(&other, &change(&world, "p000").await).await;
    given::post(&world, "p101", "ann").await.expect(201);
    deliver(&other, &change(&world, "p101").await).await;
    leave_a_gap(&other, "p060").await;

    second.release();
    refill.await;
    assert_eq!(copy(&world, "p000").await["likeCount"], 1);
    the_feed_is_right(&world).await;
}

#[tokio::test]
async fn an_older_version_that_comes_while_the_feed_has_a_gap_does_not_fill_it() {
    let world = full_feed().await;
    let older = change(&world, "p000").await;
    given::like(&world, "p000", "bob").await.expect(201);
    deliver(&world, &change(&world, "p000").await).await;
    leave_a_gap(&world, "p050").await;
    deliver(&world, &older).await;
    assert_eq!(copy(&world, "p000").await["likeCount"], 1);
    the_feed_is_right(&world).await;
}
