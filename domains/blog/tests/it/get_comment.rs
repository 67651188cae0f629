//! `GET /posts/{postId}/comments/{commentId}`.

use super::given;
use crate::{
    budgets::budget,
    expect::{bad_fields, charged, problem},
};

#[tokio::test]
async fn a_comment_is_found_under_its_post_only() {
    let world = given::blog().await;
    given::post(&world, "p2", "ann").await.expect(201);
    let comment = given::comment(&world, "p1", "bob", "Nice").await.expect(201);
    let id = comment.json()["id"].as_str().unwrap().to_owned();
    let there = world.get(&format!("/api/posts/p1/comments/{id}")).await.expect(200);
    assert_eq!(there.json(), comment.json());
    charged(&there);
    for post_id in ["p2", "p3"] {
        problem(&world.get(&format!("/api/posts/{post_id}/comments/{id}")).await, 404);
    }
}

#[tokio::test]
async fn an_item_that_is_no_comment_is_not_found() {
    let world = given::blog().await;
    given::like(&world, "p1", "bob").await.expect(201);
    for id in ["none", "p1", "bob"] {
        problem(&world.get(&format!("/api/posts/p1/comments/{id}")).await, 404);
    }
}

#[tokio::test]
async fn bad_ids_are_refused() {
    let world = given::blog().await;
    for path in ["p1/comments/like:bob", "-p/comments/c", "p1/comments/%FF", "p1/comments/%00"] {
        bad_fields(&world.get(&format!("/api/posts/{path}")).await);
    }
    bad_fields(&world.get(&format!("/api/posts/p1/comments/{}", "c".repeat(129))).await);
    problem(&world.get(&format!("/api/posts/p1/comments/{}", "c".repeat(128))).await, 404);
}

#[tokio::test]
async fn the_requests_of_the_function_cost_their_budget() {
    let world = given::blog().await;
    let comment = given::comment(&world, "p1", "bob", "Nice").await.expect(201).json();
    let path = format!("/api/posts/p1/comments/{}", comment["id"].as_str().unwrap());
    let request = ("GET", path.as_str(), None);
    budget(&world, request, "2 requests, 2.00 RU: read posts, read posts").await;
}
