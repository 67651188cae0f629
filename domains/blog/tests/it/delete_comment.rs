//! `DELETE /posts/{postId}/comments/{commentId}`.

use futures::future::join_all;

use super::given;
use crate::{
    budgets::budget,
    expect::{bad_fields, charged, problem},
};

#[tokio::test]
async fn a_deleted_comment_is_gone_and_counted_off_at_once() {
    let world = given::blog().await;
    let comment = given::comment(&world, "p1", "bob", "Nice").await.expect(201);
    given::comment(&world, "p1", "ann", "Thanks").await.expect(201);
    let answer = world.delete(comment.header("location")).await.expect(204);
    assert_eq!(answer.text, "");
    charged(&answer);
    problem(&world.get(comment.header("location")).await, 404);
    assert_eq!(given::counts(&world, "p1").await, [(1, 0), (1, 0)]);
}

#[tokio::test]
async fn a_comment_deleted_twice_is_not_found() {
    let world = given::blog().await;
    let comment = given::comment(&world, "p1", "bob", "Nice").await.expect(201);
    world.delete(comment.header("location")).await.expect(204);
    problem(&world.delete(comment.header("location")).await, 404);
    assert_eq!(given::counts(&world, "p1").await, [(0, 0), (0, 0)]);
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
        problem(&world.delete(&format!("/api/posts/{path}")).await, 404);
    }
    assert_eq!(given::counts(&world, "p1").await, [(1, 1), (1, 1)]);
    for path in ["p1/comments/like:bob", "p1/comments/-", "-/comments/c"] {
        bad_fields(&world.delete(&format!("/api/posts/{path}")).await);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn of_many_deletes_of_one_comment_at_once_exactly_one_succeeds() {
    let world = given::blog().await;
    let other = world.second_instance().await;
    for _ in 0..10 {
        let comment = given::comment(&world, "p1", "bob", "Nice").await.expect(201);
        let deletes = (0..6).map(|k| {
            let world = if k % 2 == 0 { world.clone() } else { other.clone() };
            let path = comment.header("location").to_owned();
            tokio::spawn(async move { world.delete(&path).await })
        });
        let answers = join_all(deletes).await.into_iter().map(Result::unwrap);
        let (gone, not_found): (Vec<_>, Vec<_>) = answers.partition(|answer| answer.status == 204);
        assert_eq!(gone.len(), 1);
        for answer in &not_found {
            problem(answer, 404);
        }
    }
    assert_eq!(given::counts(&world, "p1").await, [(0, 0), (0, 0)]);
}

#[tokio::test]
async fn the_requests_of_the_function_cost_their_budget() {
    let world = given::blog().await;
    let comment = given::comment(&world, "p1", "bob", "Nice").await.expect(201).json();
    let path = format!("/api/posts/p1/comments/{}", comment["id"].as_str().unwrap());
    let request = ("DELETE", path.as_str(), None);
    budget(&world, request, "2 requests, 13.90 RU: read posts, batch posts").await;
}
