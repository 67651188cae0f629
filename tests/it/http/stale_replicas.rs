//! The answers of an instance whose replica does not show the writes of another instance yet.

use serde_json::{Value, json};
use tributary_testing::checks::stale_replicas_refuse_nothing;

use crate::{blog as given, expect::problem, world::TestApp};

fn text(user: &str, title: &str) -> Value {
    json!({"userId": user, "title": title, "content": "C"})
}

#[tokio::test]
async fn no_request_is_refused_for_the_state_of_a_stale_replica() {
    stale_replicas_refuse_nothing::<TestApp>().await;
}

#[tokio::test]
async fn no_command_is_refused_for_an_old_state() {
    let world = given::blog().await;
    let _frozen = ["users", "posts"].map(|container| world.stale_reads(container));
    let other = async || world.second_instance().await;
    // The post belongs to another user by now, and the name is free.
    world.delete("/api/posts/p1").await.expect(204);
    given::post(&world, "p1", "bob").await.expect(201);
    other().await.put("/api/posts/p1", text("bob", "edited")).await.expect(200);
    given::user(&world, "ann", "Anne").await.expect(200);
    given::user(&other().await, "cy", "Ann").await.expect(201);
}

#[tokio::test]
async fn an_edit_that_looks_unchanged_is_written_if_another_instance_has_changed_the_item() {
    let world = given::blog().await;
    let frozen = ["users", "posts"].map(|container| world.stale_reads(container));
    let other = world.second_instance().await;
    world.put("/api/posts/p1", text("ann", "newer")).await.expect(200);
    given::user(&world, "bob", "Robert").await.expect(200);

    // The replica still shows this state.
    given::post(&other, "p1", "ann").await.expect(200);
    given::user(&other, "bob", "Bob").await.expect(200);
    let world = world.second_instance().await;
    drop(frozen);
    assert_eq!(world.get("/api/posts/p1").await.json()["title"], "A title");
    assert_eq!(world.get("/api/users/bob").await.json()["username"], "Bob");
}

#[tokio::test]
async fn a_command_that_is_repeated_after_a_restart_is_known_also_behind_a_stale_replica() {
    let world = given::blog().await;
    let comment = given::comment(&world, "p1", "bob", "Nice").await.expect(201);
    given::like(&world, "p1", "bob").await.expect(201);
    let _frozen = ["users", "posts"].map(|container| world.stale_reads(container));
    for path in [comment.header("location"), "/api/posts/p1/likes/bob", "/api/posts/p1"] {
        let delete = ("DELETE", path);
        world.invoke(path, delete).await.expect(204);
        world.second_instance().await.invoke(path, delete).await.expect(204);
        problem(&world.second_instance().await.delete(path).await, 404);
    }
}

#[tokio::test]
async fn a_repeated_like_or_comment_on_a_post_deleted_at_another_instance_finds_no_post() {
    let world = given::blog().await;
    let key = [("idempotency-key", "k")];
    let comment = json!({"userId": "bob", "content": "Nice"});
    let path = "/api/posts/p1/comments";
    world.call("POST", path, &key, Some(comment.clone())).await.expect(201);
    given::like(&world, "p1", "bob").await.expect(201);
    let _frozen = world.stale_reads("posts");
    world.delete("/api/posts/p1").await.expect(204);
    // Its comments and likes are there until the change feed removes them.
    let behind = world.second_instance().await;
    problem(&behind.call("PUT", "/api/posts/p1/likes/bob", &[], None).await, 404);
    let behind = world.second_instance().await;
    problem(&behind.call("POST", path, &key, Some(comment)).await, 404);
}
