//! Commands of the blog whose answer from the store is lost.

use serde_json::{Value, json};
use tributary_local::cosmos::{
    Fault,
    RequestKind::{self, Batch, Create, Replace},
};

use crate::world::World;

async fn world_with_a_post() -> World {
    let world = World::new().await;
    for (id, name) in [("ann", "Ann"), ("bob", "Bob")] {
        world.put(&format!("/api/users/{id}"), json!({"username": name})).await.expect(201);
    }
    let post = json!({"userId": "ann", "title": "T", "content": "C"});
    world.put("/api/posts/p", post).await.expect(201);
    world
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
async fn a_command_with_a_lost_answer_is_carried_out_once_and_answered() {
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
