//! Deleted posts with more comments and likes than one delivery removes.

use std::time::Duration;

use azure_data_cosmos::TransactionalBatch;
use serde_json::{Value, json};
use tributary_functions::{app::AppOptions, projection::BackgroundOptions};

use crate::{blog as given, expect::problem, world::World};

async fn deleted_post(likes: usize) -> World {
    let world = given::blog().await;
    let posts = world.container("posts").await;
    let ids: Vec<_> = (0..likes).collect();
    for ids in ids.chunks(100) {
        let like = |batch: TransactionalBatch, n: &usize| {
            let like = json!({
                "id": format!("like:u{n}"), "postId": "p1", "type": "like",
                "userId": format!("u{n}"), "userUsername": "U", "usernameVersion": 1,
                "postVersion": 1, "creationDate": "2026-11-21T09:25:54.120Z",
            });
            batch.create_item(&like).unwrap()
        };
        let batch = ids.iter().fold(TransactionalBatch::new("p1"), like);
        posts.execute_transactional_batch(batch, None).await.unwrap();
    }
    world.delete("/api/posts/p1").await.expect(204);
    world
}

/// An instance that gives each change no time at all.
async fn hasty(world: &World) -> World {
    let background = BackgroundOptions { slice: Duration::ZERO, ..World::options().background };
    world.with_app(AppOptions { background, ..World::options() }).await
}

async fn likes(world: &World) -> usize {
    world.items("posts").await.iter().filter(|item| item["type"] == "like").count()
}

async fn tombstone(world: &World) -> Value {
    let items = world.items("posts").await;
    items.into_iter().find(|item| item["type"] == "deletedPost").unwrap()
}

async fn deliver(world: &World, tombstone: &Value) {
    world.deliver("PostsIntegrity", std::slice::from_ref(tombstone)).await.unwrap();
}

#[tokio::test]
async fn a_long_removal_continues_when_its_tombstone_is_delivered_later() {
    let world = deleted_post(120).await;
    let hasty = hasty(&world).await;
    let mut left = vec![likes(&world).await];
    let mut now = tombstone(&world).await;
    loop {
        deliver(&hasty, &now).await;
        left.push(likes(&world).await);
        let before = std::mem::replace(&mut now, tombstone(&world).await);
        assert_eq!((&now["version"], &now["ttl"]), (&before["version"], &before["ttl"]));
        if now["_etag"] == before["_etag"] {
            break;
        }
    }
    assert_eq!(left, [120, 70, 20, 0]);
}

#[tokio::test]
async fn a_put_with_the_id_of_a_deleted_post_waits_for_a_long_removal() {
    let world = deleted_post(430).await;
    let requests_before = world.endpoint.request_count();
    let answer = given::post(&world, "p1", "ann").await;
    assert_eq!(answer.header("retry-after"), "1");
    assert_eq!(problem(&answer, 503)["type"], "urn:tributary:problem:removal-pending");
    let requests = world.endpoint.request_count() - requests_before;
    assert!(requests <= 12, "{requests} requests keep its caller waiting");
    assert_eq!(likes(&world).await, 230);
    // The background continues meanwhile.
    deliver(&hasty(&world).await, &tombstone(&world).await).await;
    assert_eq!(likes(&world).await, 180);
    let created = given::post(&world, "p1", "ann").await.expect(201).json();
    assert_eq!(created["likeCount"], 0);
    assert_eq!(given::counts(&world, "p1").await, [(0, 0), (0, 0)]);
}
