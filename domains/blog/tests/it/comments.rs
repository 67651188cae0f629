//! C3 and Q4: comments.

use serde_json::json;

use super::given::{self, comment, comment_once};
use crate::{
    budgets::budget,
    expect::{bad_fields, charged, created, is_timestamp, is_uuid_v7, problem},
};

#[tokio::test]
async fn a_comment_is_found_at_its_location_with_the_fields_of_the_server() {
    let world = given::blog().await;
    let body = json!({
        "userId": "bob", "content": "Nice", "id": "mine", "postId": "p9", "userUsername": "Eve",
        "creationDate": "2001-01-01T00:00:00.000Z", "type": "post", "unknown": null,
    });
    let answer = world.post("/api/posts/p1/comments", body).await;
    let id = answer.json()["id"].clone();
    let location = format!("/api/posts/p1/comments/{}", id.as_str().unwrap());
    let stored = created(&world, &answer, &location).await;
    assert!(stored["creationDate"].as_str().unwrap() > "2020");
    is_uuid_v7(&id);
    is_timestamp(&stored["creationDate"]);
    let expected = json!({"id": id, "postId": "p1", "userId": "bob", "userUsername": "Bob",
        "content": "Nice", "creationDate": stored["creationDate"]});
    assert_eq!(stored, expected);
    assert_eq!(given::counts(&world, "p1").await, [(1, 0), (1, 0)]);
}

#[tokio::test]
async fn an_unknown_post_or_user_is_not_found() {
    let world = given::blog().await;
    for (post_id, user_id) in [("p2", "bob"), ("p1", "nobody"), ("p2", "nobody")] {
        let comment = comment(&world, post_id, user_id, "Nice").await;
        for answer in [comment, given::like(&world, post_id, user_id).await] {
            problem(&answer, 404);
            charged(&answer);
        }
    }
    assert_eq!(given::counts(&world, "p1").await, [(0, 0), (0, 0)]);
}

#[tokio::test]
async fn the_same_key_is_the_same_comment_and_with_another_body_a_conflict() {
    let world = given::blog().await;
    let first = comment_once(&world, "key", "p1", "bob", "Nice").await.expect(201);
    let again = comment_once(&world.second_instance().await, "key", "p1", "bob", "Nice").await;
    assert_eq!((again.json(), again.header("etag")), (first.json(), first.header("etag")));
    problem(&comment_once(&world, "key", "p1", "bob", "Not nice").await, 409);
    assert_eq!(given::counts(&world, "p1").await, [(1, 0), (1, 0)]);
    // Fields that the server ignores do not make another body.
    let body = json!({"content": "Nice", "userId": "bob", "unknown": 1});
    let key = [("idempotency-key", "key")];
    world.call("POST", "/api/posts/p1/comments", &key, Some(body)).await.expect(201);
    assert_eq!(given::counts(&world, "p1").await, [(1, 0), (1, 0)]);
}

#[tokio::test]
async fn a_key_belongs_to_the_post_and_the_user() {
    let world = given::blog().await;
    given::post(&world, "p2", "ann").await.expect(201);
    let mut ids = Vec::new();
    for (key, post_id, user_id) in [
        ("key", "p1", "bob"),
        ("key", "p1", "ann"),
        ("key", "p2", "bob"),
        ("KEY", "p1", "bob"),
        ("key ", "p2", "ann"),
        ("bob key", "p1", "ann"),
    ] {
        let answer = comment_once(&world, key, post_id, user_id, "Nice").await.expect(201);
        ids.push(answer.json()["id"].as_str().unwrap().to_owned());
    }
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), 6);
    assert_eq!(given::counts(&world, "p1").await, [(4, 0), (4, 0)]);
}

#[tokio::test]
async fn a_post_that_is_repeated_after_a_delete_brings_no_comment_back() {
    let world = given::blog().await;
    let first = comment_once(&world, "key", "p1", "bob", "Nice").await.expect(201);
    world.delete(first.header("location")).await.expect(204);
    // The answer to the first was lost, and the comment was deleted meanwhile.
    for content in ["Nice", "Another"] {
        let again = comment_once(&world.second_instance().await, "key", "p1", "bob", content).await;
        assert!(problem(&again, 409)["detail"].as_str().unwrap().contains("deleted"));
    }
    assert_eq!(given::counts(&world, "p1").await, [(0, 0), (0, 0)]);
    comment_once(&world, "another key", "p1", "bob", "Nice").await.expect(201);
}

#[tokio::test]
async fn comments_come_oldest_first_and_likes_newest_first_and_at_once() {
    let world = given::blog().await;
    let other = world.second_instance().await;
    let mut comments = Vec::new();
    let mut likes = Vec::new();
    for n in 0..5 {
        let id = format!("u{n}");
        given::user(&world, &id, &id).await.expect(201);
        comments.push(comment(&world, "p1", &id, "Nice").await.expect(201).json());
        likes.insert(0, given::like(&world, "p1", &id).await.expect(201).json());
        assert_eq!(other.list("/api/posts/p1/comments").await, comments);
        assert_eq!(other.list("/api/posts/p1/likes").await, likes);
    }
}

#[tokio::test]
async fn a_parent_without_items_has_an_empty_list_and_an_unknown_one_none() {
    let world = given::blog().await;
    for (list, unknown) in [
        ("users/bob/posts", "users/nobody/posts"),
        ("posts/p1/comments", "posts/p2/comments"),
        ("posts/p1/likes", "posts/p2/likes"),
    ] {
        let answer = world.get(&format!("/api/{list}")).await.expect(200);
        assert_eq!(answer.text, r#"{"items":[],"nextCursor":null}"#);
        charged(&answer);
        problem(&world.get(&format!("/api/{unknown}")).await, 404);
    }
}

#[tokio::test]
async fn an_item_that_is_no_comment_of_the_post_is_not_found() {
    let world = given::blog().await;
    given::post(&world, "p2", "ann").await.expect(201);
    let comment = given::comment(&world, "p1", "bob", "Nice").await.expect(201).json();
    let id = comment["id"].as_str().unwrap();
    given::like(&world, "p1", "bob").await.expect(201);
    for path in [
        &format!("p2/comments/{id}"),
        &format!("p3/comments/{id}"),
        "p1/comments/p1",
        "p1/comments/bob",
    ] {
        problem(&world.get(&format!("/api/posts/{path}")).await, 404);
        let refused = world.delete(&format!("/api/posts/{path}")).await;
        problem(&refused, 404);
        charged(&refused);
    }
    assert_eq!(given::counts(&world, "p1").await, [(1, 1), (1, 1)]);
    for path in ["p1/comments/like:bob", "p1/comments/-", "-/comments/c"] {
        bad_fields(&world.delete(&format!("/api/posts/{path}")).await);
    }
}

#[tokio::test]
async fn a_delete_costs_its_budget() {
    let world = given::blog().await;
    let comment = given::comment(&world, "p1", "bob", "Nice").await.expect(201).json();
    let path = format!("/api/posts/p1/comments/{}", comment["id"].as_str().unwrap());
    let request = ("DELETE", path.as_str(), None);
    budget(&world, request, "2 requests, 13.90 RU: read posts, batch posts").await;
}
