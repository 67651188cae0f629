//! Q4: `GET /posts/{postId}/comments`.

use serde_json::json;

use super::given;
use crate::expect::{bad_fields, charged, problem};

#[tokio::test]
async fn comments_come_oldest_first_and_at_once() {
    let world = given::blog().await;
    let other = world.second_instance().await;
    let mut comments = Vec::new();
    for n in 0..7 {
        let answer = given::comment(&world, "p1", "bob", &format!("Comment {n}")).await.expect(201);
        comments.push(answer.json());
        let listed = other.get("/api/posts/p1/comments").await.expect(200).json();
        comments.sort_by_key(|comment| {
            (comment["creationDate"].to_string(), comment["id"].to_string())
        });
        assert_eq!(listed["items"].as_array().unwrap(), &comments);
        assert!(listed["nextCursor"].is_null());
    }
}

#[tokio::test]
async fn a_post_without_comments_has_an_empty_list() {
    let world = given::blog().await;
    given::like(&world, "p1", "bob").await.expect(201);
    let answer = world.get("/api/posts/p1/comments").await.expect(200);
    assert_eq!(answer.text, r#"{"items":[],"nextCursor":null}"#);
    assert_eq!(answer.header("content-type"), "application/json");
    charged(&answer);
}

#[tokio::test]
async fn a_list_shows_comments_as_they_are_read_one_by_one() {
    let world = given::blog().await;
    let comment = given::comment(&world, "p1", "bob", "Nice").await.expect(201).json();
    let listed = world.get("/api/posts/p1/comments").await.expect(200).json();
    assert_eq!(listed["items"], json!([comment]));
}

#[tokio::test]
async fn the_comments_of_an_unknown_post_are_not_found() {
    let world = given::blog().await;
    problem(&world.get("/api/posts/p2/comments").await, 404);
    bad_fields(&world.get("/api/posts/-p/comments").await);
}
