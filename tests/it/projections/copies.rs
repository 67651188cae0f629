//! The copies of posts, and the names on posts, comments and likes.

use std::{
    slice,
    time::{Duration, SystemTime},
};

use serde_json::{Value, json};

use crate::{
    blog::{self as given, post, user},
    world::World,
};

fn text(user_id: &str, title: &str, content: &str) -> Value {
    json!({"userId": user_id, "title": title, "content": content})
}

fn ids(posts: &[Value]) -> Vec<&str> {
    posts.iter().map(|post| post["id"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn a_post_may_have_the_id_of_its_author() {
    let world = given::blog().await;
    post(&world, "bob", "bob").await.expect(201);
    world.settle().await;
    assert_eq!(world.get("/api/users/bob").await.expect(200).json()["username"], "Bob");
    assert_eq!(ids(&world.list("/api/users/bob/posts").await), ["bob"]);
}

#[tokio::test]
async fn a_text_that_looks_like_a_date_is_copied_as_it_is() {
    let date = "2026-11-21T09:25:54.120Z";
    for [name, title, content] in [[date, "T", "C"], ["Ann", date, "C"], ["Ann", "T", date]] {
        let world = World::new().await.with_host_that_parses_dates();
        user(&world, "ann", name).await.expect(201);
        world.put("/api/posts/p1", text("ann", title, content)).await.expect(201);
        world.settle().await;
        let whole = world.get("/api/posts/p1").await.expect(200).json();
        assert_eq!((&whole["title"], &whole["content"]), (&json!(title), &json!(content)));
        assert_eq!(world.list("/api/users/ann/posts").await, slice::from_ref(&whole));
        assert_eq!(world.list("/api/feed").await, [whole]);

        let renamed = "2026-11-21T09:25:54.000Z";
        user(&world, "ann", renamed).await.expect(200);
        world.settle().await;
        let post = world.get("/api/posts/p1").await.expect(200).json();
        assert_eq!(post["userUsername"], renamed);
        assert_eq!(world.list("/api/users/ann/posts").await[0]["userUsername"], renamed);
    }
}

#[tokio::test]
async fn a_deleted_post_does_not_come_back_for_thirty_days() {
    const DAY: Duration = Duration::from_hours(24);
    let world = given::blog().await;
    let older = world.item("posts", "p1").await;
    world.settle().await;
    world.delete("/api/posts/p1").await.expect(204);
    world.settle().await;
    world.endpoint.expire_items(SystemTime::now() + 29 * DAY).await;
    for function in ["PostCopiesInUsers", "HomeFeed"] {
        world.deliver(function, slice::from_ref(&older)).await.unwrap();
    }
    assert!(world.list("/api/users/ann/posts").await.is_empty());
    assert!(world.list("/api/feed").await.is_empty());
    let expired = world.endpoint.expire_items(SystemTime::now() + 31 * DAY).await;
    assert_eq!(expired, 3, "no tombstone stays");
}
