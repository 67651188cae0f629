//! The items of the blog under the conditions of their callers.

use serde_json::{Value, json};
use tributary_testing::checks::conditions::{self, etag};

use crate::expect::problem;
use crate::{blog as given, world::World};

const USER: &str = "/api/users/ann";
const POST: &str = "/api/posts/p1";
const LIKE: &str = "/api/posts/p1/likes/bob";

/// A blog with one item of each kind, and the path of its comment.
async fn blog() -> (World, String) {
    let world = given::blog().await;
    let comment = given::comment(&world, "p1", "bob", "Nice").await.expect(201);
    given::like(&world, "p1", "bob").await.expect(201);
    (world, comment.header("location").to_owned())
}

fn user_body() -> Value {
    json!({"username": "Anna"})
}

fn post_body() -> Value {
    json!({"userId": "ann", "title": "New", "content": "New"})
}

#[tokio::test]
async fn every_item_is_read_under_conditions() {
    let (world, comment) = blog().await;
    for path in [USER, POST, LIKE, &comment] {
        conditions::get(&world, path).await;
    }
    for path in ["/api/users/nobody", "/api/posts/p2", "/api/posts/p1/likes/ann"] {
        problem(&world.call("GET", path, &[("if-none-match", "*")], None).await, 404);
    }
}

#[tokio::test]
async fn every_put_to_an_item_honours_conditions() {
    for (path, body) in [(USER, Some(user_body())), (POST, Some(post_body())), (LIKE, None)] {
        conditions::put_to_existing(&blog().await.0, path, body).await;
    }
}

#[tokio::test]
async fn every_put_to_an_item_that_does_not_exist_honours_conditions() {
    let (world, _) = blog().await;
    conditions::put_to_absent(&world, "/api/users/carl", Some(user_body())).await;
    conditions::put_to_absent(&world, "/api/posts/p2", Some(post_body())).await;
    conditions::put_to_absent(&world, "/api/posts/p1/likes/ann", None).await;
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
async fn every_delete_honours_conditions() {
    let (world, comment) = blog().await;
    // The post goes last, since the others are below it.
    for path in [&comment, LIKE, POST] {
        conditions::delete(&world, path).await;
    }
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
