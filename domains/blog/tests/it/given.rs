//! Worlds in which stories begin, and short functions for their requests.

use serde_json::json;

use crate::world::{Answer, World};

pub(crate) async fn blog() -> World {
    let world = World::new().await;
    user(&world, "ann", "Ann").await.expect(201);
    user(&world, "bob", "Bob").await.expect(201);
    post(&world, "p1", "ann").await.expect(201);
    world
}

pub(crate) async fn user(world: &World, id: &str, name: &str) -> Answer {
    world.put(&format!("/api/users/{id}"), json!({"username": name})).await
}

pub(crate) async fn post(world: &World, id: &str, user_id: &str) -> Answer {
    let body = json!({"userId": user_id, "title": "A title", "content": "A content"});
    world.put(&format!("/api/posts/{id}"), body).await
}

pub(crate) async fn comment(world: &World, post_id: &str, user_id: &str, content: &str) -> Answer {
    let body = json!({"userId": user_id, "content": content});
    world.post(&format!("/api/posts/{post_id}/comments"), body).await
}

pub(crate) async fn comment_once(
    world: &World,
    key: &str,
    post_id: &str,
    user_id: &str,
    content: &str,
) -> Answer {
    let body = json!({"userId": user_id, "content": content});
    let path = format!("/api/posts/{post_id}/comments");
    world.call("POST", &path, &[("idempotency-key", key)], Some(body)).await
}

pub(crate) async fn like(world: &World, post_id: &str, user_id: &str) -> Answer {
    world.call("PUT", &format!("/api/posts/{post_id}/likes/{user_id}"), &[], None).await
}

pub(crate) async fn counts(world: &World, post_id: &str) -> [(u64, u64); 2] {
    let path = format!("/api/posts/{post_id}");
    let post = world.get(&path).await.expect(200).json();
    let comments = world.list_by(&format!("{path}/comments"), 100).await.len();
    let likes = world.list_by(&format!("{path}/likes"), 100).await.len();
    [
        (post["commentCount"].as_u64().unwrap(), post["likeCount"].as_u64().unwrap()),
        (comments as u64, likes as u64),
    ]
}
