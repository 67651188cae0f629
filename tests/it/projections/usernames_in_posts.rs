use std::time::Duration;

use futures::FutureExt;
use serde_json::{Value, json};
use tributary_local::cosmos::RequestKind;

use crate::{blog as given, world::World};

#[tokio::test]
async fn a_new_name_reaches_all_posts_comments_and_likes_of_the_user() {
    let world = World::with_partitions(2).await;
    for (id, name) in [("ann", "Ann"), ("bob", "Bob")] {
        world.put(&format!("/api/users/{id}"), json!({"username": name})).await.expect(201);
    }
    for n in 0..12 {
        let author = ["ann", "bob"][n % 2];
        let post = json!({"userId": author, "title": "T", "content": "C"});
        world.put(&format!("/api/posts/p{n}"), post).await.expect(201);
        world.put(&format!("/api/posts/p{n}/likes/ann"), Value::Null).await.expect(201);
        let comment = json!({"userId": "ann", "content": "Well."});
        world.post(&format!("/api/posts/p{n}/comments"), comment).await.expect(201);
    }
    world.settle().await;
    world.put("/api/users/ann", json!({"username": "Anna"})).await.expect(200);
    world.settle().await;

    let name_of = |item: &Value| match item["userId"].as_str().unwrap() {
        "ann" => "Anna",
        _ => "Bob",
    };
    let mut items = world.list("/api/users/ann/posts").await;
    assert_eq!(items.len(), 6);
    items.extend(world.list("/api/users/bob/posts").await);
    items.extend_from_slice(
        world.get("/api/feed").await.expect(200).json()["items"].as_array().unwrap(),
    );
    for n in 0..12 {
        items.push(world.get(&format!("/api/posts/p{n}")).await.expect(200).json());
        items.extend(world.list(&format!("/api/posts/p{n}/comments")).await);
        items.extend(world.list(&format!("/api/posts/p{n}/likes")).await);
    }
    assert_eq!(items.len(), 12 + 12 + 12 + 12 + 12);
    for item in items {
        assert_eq!(item["userUsername"], name_of(&item), "{item}");
    }
    let post = world.get("/api/posts/p0").await.expect(200).json();
    assert_eq!((&post["commentCount"], &post["likeCount"]), (&json!(1), &json!(1)));
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
