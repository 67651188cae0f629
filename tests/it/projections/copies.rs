//! The copies of posts, and the names on posts, comments and likes.

use std::{
    slice,
    time::{Duration, SystemTime},
};

use futures::FutureExt;
use serde_json::{Value, json};
use tributary_local::cosmos::RequestKind;

use crate::{
    blog::{self as given, like, post, user},
    world::World,
};

fn text(user_id: &str, title: &str, content: &str) -> Value {
    json!({"userId": user_id, "title": title, "content": content})
}

fn ids(posts: &[Value]) -> Vec<&str> {
    posts.iter().map(|post| post["id"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn a_post_of_one_long_cluster_has_a_short_summary() {
    let world = given::blog().await;
    let content = format!("e{}", "\u{301}".repeat(262_143));
    world.put("/api/posts/p1", text("ann", "Zalgo", &content)).await.expect(200);
    world.settle().await;
    let summary = format!("e{}…", "\u{301}".repeat(4_095));
    for path in ["/api/feed", "/api/users/ann/posts"] {
        assert!(world.list(path).await[0]["content"] == summary.as_str(), "{path}");
    }
    let whole = world.get("/api/posts/p1").await.expect(200).json();
    assert!(whole["content"] == content.as_str());
}

#[tokio::test]
async fn a_users_posts_follow_the_posts() {
    let world = given::blog().await;
    for id in ["p2", "p3"] {
        let post = text("ann", id, &"x".repeat(300));
        world.put(&format!("/api/posts/{id}"), post).await.expect(201);
    }
    world.settle().await;
    let posts = world.list("/api/users/ann/posts").await;
    assert_eq!(ids(&posts), ["p3", "p2", "p1"], "newest first");
    assert_eq!(posts[0]["content"], format!("{}…", "x".repeat(200)));

    like(&world, "p2", "ann").await.expect(201);
    world.put("/api/posts/p2", text("ann", "edited", "short")).await.expect(200);
    world.delete("/api/posts/p1").await.expect(204);
    world.settle().await;
    let posts = world.list("/api/users/ann/posts").await;
    assert_eq!(ids(&posts), ["p3", "p2"]);
    let whole = world.get("/api/posts/p2").await.expect(200).json();
    assert_eq!(posts[1], whole, "a short post is a post whose content is a summary");
    assert_eq!(whole["likeCount"], 1);
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

#[tokio::test]
async fn a_post_that_is_written_all_the_time_delays_no_other_item_of_a_rename() {
    let world = given::blog().await;
    for id in ["bob0", "bob1"] {
        given::user(&world, id, id).await.expect(201);
    }
    given::comment(&world, "p1", "ann", "Well.").await.expect(201);
    given::user(&world, "ann", "Anna").await.expect(200);
    let mut users = world.items("users").await;
    users.retain(|item| item["id"] == "ann");
    // The host delivers the changes again that the rename could not apply at once.
    let hasty = world.with_budget(Duration::ZERO).await;
    let mut rename = hasty.deliver("UsernamesInPosts", &users).boxed_local();
    let hold = || world.endpoint.hold(RequestKind::Replace, "posts");
    // The post and the comment are written at the same time.
    let mut next = hold();
    let mut other = Some(hold());
    let mut likes = 0;
    let outcome = loop {
        let arrived = async {
            next.arrived().await;
            if let Some(other) = &mut other {
                other.arrived().await;
            }
        };
        tokio::select! {
            biased;
            () = arrived => {}
            outcome = &mut rename => break outcome,
        }
        likes += 1;
        assert!(likes < 30, "it goes on for ever");
        given::like(&world, "p1", &format!("bob{}", likes % 2)).await;
        world.delete(&format!("/api/posts/p1/likes/bob{}", (likes + 1) % 2)).await;
        next = hold();
        other = None;
    };
    assert!(outcome.is_err(), "it is not acknowledged");
    let names = async |world: &World| {
        let post = world.get("/api/posts/p1").await.expect(200).json();
        let comments = world.list("/api/posts/p1/comments").await;
        (post["userUsername"].clone(), comments[0]["userUsername"].clone())
    };
    assert_eq!(names(&world).await, (json!("Ann"), json!("Anna")));
    drop((rename, next));
    world.deliver("UsernamesInPosts", &users).await.unwrap();
    assert_eq!(names(&world).await, (json!("Anna"), json!("Anna")));
}
