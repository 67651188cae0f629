//! `DELETE /posts/{postId}/likes/{userId}`.

use super::given;
use crate::expect::{bad_fields, charged, created, problem};

#[tokio::test]
async fn a_like_taken_back_is_gone_and_counted_off_at_once() {
    let world = given::blog().await;
    given::like(&world, "p1", "ann").await.expect(201);
    given::like(&world, "p1", "bob").await.expect(201);
    let answer = world.delete("/api/posts/p1/likes/bob").await.expect(204);
    assert_eq!(answer.text, "");
    charged(&answer);
    problem(&world.get("/api/posts/p1/likes/bob").await, 404);
    assert_eq!(given::counts(&world, "p1").await, [(0, 1), (0, 1)]);
}

#[tokio::test]
async fn a_like_taken_back_twice_is_not_found() {
    let world = given::blog().await;
    given::like(&world, "p1", "bob").await.expect(201);
    world.delete("/api/posts/p1/likes/bob").await.expect(204);
    problem(&world.delete("/api/posts/p1/likes/bob").await, 404);
    for path in ["p1/likes/ann", "p1/likes/nobody", "p2/likes/bob"] {
        problem(&world.delete(&format!("/api/posts/{path}")).await, 404);
    }
    assert_eq!(given::counts(&world, "p1").await, [(0, 0), (0, 0)]);
}

#[tokio::test]
async fn a_like_can_be_given_again() {
    let world = given::blog().await;
    for _ in 0..3 {
        let answer = given::like(&world, "p1", "bob").await;
        created(&world, &answer, "/api/posts/p1/likes/bob").await;
        assert_eq!(given::counts(&world, "p1").await, [(0, 1), (0, 1)]);
        world.delete("/api/posts/p1/likes/bob").await.expect(204);
        assert_eq!(given::counts(&world, "p1").await, [(0, 0), (0, 0)]);
    }
}

#[tokio::test]
async fn bad_ids_are_refused() {
    let world = given::blog().await;
    for path in ["-p/likes/bob", "p1/likes/b%20b", "p1/likes/-"] {
        bad_fields(&world.delete(&format!("/api/posts/{path}")).await);
    }
}
