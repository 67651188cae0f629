//! Commands of the blog by signed-in users, beside the rules for every function.

use serde_json::json;
use tributary_local::cosmos::{Fault, RequestKind};

use super::blog;
use crate::{
    callers::{PRINCIPAL_ID, call_as},
    expect::problem,
};

#[tokio::test]
async fn a_missing_item_is_not_found_for_any_caller() {
    let (world, comment) = blog().await;
    for path in ["/api/posts/none", "/api/posts/p1/comments/none", "/api/posts/none/likes/eve"] {
        problem(&call_as(&world, Some("eve"), ("DELETE", path, None)).await, 404);
    }
    // The author of a post may not delete the comments of others.
    let path = format!("/api/posts/p1/comments/{comment}");
    problem(&call_as(&world, Some("ann"), ("DELETE", &path, None)).await, 403);
    // The condition of a caller without permission does not matter.
    let headers = [(PRINCIPAL_ID, "eve"), ("if-match", "\"another\"")];
    problem(&world.call("DELETE", "/api/posts/p1", &headers, None).await, 403);
    problem(&world.call("DELETE", &path, &headers, None).await, 403);
}

#[tokio::test]
async fn a_delete_whose_answer_was_lost_succeeds() {
    let (world, comment) = blog().await;
    let comment = format!("/api/posts/p1/comments/{comment}");
    for (kind, user, path) in [
        (RequestKind::Batch, "bob", comment.as_str()),
        (RequestKind::Batch, "bob", "/api/posts/p1/likes/bob"),
        (RequestKind::Replace, "ann", "/api/posts/p1"),
    ] {
        world.endpoint.inject(Fault::AnswerLost, kind, "posts", 1);
        call_as(&world, Some(user), ("DELETE", path, None)).await.expect(204);
        problem(&world.get(path).await, 404);
    }
}

#[tokio::test]
async fn the_post_of_another_user_is_not_taken_over() {
    let (world, _) = blog().await;
    let mine = json!({"userId": "bob", "title": "Mine", "content": "now"});
    problem(&call_as(&world, Some("bob"), ("PUT", "/api/posts/p1", Some(mine))).await, 409);
    assert_eq!(world.get("/api/posts/p1").await.expect(200).json()["userId"], "ann");
}

#[tokio::test]
async fn a_signed_in_caller_costs_a_read_only_if_the_author_is_looked_up() {
    let (world, comment) = blog().await;
    let cost = async |user, request| {
        let requests_before = world.endpoint.request_count();
        let answer = call_as(&world, Some(user), request).await;
        assert!(answer.status.is_success(), "{}", answer.text);
        let mut requests = world.endpoint.requests_since(requests_before);
        // The state of an eager projection is read every few seconds.
        requests.retain(|request| request.container != "projections");
        requests.len()
    };
    // Now the containers are known, and Ann has been seen.
    cost("ann", ("PUT", "/api/posts/p1/likes/ann", None)).await;
    let comment = format!("/api/posts/p1/comments/{comment}");
    assert_eq!(cost("cy", ("POST", "/api/users", Some(json!({"username": "Cy"})))).await, 3);
    assert_eq!(cost("bob", ("DELETE", &comment, None)).await, 3);
    assert_eq!(cost("bob", ("DELETE", "/api/posts/p1/likes/bob", None)).await, 2);
    // Two for the post, and two for its copy.
    assert_eq!(cost("ann", ("DELETE", "/api/posts/p1", None)).await, 4);
}
