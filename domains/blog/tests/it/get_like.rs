//! `GET /posts/{postId}/likes/{userId}`.

use super::given;
use crate::expect::{bad_fields, charged, is_etag, problem};

#[tokio::test]
async fn a_like_is_found_by_its_post_and_user() {
    let world = given::blog().await;
    let like = given::like(&world, "p1", "bob").await.expect(201);
    let there = world.get("/api/posts/p1/likes/bob").await.expect(200);
    assert_eq!(there.json(), like.json());
    is_etag(there.header("etag"));
    charged(&there);
}

#[tokio::test]
async fn a_missing_like_is_not_found() {
    let world = given::blog().await;
    given::like(&world, "p1", "bob").await.expect(201);
    for path in ["p1/likes/ann", "p1/likes/nobody", "p2/likes/bob", "p1/likes/BOB"] {
        let answer = world.get(&format!("/api/posts/{path}")).await;
        problem(&answer, 404);
        charged(&answer);
    }
}

#[tokio::test]
async fn bad_ids_are_refused() {
    let world = given::blog().await;
    for path in ["-p/likes/bob", "p1/likes/like:bob", "p1/likes/%F0%9F", "p1/likes/b%09"] {
        bad_fields(&world.get(&format!("/api/posts/{path}")).await);
    }
}
