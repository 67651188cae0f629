//! Q5: `GET /posts/{postId}/likes`.

use serde_json::json;

use super::given;
use crate::expect::{bad_fields, charged, problem};

#[tokio::test]
async fn likes_come_newest_first_and_at_once() {
    let world = given::blog().await;
    let other = world.second_instance().await;
    let mut likes = Vec::new();
    for n in 0..7 {
        let id = format!("u{n}");
        given::user(&world, &id, &format!("User {n}")).await.expect(201);
        likes.push(given::like(&world, "p1", &id).await.expect(201).json());
        likes.sort_by_key(|like| {
            std::cmp::Reverse((like["creationDate"].to_string(), like["id"].to_string()))
        });
        let listed = other.get("/api/posts/p1/likes").await.expect(200).json();
        assert_eq!(listed["items"].as_array().unwrap(), &likes);
        assert!(listed["nextCursor"].is_null());
    }
}

#[tokio::test]
async fn a_post_without_likes_has_an_empty_list() {
    let world = given::blog().await;
    given::comment(&world, "p1", "bob", "Nice").await.expect(201);
    let answer = world.get("/api/posts/p1/likes").await.expect(200);
    assert_eq!(answer.text, r#"{"items":[],"nextCursor":null}"#);
    charged(&answer);
}

#[tokio::test]
async fn a_list_shows_likes_as_they_are_read_one_by_one() {
    let world = given::blog().await;
    let like = given::like(&world, "p1", "bob").await.expect(201).json();
    let listed = world.get("/api/posts/p1/likes").await.expect(200).json();
    assert_eq!(listed["items"], json!([like]));
}

#[tokio::test]
async fn the_likes_of_an_unknown_post_are_not_found() {
    let world = given::blog().await;
    problem(&world.get("/api/posts/p2/likes").await, 404);
    bad_fields(&world.get("/api/posts/-p/likes").await);
}
