//! Commands of the blog whose answer from the store is lost.

use serde_json::{Value, json};
use tributary_local::cosmos::{
    Fault,
    RequestKind::{Batch, Create, Replace},
};

use crate::blog as given;

#[tokio::test]
async fn a_command_with_a_lost_answer_is_carried_out_once_and_answered() {
    let text = |title: &str| json!({"userId": "ann", "title": title, "content": "C"});
    let name = |name: &str| json!({"username": name});
    let comment = json!({"userId": "bob", "content": "Well."});
    let world = given::blog().await;
    for (kind, container, method, path, body, status) in [
        (Create, "users", "POST", "/api/users", name("Cy"), 201),
        (Create, "users", "PUT", "/api/users/dan", name("Dan"), 201),
        (Replace, "users", "PUT", "/api/users/dan", name("Daniel"), 200),
        (Create, "posts", "POST", "/api/posts", text("new"), 201),
        (Create, "posts", "PUT", "/api/posts/q", text("new"), 201),
        (Replace, "posts", "PUT", "/api/posts/q", text("edited"), 200),
        (Batch, "posts", "POST", "/api/posts/q/comments", comment, 201),
        (Batch, "posts", "PUT", "/api/posts/q/likes/bob", Value::Null, 201),
        (Batch, "posts", "DELETE", "/api/posts/q/likes/bob", Value::Null, 204),
        (Replace, "posts", "DELETE", "/api/posts/q", Value::Null, 204),
    ] {
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
