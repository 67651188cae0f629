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
