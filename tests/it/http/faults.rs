//! What callers see of a store that is busy, away, or loses its answers.

use serde_json::{Value, json};
use tributary_local::cosmos::{
    Fault,
    RequestKind::{self, Batch, Create, Query, Read, Replace},
};

use crate::world::{Answer, World};

async fn world_with_a_post() -> World {
    let world = World::new().await;
    for (id, name) in [("ann", "Ann"), ("bob", "Bob")] {
        world.put(&format!("/api/users/{id}"), json!({"username": name})).await.expect(201);
    }
    let post = json!({"userId": "ann", "title": "T", "content": "C"});
    world.put("/api/posts/p", post).await.expect(201);
    world
}

fn problem(answer: Answer, status: u16) {
    let answer = answer.expect(status);
    assert_eq!(answer.header("content-type"), "application/problem+json");
    assert_eq!(answer.json()["status"], status);
    assert_eq!(answer.header("retry-after"), "1");
    assert!(!answer.text.contains("asked for"), "the store's words: {}", answer.text);
}

#[tokio::test]
async fn a_throttled_store_is_a_429_that_says_when_to_come_back() {
    let world = world_with_a_post().await;
    for (kind, path) in [(Read, "/api/posts/p"), (Query, "/api/posts/p/comments")] {
        world.endpoint.inject(Fault::Refused(429), kind, "posts", 1_000);
        problem(world.get(path).await, 429);
    }
    let comment = json!({"userId": "ann", "content": "Well."});
    problem(world.post("/api/posts/p/comments", comment).await, 429);
}

#[tokio::test]
async fn a_store_that_is_throttled_for_a_moment_is_waited_for() {
    let world = world_with_a_post().await;
    world.endpoint.inject(Fault::Refused(429), Read, "posts", 3);
    world.get("/api/posts/p").await.expect(200);
}

#[tokio::test]
async fn a_store_that_is_away_is_a_503() {
    let world = world_with_a_post().await;
    for kind in [Read, Query] {
        world.endpoint.inject(Fault::Refused(503), kind, "posts", 1_000);
    }
    problem(world.get("/api/posts/p").await, 503);
    problem(world.get("/api/posts/p/comments").await, 503);
    let text = json!({"userId": "ann", "title": "T", "content": "C"});
    problem(world.put("/api/posts/p", text).await, 503);
}

#[tokio::test]
async fn a_write_that_met_another_is_tried_again() {
    let world = world_with_a_post().await;
    for status in [449, 412] {
        world.endpoint.inject(Fault::Refused(status), Batch, "posts", 2);
        let comment = json!({"userId": "ann", "content": "Well."});
        world.post("/api/posts/p/comments", comment).await.expect(201);
        world.endpoint.inject(Fault::Refused(status), Replace, "posts", 2);
        let text = json!({"userId": "ann", "title": status.to_string(), "content": "C"});
        world.put("/api/posts/p", text).await.expect(200);
    }
    assert_eq!(world.get("/api/posts/p").await.expect(200).json()["commentCount"], 2);
}

#[tokio::test]
async fn a_logical_partition_that_is_full_is_a_507_that_says_what_to_do() {
    let world = world_with_a_post().await;
    let full = |kind| world.endpoint.inject(Fault::RefusedWith(403, 1014), kind, "posts", 1);
    let comment = json!({"userId": "ann", "content": "Well."});
    let text = json!({"userId": "ann", "title": "New", "content": "C"});
    for (kind, method, path, body) in [
        (Batch, "POST", "/api/posts/p/comments", Some(comment)),
        (Batch, "PUT", "/api/posts/p/likes/ann", None),
        (Replace, "PUT", "/api/posts/p", Some(text.clone())),
        (Create, "PUT", "/api/posts/q", Some(text)),
    ] {
        full(kind);
        let answer = world.call(method, path, &[], body).await.expect(507);
        let problem = answer.json();
        assert_eq!(answer.header("content-type"), "application/problem+json");
        assert_eq!(problem["type"], "urn:tributary:problem:partition-full");
        let detail = problem["detail"].as_str().unwrap();
        assert!(detail.contains("Delete"), "{problem}");
        // It is told of every domain.
        assert!(!detail.contains("user") && !detail.contains("post"), "{problem}");
    }
    // It is not sent again: that would not help.
    world.call("PUT", "/api/posts/p/likes/ann", &[], None).await.expect(201);
}

#[tokio::test]
async fn a_container_that_is_not_there_is_no_item_that_is_not_there() {
    let comment = json!({"userId": "ann", "content": "Well."});
    for (sub_status, kind, method, path, body) in [
        // No replica has the session.
        (1002, Read, "GET", "/api/posts/p", None),
        // There is no container.
        (1003, Read, "GET", "/api/posts/p", None),
        (1003, Query, "GET", "/api/posts/p/comments", None),
        (1003, Read, "POST", "/api/posts/p/comments", Some(comment)),
        (1003, Read, "DELETE", "/api/posts/p", None),
        (1003, Batch, "PUT", "/api/posts/p/likes/ann", None),
    ] {
        let world = world_with_a_post().await;
        world.endpoint.inject(Fault::RefusedWith(404, sub_status), kind, "posts", 1_000);
        problem(world.call(method, path, &[], body).await, 503);
    }
}

/// A command whose answer from the store is lost, and the status that it ends with all the same.
struct Lost {
    kind: RequestKind,
    container: &'static str,
    method: &'static str,
    path: &'static str,
    body: Value,
    status: u16,
}

#[tokio::test]
async fn a_command_whose_answer_was_lost_is_carried_out_once_and_answered_as_ever() {
    let text = |title: &str| json!({"userId": "ann", "title": title, "content": "C"});
    let name = |name: &str| json!({"username": name});
    let comment = json!({"userId": "bob", "content": "Well."});
    let lost = |kind, container, method, path, body, status| Lost {
        kind,
        container,
        method,
        path,
        body,
        status,
    };
    let world = world_with_a_post().await;
    for command in [
        lost(Create, "users", "POST", "/api/users", name("Cy"), 201),
        lost(Create, "users", "PUT", "/api/users/dan", name("Dan"), 201),
        lost(Replace, "users", "PUT", "/api/users/dan", name("Daniel"), 200),
        lost(Create, "posts", "POST", "/api/posts", text("new"), 201),
        lost(Create, "posts", "PUT", "/api/posts/q", text("new"), 201),
        lost(Replace, "posts", "PUT", "/api/posts/q", text("edited"), 200),
        lost(Batch, "posts", "POST", "/api/posts/q/comments", comment, 201),
        lost(Batch, "posts", "PUT", "/api/posts/q/likes/bob", Value::Null, 201),
        lost(Batch, "posts", "DELETE", "/api/posts/q/likes/bob", Value::Null, 204),
        lost(Replace, "posts", "DELETE", "/api/posts/q", Value::Null, 204),
    ] {
        let Lost { kind, container, method, path, body, status } = command;
        world.endpoint.inject(Fault::AnswerLost, kind, container, 1);
        let answer = world.call(method, path, &[], Some(body)).await;
        assert_eq!(answer.status.as_u16(), status, "{method} {path}: {}", answer.text);
        if path == "/api/posts/q/comments" {
            let post = world.get("/api/posts/q").await.expect(200).json();
            assert_eq!(post["commentCount"], 1);
            assert_eq!(world.list(path).await.len(), 1);
        }
    }
    world.get("/api/posts/q").await.expect(404);
    let posts = world.items("posts").await;
    assert_eq!(posts.iter().filter(|item| item["title"] == "new").count(), 1);
    let users = world.items("users").await;
    let named = |name: &str| users.iter().filter(|item| item["username"] == name).count();
    assert_eq!((named("Cy"), named("Daniel"), named("Dan")), (1, 1, 0));
    world.put("/api/users/eve", name("Cy")).await.expect(409);
}

#[tokio::test]
async fn a_conditional_put_whose_answer_was_lost_is_not_refused_for_its_own_write() {
    let text = |title: &str| json!({"userId": "ann", "title": title, "content": "C"});
    let name = |name: &str| json!({"username": name});
    for (kind, path, first, second, other) in [
        (Replace, "posts/p", None, text("ours"), text("theirs")),
        (Create, "posts/new", None, text("ours"), text("theirs")),
        (Replace, "posts/again", Some(text("gone")), text("ours"), text("theirs")),
        // A change of case, another name, and a new user.
        (Replace, "users/bob", None, name("BOB"), name("Bobby")),
        (Replace, "users/bob", None, name("Robert"), name("Bobby")),
        (Create, "users/cy", None, name("Cy"), name("Cyril")),
    ] {
        let path = &format!("/api/{path}");
        let world = world_with_a_post().await;
        if let Some(first) = first {
            world.put(path, first).await.expect(201);
            world.call("DELETE", path, &[], None).await.expect(204);
        }
        let before = world.get(path).await;
        let (condition, status) = match before.header("etag") {
            "" => ([("if-none-match", "*")], 201),
            etag => ([("if-match", etag)], 200),
        };
        let container = if path.starts_with("/api/users") { "users" } else { "posts" };
        let other_instance = world.second_instance().await;
        // The write is carried out, and another comes before the command looks at what it has done.
        let lost = async {
            let mut write = world.endpoint.hold(kind, container);
            write.arrived().await;
            if (kind, container) == (Create, "users") {
                // That was the reservation of the name.
                let user = world.endpoint.hold(kind, container);
                write.release();
                write = user;
                write.arrived().await;
            }
            world.endpoint.inject(Fault::AnswerLost, kind, container, 1);
            let mut look = world.endpoint.hold(Read, container);
            write.release();
            look.arrived().await;
            other_instance.put(path, other).await.expect(200);
            look.release();
        };
        let put = world.call("PUT", path, &condition, Some(second.clone()));
        let ((), answer) = futures::future::join(lost, put).await;
        assert_eq!(answer.status.as_u16(), status, "{path} {second}: {}", answer.text);
        // Another command under this condition is refused.
        world.call("PUT", path, &condition, Some(second)).await.expect(412);
    }
}

#[tokio::test]
async fn a_delete_of_what_is_not_there_is_a_404_however_often_the_store_was_away_before() {
    let world = world_with_a_post().await;
    let text = json!({"userId": "ann", "title": "T", "content": "C"});
    world.put("/api/posts/gone", text).await.expect(201);
    world.call("DELETE", "/api/posts/gone", &[], None).await.expect(204);
    for path in ["/api/posts/gone", "/api/posts/p/likes/bob", "/api/posts/p/comments/c"] {
        // The SDK tries again some of the times; then the command does.
        for times in 1..=8 {
            world.endpoint.inject(Fault::Refused(503), Read, "posts", times);
            let answer = world.call("DELETE", path, &[], None).await;
            assert_eq!(answer.status.as_u16(), 404, "{path}, {times}: {}", answer.text);
        }
    }
}
