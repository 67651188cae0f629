use std::time::{Duration, SystemTime};

use serde_json::{Value, json};

use crate::{blog as given, world::World};

#[tokio::test]
async fn a_users_posts_follow_the_posts() {
    let world = World::new().await;
    world.put("/api/users/ann", json!({"username": "Ann"})).await.expect(201);
    for id in ["p1", "p2", "p3"] {
        let post = json!({"userId": "ann", "title": id, "content": "x".repeat(300)});
        world.put(&format!("/api/posts/{id}"), post).await.expect(201);
    }
    world.settle().await;

    let posts = world.list("/api/users/ann/posts").await;
    let ids: Vec<_> = posts.iter().map(|post| post["id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["p3", "p2", "p1"], "newest first");
    assert_eq!(posts[0]["content"], format!("{}…", "x".repeat(200)));

    world.put("/api/posts/p2/likes/ann", Value::Null).await.expect(201);
    let edited = json!({"userId": "ann", "title": "edited", "content": "short"});
    world.put("/api/posts/p2", edited).await.expect(200);
    world.delete("/api/posts/p1").await.expect(204);
    world.settle().await;

    let posts = world.list("/api/users/ann/posts").await;
    assert_eq!(posts.len(), 2);
    let whole = world.get("/api/posts/p2").await.expect(200).json();
    assert_eq!(posts[1], whole, "a short post is a post whose content is a summary");
    assert_eq!(whole["likeCount"], 1);
}

#[tokio::test]
async fn a_post_may_have_the_id_of_its_author() {
    let world = World::new().await;
    world.put("/api/users/ann", json!({"username": "Ann"})).await.expect(201);
    let post = json!({"userId": "ann", "title": "Me", "content": "and my post"});
    world.put("/api/posts/ann", post).await.expect(201);
    world.settle().await;
    assert_eq!(world.get("/api/users/ann").await.expect(200).json()["username"], "Ann");
    assert_eq!(world.list("/api/users/ann/posts").await[0]["id"], "ann");
}

#[tokio::test]
async fn a_text_that_looks_like_a_date_is_copied_as_it_is() {
    let date = "2026-11-21T09:25:54.120Z";
    for [name, title, content] in [[date, "T", "C"], ["Ann", date, "C"], ["Ann", "T", date]] {
        let world = World::new().await.with_host_that_parses_dates();
        world.put("/api/users/ann", json!({"username": name})).await.expect(201);
        let post = json!({"userId": "ann", "title": title, "content": content});
        world.put("/api/posts/p1", post).await.expect(201);
        world.settle().await;
        let whole = world.get("/api/posts/p1").await.expect(200).json();
        assert_eq!((&whole["title"], &whole["content"]), (&json!(title), &json!(content)));
        assert_eq!(world.list("/api/users/ann/posts").await, std::slice::from_ref(&whole));
        assert_eq!(world.list("/api/feed").await, [whole]);

        let renamed = "2026-11-21T09:25:54.000Z";
        world.put("/api/users/ann", json!({"username": renamed})).await.expect(200);
        world.settle().await;
        let post = world.get("/api/posts/p1").await.expect(200).json();
        assert_eq!(post["userUsername"], renamed);
        assert_eq!(world.list("/api/users/ann/posts").await[0]["userUsername"], renamed);
    }
}

#[tokio::test]
async fn a_post_that_is_written_again_by_another_leaves_its_first_author() {
    let world = World::new().await;
    for (id, name) in [("ann", "Ann"), ("bob", "Bob")] {
        world.put(&format!("/api/users/{id}"), json!({"username": name})).await.expect(201);
    }
    let post = |author: &str| json!({"userId": author, "title": author, "content": "C"});
    world.put("/api/posts/p", post("ann")).await.expect(201);
    let first = world.items("posts").await;
    world.settle().await;
    // The change feed shows only the latest version: not the delete.
    world.delete("/api/posts/p").await.expect(204);
    world.put("/api/posts/p", post("bob")).await.expect(201);
    world.settle().await;
    world.deliver("PostCopiesInUsers", &first).await.unwrap();
    assert!(world.list("/api/users/ann/posts").await.is_empty());
    assert_eq!(world.list("/api/users/bob/posts").await.len(), 1);
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
        world.deliver(function, std::slice::from_ref(&older)).await.unwrap();
    }
    assert!(world.list("/api/users/ann/posts").await.is_empty());
    assert!(world.list("/api/feed").await.is_empty());

    let expired = world.endpoint.expire_items(SystemTime::now() + 31 * DAY).await;
    assert_eq!(expired, 3, "no tombstone stays");
}
