//! Functions under the conditions of their callers.

use serde_json::{Value, json};
use tributary_testing::checks::conditions::{are_honoured, etag};

use crate::expect::problem;
use crate::{
    blog as given,
    world::{TestApp, World},
};

const POST: &str = "/api/posts/p1";
const LIKE: &str = "/api/posts/p1/likes/bob";

/// A blog with one item of each kind, and the path of its comment.
async fn blog() -> (World, String) {
    let world = given::blog().await;
    let comment = given::comment(&world, "p1", "bob", "Nice").await.expect(201);
    given::like(&world, "p1", "bob").await.expect(201);
    (world, comment.header("location").to_owned())
}

fn post_body() -> Value {
    json!({"userId": "ann", "title": "New", "content": "New"})
}

#[tokio::test]
async fn each_function_honours_the_conditions_that_it_takes() {
    are_honoured::<TestApp>().await;
}

#[tokio::test]
async fn a_put_to_a_deleted_post_honours_conditions() {
    let world = given::blog().await;
    let old = etag(&world, POST).await;
    world.delete(POST).await.expect(204);
    for value in ["*", &old] {
        problem(&world.call("PUT", POST, &[("if-match", value)], Some(post_body())).await, 412);
    }
    world.call("PUT", POST, &[("if-none-match", "*")], Some(post_body())).await.expect(201);
}

#[tokio::test]
async fn a_failed_precondition_comes_before_a_conflict() {
    let (world, _) = blog().await;
    let body = json!({"userId": "bob", "title": "T", "content": "C"});
    let answer = world.call("PUT", POST, &[("if-match", "\"0\"")], Some(body)).await;
    problem(&answer, 412);
}

#[tokio::test]
async fn a_delete_with_if_match_star_needs_an_item() {
    let (world, comment) = blog().await;
    for path in [&comment, LIKE, POST] {
        world.call("DELETE", path, &[("if-match", "*")], None).await.expect(204);
    }
    for path in [
        "/api/posts/p2",
        "/api/posts/p1/comments/c1",
        "/api/posts/p2/comments/c1",
        "/api/posts/p1/likes/ann",
        "/api/posts/p2/likes/ann",
    ] {
        for value in ["*", "\"0\""] {
            problem(&world.call("DELETE", path, &[("if-match", value)], None).await, 412);
        }
    }
}
