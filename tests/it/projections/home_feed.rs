use futures::future::join_all;
use serde_json::{Value, json};

use crate::world::World;

async fn write_posts(world: &World, numbers: std::ops::Range<u32>) {
    for n in numbers {
        let post = json!({"userId": "ann", "title": format!("Post {n}"), "content": "…"});
        world.put(&format!("/api/posts/p{n:03}"), post).await.expect(201);
    }
}

async fn feed(world: &World) -> Vec<Value> {
    world.get("/api/feed").await.expect(200).json()["items"].as_array().unwrap().clone()
}

fn ids(posts: &[Value]) -> Vec<&str> {
    posts.iter().map(|post| post["id"].as_str().unwrap()).collect()
}

/// The ids of the newest of the posts that exist.
async fn newest(world: &World) -> Vec<String> {
    let mut posts: Vec<_> = world.items("posts").await;
    posts.retain(|item| item["type"] == "post");
    posts.sort_by_key(|post| (post["creationDate"].to_string(), post["id"].to_string()));
    posts.iter().rev().take(100).map(|post| post["id"].as_str().unwrap().to_owned()).collect()
}

async fn world_with_ann() -> World {
    let world = World::with_partitions(3).await;
    world.put("/api/users/ann", json!({"username": "Ann"})).await.expect(201);
    world
}

#[tokio::test]
async fn the_feed_holds_the_hundred_newest_posts() {
    let world = world_with_ann().await;
    write_posts(&world, 0..130).await;
    world.settle().await;
    assert_eq!(ids(&feed(&world).await), newest(&world).await);
    let three = world.get("/api/feed?limit=3").await.expect(200).json();
    assert_eq!(ids(three["items"].as_array().unwrap()), newest(&world).await[..3]);
    let stored = world.items("feed").await;
    let copies = stored.iter().filter(|item| !item["creationDate"].is_null()).count();
    assert_eq!(copies, 100, "what left the feed is gone");
}

#[tokio::test]
async fn a_post_of_one_long_cluster_has_a_short_summary() {
    let world = world_with_ann().await;
    let content = format!("e{}", "\u{301}".repeat(262_143));
    let post = json!({"userId": "ann", "title": "Zalgo", "content": content});
    world.put("/api/posts/p", post).await.expect(201);
    world.settle().await;
    let summary = format!("e{}…", "\u{301}".repeat(4_095));
    for path in ["/api/feed", "/api/users/ann/posts"] {
        let page = world.get(path).await.expect(200).json();
        assert!(page["items"][0]["content"] == summary.as_str(), "{path}");
    }
    let whole = world.get("/api/posts/p").await.expect(200).json();
    assert!(whole["content"] == content.as_str());
}

#[tokio::test]
async fn likes_and_edits_evict_nothing() {
    let world = world_with_ann().await;
    write_posts(&world, 0..105).await;
    world.settle().await;
    let (before, untouched) = (newest(&world).await, head(&world).await);
    world.put("/api/posts/p050/likes/ann", Value::Null).await.expect(201);
    let edited = json!({"userId": "ann", "title": "Edited", "content": "…"});
    world.put("/api/posts/p060", edited.clone()).await.expect(200);
    world.put("/api/posts/p001", edited).await.expect(200);
    world.settle().await;
    let feed = feed(&world).await;
    assert_eq!(ids(&feed), before);
    assert_eq!(head(&world).await, untouched, "not even written again");
    let liked = feed.iter().find(|post| post["id"] == "p050").unwrap();
    assert_eq!(liked["likeCount"], 1);
    assert_eq!(feed.iter().find(|post| post["id"] == "p060").unwrap()["title"], "Edited");
}

#[tokio::test]
async fn a_delete_lets_the_next_post_move_up() {
    let world = world_with_ann().await;
    write_posts(&world, 0..110).await;
    world.settle().await;
    for id in ["p109", "p050", "p020", "p003"] {
        world.delete(&format!("/api/posts/{id}")).await.expect(204);
    }
    world.settle().await;
    let feed = feed(&world).await;
    assert_eq!(feed.len(), 100);
    assert_eq!(ids(&feed), newest(&world).await);
    assert_eq!(head(&world).await["refill"], false, "it is full again");

    // The last seven leave fewer posts than the feed holds.
    for n in 100..107 {
        world.delete(&format!("/api/posts/p{n}")).await.expect(204);
    }
    world.settle().await;
    assert_eq!(members(&world).await, newest(&world).await);
    assert_eq!(head(&world).await["refill"], false, "there is nothing to fill it up with");
}

#[tokio::test]
async fn of_posts_of_one_moment_the_last_by_id_move_up() {
    let world = world_with_ann().await;
    let posts = world.container("posts").await;
    // The moment of the 20 oldest: which of them fill the feed up is decided by their ids.
    for n in 0..120_u32 {
        let (id, second) = (format!("p{:03}", n * 7 % 120), if n * 7 % 120 < 20 { 0 } else { n });
        let post = json!({
            "id": id, "postId": id, "type": "post", "userId": "ann", "userUsername": "Ann",
            "title": "T", "content": "C", "commentCount": 0, "likeCount": 0, "version": 1,
            "usernameVersion": 1,
            "creationDate": format!("2026-11-21T09:{:02}:{:02}.120Z", second / 60, second % 60),
        });
        posts.create_item(id.clone(), &id, &post, None).await.unwrap();
    }
    world.settle().await;
    assert_eq!(ids(&feed(&world).await), newest(&world).await);
    for n in [100, 101, 102] {
        world.delete(&format!("/api/posts/p{n:03}")).await.expect(204);
    }
    world.settle().await;
    let feed = feed(&world).await;
    assert_eq!(ids(&feed)[97..], ["p019", "p018", "p017"]);
    assert_eq!(ids(&feed), newest(&world).await);
}

#[tokio::test]
async fn a_post_that_was_deleted_and_written_again_is_as_new_as_it_is() {
    let world = world_with_ann().await;
    write_posts(&world, 0..100).await;
    world.settle().await;
    // The change feed shows only the latest version: not the delete.
    world.delete("/api/posts/p003").await.expect(204);
    write_posts(&world, 3..4).await;
    world.settle().await;
    write_posts(&world, 100..110).await;
    world.settle().await;
    let feed = feed(&world).await;
    assert!(ids(&feed).contains(&"p003"));
    assert_eq!(ids(&feed), newest(&world).await);
}

#[tokio::test]
async fn a_copy_that_the_head_does_not_know_becomes_a_member_when_it_belongs() {
    let world = world_with_ann().await;
    write_posts(&world, 0..101).await;
    world.settle().await;
    let oldest = world.items("posts").await.into_iter().find(|item| item["id"] == "p000").unwrap();
    let mut stray = oldest;
    stray["type"] = json!("post");
    world.container("feed").await.create_item("post", "p000", &stray, None).await.unwrap();
    world.delete("/api/posts/p050").await.expect(204);
    world.settle().await;
    let feed = feed(&world).await;
    assert_eq!(ids(&feed), newest(&world).await);
    assert!(ids(&feed).contains(&"p000"));
    assert_eq!(members(&world).await, newest(&world).await, "else nobody would take it out again");
}

/// The head of the feed, as it is stored.
async fn head(world: &World) -> Value {
    let stored = world.items("feed").await;
    stored.into_iter().find(|item| item["id"] == "~head").unwrap()
}

/// The ids of the members, as the head lists them.
async fn members(world: &World) -> Vec<String> {
    let head = head(world).await;
    let members = head["members"].as_array().unwrap().iter();
    members.map(|member| member["id"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_instances_that_work_on_the_feed_at_once_agree() {
    let world = world_with_ann().await;
    write_posts(&world, 0..110).await;
    world.settle().await;
    let second = world.second_instance().await;
    for round in 0..3 {
        let first_new = 110 + round * 20;
        write_posts(&world, first_new..first_new + 20).await;
        world.delete(&format!("/api/posts/p{:03}", 40 + round * 17)).await.expect(204);
        let changes = world.items("posts").await;
        let deliveries: Vec<_> = changes
            .chunks(10)
            .enumerate()
            .flat_map(|(n, batch)| {
                let (one, other) = if n % 2 == 0 { (&world, &second) } else { (&second, &world) };
                [(one.clone(), batch.to_vec()), (other.clone(), batch.to_vec())]
            })
            .map(|(instance, batch)| {
                tokio::spawn(async move { instance.deliver("HomeFeed", &batch).await })
            })
            .collect();
        for outcome in join_all(deliveries).await {
            outcome.unwrap().unwrap();
        }
        assert_eq!(ids(&feed(&world).await), newest(&world).await, "round {round}");
        assert_eq!(members(&world).await, newest(&world).await, "round {round}");
    }
}
