//! One bad item among many: an item that no program can read, or that the store refuses. What stands
//! before and behind it is right in the end, and a dead letter names what is not.

use std::sync::Arc;

use serde_json::{Value, json};
use tributary_functions::projection::aggregate::{AggregateProjection, total};
use tributary_local::host::FeedOptions;

use super::feed_repairs::{full_feed, leave_a_gap};
use crate::{
    blog::{given, proofs::PostCounts},
    world::World,
};
use tributary_testing::proof::{provision, totals_container};

async fn deliver(world: &World, function: &str, change: &Value) {
    world.deliver(function, std::slice::from_ref(change)).await.unwrap();
}

/// The functions that have a dead letter.
async fn dead_letters(world: &World) -> Vec<String> {
    let letters = world.items("dead-letters").await;
    letters.iter().map(|letter| letter["function"].as_str().unwrap().to_owned()).collect()
}

/// A post of Ann that has her old name, and cannot be read.
fn unreadable_post() -> Value {
    json!({"id": "p50", "postId": "p50", "type": "post", "userId": "ann", "usernameVersion": 1,
        "creationDate": 17})
}

/// Ann with 120 posts, `p001` to `p120`, one of which cannot be read.
async fn posts_with_an_unreadable_one() -> World {
    let world = given::blog().await;
    world.delete("/api/posts/p1").await.expect(204);
    for n in 0..120 {
        given::post(&world, &format!("p{n:03}"), "ann").await.expect(201);
    }
    world.write_item("posts", &unreadable_post()).await;
    world
}

#[tokio::test]
async fn a_rename_reaches_all_items_but_one_that_cannot_be_read() {
    let world = posts_with_an_unreadable_one().await;
    given::user(&world, "ann", "Anna").await.expect(200);
    deliver(&world, "UsernamesInPosts", &world.item("users", "ann").await).await;
    for n in 0..120 {
        let post = world.item("posts", &format!("p{n:03}")).await;
        assert_eq!(post["userUsername"], "Anna", "{post}");
    }
    assert_eq!(dead_letters(&world).await, ["UsernamesInPosts"]);
    assert_eq!(world.item("posts", "p50").await["usernameVersion"], 1);
}

#[tokio::test]
async fn a_rename_reaches_all_items_but_one_that_is_too_large_with_it() {
    let world = given::blog().await;
    for n in 2..40 {
        given::post(&world, &format!("p{n}"), "ann").await.expect(201);
    }
    world.make_too_large("posts", "p20", "content").await;
    given::user(&world, "ann", "Anna").await.expect(200);
    deliver(&world, "UsernamesInPosts", &world.item("users", "ann").await).await;
    let posts = world.items("posts").await;
    let old = posts.iter().filter(|post| post["userUsername"] == "Ann");
    let old: Vec<_> = old.map(|post| &post["id"]).collect();
    assert_eq!(old, ["p20"]);
    assert_eq!(dead_letters(&world).await, ["UsernamesInPosts"]);
}

#[tokio::test]
async fn a_feed_is_filled_up_though_one_of_the_newest_posts_cannot_be_read() {
    let world = full_feed().await;
    let mut broken = world.item("posts", "p050").await;
    broken["title"] = json!(5);
    broken["id"] = json!("q050");
    broken["postId"] = json!("q050");
    world.write_item("posts", &broken).await;
    leave_a_gap(&world, "p099").await;
    given::post(&world, "p101", "ann").await.expect(201);
    deliver(&world, "HomeFeed", &world.item("posts", "p101").await).await;
    let feed = world.get("/api/feed").await.expect(200).json();
    let ids: Vec<_> = feed["items"].as_array().unwrap().iter().map(|one| &one["postId"]).collect();
    let wanted: Vec<Value> =
        (0..=101).rev().filter(|n| *n != 99).map(|n| json!(format!("p{n:03}"))).collect();
    assert_eq!(ids, wanted.iter().take(100).collect::<Vec<_>>());
    assert_eq!(dead_letters(&world).await, [""; 0]);
    assert_eq!(world.item("feed", "~head").await["refill"], false);
}

#[tokio::test]
async fn a_feed_is_filled_up_though_a_copy_in_it_cannot_be_read() {
    let world = full_feed().await;
    given::post(&world, "p101", "ann").await.expect(201);
    let p101 = world.item("posts", "p101").await;
    deliver(&world, "HomeFeed", &p101).await;
    // It is the next to come in, where something unreadable stands.
    world.write_item("feed", &json!({"id": "p001", "type": "post", "version": "x"})).await;
    leave_a_gap(&world, "p099").await;
    deliver(&world, "HomeFeed", &p101).await;
    let head = world.item("feed", "~head").await;
    assert_eq!((head["refill"].clone(), dead_letters(&world).await.len()), (json!(false), 0));
    let members = head["members"].as_array().unwrap();
    let ids: Vec<&str> = members.iter().map(|member| member["id"].as_str().unwrap()).collect();
    assert_eq!((ids.len(), ids[98], ids[99]), (100, "p002", "p000"));
    // The change of the post itself is a dead letter.
    deliver(&world, "HomeFeed", &world.item("posts", "p001").await).await;
    assert_eq!(dead_letters(&world).await, ["HomeFeed"]);
}

#[tokio::test]
async fn a_total_that_cannot_be_read_keeps_no_other_total_wrong() {
    let world = given::blog().await;
    provision(&world, &json!([totals_container("post-counts")])).await;
    let cosmos = World::cosmos(&world.endpoint).await;
    let counts = cosmos.container("post-counts");
    let one = world.instance_of(Arc::new(AggregateProjection(PostCounts::of(&cosmos)))).await;
    let pump = || world.pump_of(("PostCounts", "PostsIntegrity"), &one, &FeedOptions::default());
    let delivered = async || while pump().drain().await.unwrap() > 0 {};
    delivered().await;
    assert_eq!(total(&counts, "ann").await.unwrap(), 1);
    world.write_item("post-counts", &json!({"id": "total", "key": "ann", "value": "x"})).await;
    // The post comes again under another author.
    world.delete("/api/posts/p1").await.expect(204);
    given::post(&world, "p1", "bob").await.expect(201);
    delivered().await;
    assert_eq!(total(&counts, "bob").await.unwrap(), 1);
    assert_eq!(dead_letters(&world).await, ["PostCounts"]);
}

#[tokio::test]
async fn a_copy_that_cannot_be_read_keeps_no_other_copy_of_its_source_wrong() {
    let world = given::blog().await;
    deliver(&world, "PostCopiesInUsers", &world.item("posts", "p1").await).await;
    // The post comes again under another author, whose copy cannot be read.
    world.delete("/api/posts/p1").await.expect(204);
    given::post(&world, "p1", "bob").await.expect(201);
    world.write_item("users", &json!({"id": "post:p1", "userId": "bob", "version": "x"})).await;
    deliver(&world, "PostCopiesInUsers", &world.item("posts", "p1").await).await;
    assert_eq!(world.list("/api/users/ann/posts").await.len(), 0);
    assert_eq!(dead_letters(&world).await, ["PostCopiesInUsers"]);
}

#[tokio::test]
async fn a_removal_takes_children_that_cannot_be_read_with_the_others() {
    let world = given::blog().await;
    for n in 0..60 {
        let mut like = json!({
            "id": format!("like:u{n}"), "postId": "p1", "type": "like", "userId": format!("u{n}"),
            "userUsername": "U", "usernameVersion": 1, "postVersion": 1,
            "creationDate": "2026-11-21T09:25:54.120Z",
        });
        if n == 30 {
            like["userId"] = json!(5);
        }
        world.write_item("posts", &like).await;
    }
    world.delete("/api/posts/p1").await.expect(204);
    deliver(&world, "PostsIntegrity", &world.item("posts", "p1").await).await;
    let left = world.items("posts").await;
    assert_eq!(left.iter().filter(|item| item["type"] == "like").count(), 0);
    assert_eq!(dead_letters(&world).await, [""; 0]);
}
