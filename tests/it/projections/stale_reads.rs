//! Projections whose reads are answered by a replica that is behind: session tokens are not shared
//! between instances. Each story delivers a change to an instance that has seen nothing yet.

use serde_json::{Value, json};

use super::feed_repairs::{full_feed, the_feed_is_right};
use crate::{blog::given, world::World};

async fn deliver(world: &World, function: &str, change: Value) {
    world.deliver(function, &[change]).await.unwrap();
}

#[tokio::test]
async fn a_rename_is_not_lost_where_the_user_is_read_as_it_was() {
    let world = given::blog().await;
    let frozen = world.stale_reads("users");
    given::user(&world, "ann", "Anna").await.expect(200);
    let renamed = world.item("users", "ann").await;
    deliver(&world.second_instance().await, "UsernamesInPosts", renamed).await;
    drop(frozen);
    assert_eq!(world.item("posts", "p1").await["userUsername"], "Anna");
}

#[tokio::test]
async fn a_rename_finds_what_a_replica_does_not_show_yet() {
    let world = given::blog().await;
    let frozen = world.stale_reads("posts");
    // Bob has written nothing else: the write of another item would tell the rename of this one.
    given::post(&world, "p2", "bob").await.expect(201);
    given::user(&world, "bob", "Bobby").await.expect(200);
    let renamed = world.item("users", "bob").await;
    deliver(&world.second_instance().await, "UsernamesInPosts", renamed).await;
    drop(frozen);
    assert_eq!(world.item("posts", "p2").await["userUsername"], "Bobby");
}

#[tokio::test]
async fn what_is_created_under_an_old_name_gets_the_new_one_where_the_user_is_read_as_it_was() {
    let world = given::blog().await;
    // It remembers Ann.
    let second = world.second_instance().await;
    given::like(&second, "p1", "ann").await.expect(201);
    let frozen = world.stale_reads("users");
    given::user(&world, "ann", "Anna").await.expect(200);
    let post = given::post(&second, "p2", "ann").await.expect(201).json();
    assert_eq!(post["userUsername"], "Ann", "else this test shows nothing");
    let created = world.item("posts", "p2").await;
    deliver(&world.second_instance().await, "PostsIntegrity", created).await;
    drop(frozen);
    assert_eq!(world.item("posts", "p2").await["userUsername"], "Anna");
}

#[tokio::test]
async fn an_item_that_a_replica_does_not_show_yet_gets_the_new_name() {
    let world = given::blog().await;
    let second = world.second_instance().await;
    given::like(&second, "p1", "ann").await.expect(201);
    given::user(&world, "ann", "Anna").await.expect(200);
    let frozen = world.stale_reads("posts");
    given::post(&second, "p2", "ann").await.expect(201);
    let created = world.item("posts", "p2").await;
    deliver(&world.second_instance().await, "PostsIntegrity", created).await;
    drop(frozen);
    assert_eq!(world.item("posts", "p2").await["userUsername"], "Anna");
}

#[tokio::test]
async fn the_likes_of_a_deleted_post_go_where_a_replica_does_not_show_them_yet() {
    let world = given::blog().await;
    let frozen = world.stale_reads("posts");
    given::like(&world, "p1", "bob").await.expect(201);
    world.delete("/api/posts/p1").await.expect(204);
    let tombstone = world.item("posts", "p1").await;
    deliver(&world.second_instance().await, "PostsIntegrity", tombstone).await;
    drop(frozen);
    assert_eq!(world.item("posts", "like:bob").await, Value::Null);
}

#[tokio::test]
async fn a_text_that_the_host_rewrites_is_copied_where_the_post_is_read_as_it_was() {
    let world = given::blog().await;
    let frozen = world.stale_reads("posts");
    let edited = json!({"userId": "ann", "title": "2026-01-02T03:04:05Z", "content": "C"});
    world.put("/api/posts/p1", edited).await.expect(200);
    let edited = world.item("posts", "p1").await;
    for (function, container, copy) in
        [("PostCopiesInUsers", "users", "post:p1"), ("HomeFeed", "feed", "p1")]
    {
        deliver(&world.second_instance().await, function, edited.clone()).await;
        let copy = world.item(container, copy).await;
        assert_eq!(copy["title"], "2026-01-02T03:04:05Z", "{function}");
    }
    drop(frozen);
}

#[tokio::test]
async fn a_post_that_a_refill_has_taken_in_is_updated_where_the_head_is_read_as_it_was() {
    let world = full_feed().await;
    let frozen = world.stale_reads("feed");
    world.delete("/api/posts/p050").await.expect(204);
    deliver(&world, "HomeFeed", world.item("posts", "p050").await).await;
    given::like(&world, "p000", "bob").await.expect(201);
    let liked = world.item("posts", "p000").await;
    deliver(&world.second_instance().await, "HomeFeed", liked).await;
    drop(frozen);
    the_feed_is_right(&world).await;
}

#[tokio::test]
async fn a_refill_takes_the_newest_versions_where_a_replica_shows_older_ones() {
    let world = full_feed().await;
    let frozen = world.stale_reads("posts");
    given::like(&world, "p000", "bob").await.expect(201);
    deliver(&world, "HomeFeed", world.item("posts", "p000").await).await;
    world.delete("/api/posts/p050").await.expect(204);
    let tombstone = world.item("posts", "p050").await;
    deliver(&world.second_instance().await, "HomeFeed", tombstone).await;
    drop(frozen);
    the_feed_is_right(&world).await;
}

#[tokio::test]
async fn a_replay_applies_the_repaired_document_where_it_is_read_as_it_was() {
    let world = given::blog().await;
    let good = world.item("posts", "p1").await;
    let bad = json!({"id": "p1", "postId": "p1", "type": "poem"});
    world.write_item("posts", &bad).await;
    deliver(&world, "PostCopiesInUsers", bad).await;
    let letter = world.list("/api/dead-letters").await.remove(0);
    let frozen = world.stale_reads("posts");
    world.write_item("posts", &good).await;
    let path = format!("/api/dead-letters/{}/replay", letter["id"].as_str().unwrap());
    world.second_instance().await.post(&path, Value::Null).await.expect(200);
    drop(frozen);
    assert_eq!(world.list("/api/users/ann/posts").await.len(), 1);
}
