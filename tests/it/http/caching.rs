//! ETags and the conditions that callers make of them.

use serde_json::{Value, json};

use super::expect::{charged, is_etag, problem};
use crate::{blog::given, world::World};

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

async fn etag(world: &World, path: &str) -> String {
    let etag = world.get(path).await.expect(200).header("etag").to_owned();
    is_etag(&etag);
    etag
}

#[tokio::test]
async fn a_reader_who_has_the_item_gets_304_and_no_body() {
    let (world, comment) = blog().await;
    for path in [USER, POST, LIKE, &comment] {
        let etag = etag(&world, path).await;
        for value in [
            etag.clone(),
            format!("W/{etag}"),
            "*".into(),
            format!("\"0\", {etag}"),
            format!("\"0\",W/{etag} , \"1\""),
        ] {
            let answer =
                world.call("GET", path, &[("if-none-match", &value)], None).await.expect(304);
            assert_eq!((answer.text.as_str(), answer.header("etag")), ("", etag.as_str()));
            charged(&answer);
        }
        let twice = [("if-none-match", "\"0\""), ("if-none-match", etag.as_str())];
        world.call("GET", path, &twice, None).await.expect(304);
    }
}

#[tokio::test]
async fn a_reader_who_has_something_else_gets_the_item() {
    let (world, comment) = blog().await;
    for path in [USER, POST, LIKE, &comment] {
        for value in ["\"0\"", "W/\"0\"", "\"0\", \"1\"", "", "junk"] {
            let answer = world.call("GET", path, &[("if-none-match", value)], None).await;
            assert!(answer.expect(200).json().is_object());
        }
    }
    for path in ["/api/users/nobody", "/api/posts/p2", "/api/posts/p1/likes/ann"] {
        problem(&world.call("GET", path, &[("if-none-match", "*")], None).await, 404);
    }
}

#[tokio::test]
async fn an_etag_changes_with_the_item_only() {
    let (world, comment) = blog().await;
    for path in [USER, LIKE, &comment] {
        let before = etag(&world, path).await;
        given::like(&world, "p1", "ann").await.expect(201);
        assert_eq!(etag(&world, path).await, before);
        world.delete("/api/posts/p1/likes/ann").await.expect(204);
    }
    let before = etag(&world, POST).await;
    given::like(&world, "p1", "ann").await.expect(201);
    assert_ne!(etag(&world, POST).await, before);
}

/// PUTs to an item that exists, under conditions that do not hold and then under some that do.
async fn put_to_existing(path: &str, body: Option<Value>) {
    let (world, _) = blog().await;
    let current = etag(&world, path).await;
    let weak = format!("W/{current}");
    for header in [
        ("if-match", "\"0\""),
        ("if-match", "\"0\", \"1\""),
        // If-Match compares strongly (RFC 9110, section 13.1.1).
        ("if-match", &weak),
        ("if-none-match", "*"),
    ] {
        let answer = world.call("PUT", path, &[header], body.clone()).await;
        problem(&answer, 412);
        assert_eq!(etag(&world, path).await, current, "{header:?}");
    }
    let listed = format!("\"0\", {current}");
    world.call("PUT", path, &[("if-match", &listed)], body.clone()).await.expect(200);
    let current = etag(&world, path).await;
    world.call("PUT", path, &[("if-match", &current)], body.clone()).await.expect(200);
    world.call("PUT", path, &[("if-match", "*")], body.clone()).await.expect(200);
}

/// PUTs to an item that does not exist, under conditions that do not hold and then one that does.
async fn put_to_absent(path: &str, body: Option<Value>) {
    let (world, _) = blog().await;
    for value in ["*", "\"0\""] {
        problem(&world.call("PUT", path, &[("if-match", value)], body.clone()).await, 412);
        problem(&world.get(path).await, 404);
    }
    let only_new = [("if-none-match", "*")];
    world.call("PUT", path, &only_new, body.clone()).await.expect(201);
    problem(&world.call("PUT", path, &only_new, body.clone()).await, 412);
}

#[tokio::test]
async fn a_put_to_a_user_honours_conditions() {
    put_to_existing(USER, Some(user_body())).await;
}

#[tokio::test]
async fn a_put_to_a_post_honours_conditions() {
    put_to_existing(POST, Some(post_body())).await;
}

#[tokio::test]
async fn a_put_to_a_like_honours_conditions() {
    put_to_existing(LIKE, None).await;
}

#[tokio::test]
async fn a_put_to_a_user_who_does_not_exist_honours_conditions() {
    put_to_absent("/api/users/carl", Some(user_body())).await;
}

#[tokio::test]
async fn a_put_to_a_post_that_does_not_exist_honours_conditions() {
    put_to_absent("/api/posts/p2", Some(post_body())).await;
}

#[tokio::test]
async fn a_put_to_a_like_that_does_not_exist_honours_conditions() {
    put_to_absent("/api/posts/p1/likes/ann", None).await;
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
async fn a_delete_honours_conditions() {
    let (world, comment) = blog().await;
    // The post last: the others live under it.
    for path in [&comment, LIKE, POST] {
        let current = etag(&world, path).await;
        let weak = format!("W/{current}");
        for value in ["\"0\"", "\"0\", \"1\"", &weak] {
            problem(&world.call("DELETE", path, &[("if-match", value)], None).await, 412);
            assert_eq!(etag(&world, path).await, current);
        }
        let listed = format!("\"0\", {current}");
        world.call("DELETE", path, &[("if-match", &listed)], None).await.expect(204);
        for value in ["*", &current] {
            problem(&world.call("DELETE", path, &[("if-match", value)], None).await, 412);
        }
        problem(&world.delete(path).await, 404);
    }
}

#[tokio::test]
async fn a_delete_of_whatever_is_there_needs_something_there() {
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

#[tokio::test]
async fn refused_writes_leave_the_counts_alone() {
    let (world, comment) = blog().await;
    for path in [LIKE, &comment] {
        problem(&world.call("DELETE", path, &[("if-match", "\"0\"")], None).await, 412);
    }
    problem(
        &world.call("DELETE", "/api/posts/p1/likes/ann", &[("if-match", "*")], None).await,
        412,
    );
    assert_eq!(given::counts(&world, "p1").await, [(1, 1), (1, 1)]);
}

#[tokio::test]
async fn a_weak_tag_of_the_present_state_keeps_a_write_from_replacing_it() {
    // RFC 9110, 13.1.2: weak comparison for If-None-Match; 13.1.1: strong for If-Match.
    let (world, _) = blog().await;
    for (path, body) in [(USER, user_body()), (POST, post_body())] {
        let etag = etag(&world, path).await;
        for header in ["if-none-match", "if-match"] {
            let weak = format!("\"0\", W/{etag}");
            let answer = world.call("PUT", path, &[(header, &weak)], Some(body.clone())).await;
            problem(&answer, 412);
        }
        let other = [("if-none-match", "W/\"0\"")];
        world.call("PUT", path, &other, Some(body)).await.expect(200);
    }
}
