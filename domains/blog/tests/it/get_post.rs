//! Q2: `GET /posts/{postId}`.

use super::given;
use crate::expect::{bad_fields, charged, date, is_etag, problem};

#[tokio::test]
async fn a_post_shows_its_counts_at_once() {
    let world = given::blog().await;
    let before = world.get("/api/posts/p1").await.expect(200);
    let comment = given::comment(&world, "p1", "bob", "Nice").await.expect(201);
    given::like(&world, "p1", "bob").await.expect(201);
    let after = world.get("/api/posts/p1").await.expect(200);
    assert_eq!(
        (after.json()["commentCount"].as_u64(), after.json()["likeCount"].as_u64()),
        (Some(1), Some(1))
    );
    assert_ne!(after.header("etag"), before.header("etag"));
    world.delete(comment.header("location")).await.expect(204);
    world.delete("/api/posts/p1/likes/bob").await.expect(204);
    assert_eq!(world.get("/api/posts/p1").await.expect(200).json(), before.json());
}

#[tokio::test]
async fn a_post_has_the_members_of_the_spec() {
    let world = given::blog().await;
    let answer = world.get("/api/posts/p1").await.expect(200);
    charged(&answer);
    is_etag(answer.header("etag"));
    insta::assert_json_snapshot!(answer.json(), {".creationDate" => date()}, @r#"
    {
      "commentCount": 0,
      "content": "A content",
      "creationDate": "[date]",
      "id": "p1",
      "likeCount": 0,
      "postId": "p1",
      "title": "A title",
      "userId": "ann",
      "userUsername": "Ann"
    }
    "#);
}

#[tokio::test]
async fn an_unknown_post_is_not_found() {
    let world = given::blog().await;
    for id in ["p2", "P1", "ann"] {
        let answer = world.get(&format!("/api/posts/{id}")).await;
        problem(&answer, 404);
        charged(&answer);
    }
}

#[tokio::test]
async fn a_comment_is_not_a_post() {
    let world = given::blog().await;
    let comment = given::comment(&world, "p1", "bob", "Nice").await.expect(201).json();
    problem(&world.get(&format!("/api/posts/{}", comment["id"].as_str().unwrap())).await, 404);
}

#[tokio::test]
async fn a_bad_id_is_refused() {
    let world = given::blog().await;
    for id in ["-p", "like:bob", "p%201", "%E2%82%AC", &"p".repeat(129)] {
        bad_fields(&world.get(&format!("/api/posts/{id}")).await);
    }
}
