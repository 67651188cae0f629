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
