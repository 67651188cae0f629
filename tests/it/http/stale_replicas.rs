//! The answers of an instance whose replica does not show the writes of another instance yet.

use serde_json::{Value, json};
use tributary_testing::{FrozenReplica, checks::at_other_instances};

use crate::expect::problem;
use crate::{blog as given, world::World};

/// The blog, as instances without its session see it from now on.
async fn frozen() -> (World, [FrozenReplica; 2]) {
    let world = given::blog().await;
    let frozen = ["users", "posts"].map(|container| world.stale_reads(container));
    (world, frozen)
}

fn text(user: &str, title: &str) -> Value {
    json!({"userId": user, "title": title, "content": "C"})
}

#[tokio::test]
async fn an_item_just_created_at_another_instance_is_found() {
    let (world, _frozen) = frozen().await;
    given::user(&world, "cy", "Cy").await.expect(201);
    given::post(&world, "p2", "cy").await.expect(201);
    given::like(&world, "p2", "bob").await.expect(201);
    let comment = given::comment(&world, "p2", "bob", "Nice").await.expect(201);
    let comment = comment.header("location");
    let says = |user: &str| Some(json!({"userId": user, "content": "Well."}));
    let requests = [
        ("GET", "/api/users/cy", None, 200),
        ("GET", "/api/users/cy/posts", None, 200),
        ("GET", "/api/posts/p2", None, 200),
        ("GET", "/api/posts/p2/comments", None, 200),
        ("GET", "/api/posts/p2/likes", None, 200),
        ("GET", "/api/posts/p2/likes/bob", None, 200),
        ("GET", comment, None, 200),
        ("POST", "/api/posts", Some(text("cy", "T")), 201),
        ("POST", "/api/posts/p1/comments", says("cy"), 201),
        ("POST", "/api/posts/p2/comments", says("ann"), 201),
        ("PUT", "/api/posts/p1/likes/cy", None, 201),
        ("PUT", "/api/posts/p2/likes/ann", None, 201),
        ("PUT", "/api/posts/p2/likes/bob", None, 200),
        ("DELETE", "/api/posts/p2/likes/bob", None, 204),
        ("DELETE", comment, None, 204),
        ("PUT", "/api/posts/p2", Some(text("cy", "edited")), 200),
        ("PUT", "/api/users/cy", Some(json!({"username": "Cyril"})), 200),
        ("DELETE", "/api/posts/p2", None, 204),
    ];
    at_other_instances(&world, requests).await;
}

#[tokio::test]
async fn no_command_is_refused_for_an_old_state() {
    let (world, _frozen) = frozen().await;
    let other = async || world.second_instance().await;

    // The ETag is of the newest state.
    let etag = world.put("/api/posts/p1", text("ann", "newer")).await.expect(200);
    let if_match = [("if-match", etag.header("etag"))];
    let body = Some(text("ann", "newest"));
    other().await.call("PUT", "/api/posts/p1", &if_match, body).await.expect(200);
    let etag = given::user(&world, "bob", "BOB").await.expect(200);
    let if_match = [("if-match", etag.header("etag"))];
    let body = Some(json!({"username": "bOb"}));
    other().await.call("PUT", "/api/users/bob", &if_match, body).await.expect(200);
    let like = given::like(&world, "p1", "bob").await.expect(201);
    let if_match = [("if-match", like.header("etag"))];
    let path = "/api/posts/p1/likes/bob";
    other().await.call("PUT", path, &if_match, None).await.expect(200);
    other().await.call("DELETE", path, &if_match, None).await.expect(204);

    // The post belongs to another user by now, and the name is free.
    world.delete("/api/posts/p1").await.expect(204);
    given::post(&world, "p1", "bob").await.expect(201);
    other().await.put("/api/posts/p1", text("bob", "edited")).await.expect(200);
    given::user(&world, "ann", "Anne").await.expect(200);
    given::user(&other().await, "cy", "Ann").await.expect(201);
}

#[tokio::test]
async fn an_edit_that_looks_unchanged_is_written_if_another_instance_has_changed_the_item() {
    let (world, frozen) = frozen().await;
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
