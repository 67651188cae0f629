//! A world in which nothing is wrong.

use serde_json::json;

use super::{audit_within, findings};
use crate::{
    blog::{comment, like, post, user},
    world::World,
};

/// A small generator, so that the story is the same each time.
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }
}

/// A short story of random commands, with deliveries now and then. Any user may at once create a
/// post under the id of a deleted one.
async fn busy_world(seed: u64) -> World {
    let world = World::with_partitions(2).await;
    for n in 0..4 {
        user(&world, &format!("u{n}"), &format!("user {n}")).await.expect(201);
    }
    let mut dice = Dice(seed);
    for n in 0..100 {
        let id = format!("p{}", dice.below(6));
        let author = format!("u{}", dice.below(4));
        // Many commands are refused: there is no such post, or it belongs to another user.
        match dice.below(12) {
            0..4 => drop(post(&world, &id, &author).await),
            4..6 => drop(comment(&world, &id, &author, "Well.").await),
            6..8 => drop(like(&world, &id, &author).await),
            8 => drop(world.delete(&format!("/api/posts/{id}/likes/{author}")).await),
            9 => drop(world.delete(&format!("/api/posts/{id}")).await),
            10 => drop(user(&world, &author, &format!("user {}", dice.below(6))).await),
            _ => {
                let text = json!({"userId": author, "title": n.to_string(), "content": "edited"});
                drop(world.put(&format!("/api/posts/{id}"), text).await);
            }
        }
        if dice.below(25) == 0 {
            world.settle().await;
        }
    }
    world.settle().await;
    world
}

#[tokio::test]
async fn a_busy_world_that_came_to_rest_has_no_findings() {
    let seeds = match std::env::var("TRIBUTARY_SEED") {
        Ok(seed) => vec![seed.parse().unwrap()],
        Err(_) => vec![7, 8],
    };
    for seed in seeds {
        let found = findings(&busy_world(seed).await).await;
        assert_eq!(found, [""; 0], "TRIBUTARY_SEED={seed} cargo test --test it a_busy_world");
    }
}

#[tokio::test]
async fn a_full_feed_with_more_posts_than_it_holds_has_no_findings() {
    let world = World::new().await;
    user(&world, "ann", "Ann").await.expect(201);
    for n in 0..120 {
        post(&world, &format!("p{n}"), "ann").await.expect(201);
    }
    world.settle().await;
    let (findings, summary) = audit_within(&world, std::time::Duration::ZERO, false).await;
    assert_eq!(findings, []);
    // 120 posts and their copies, Ann, and the reservation of her name.
    assert_eq!(summary.items, 242);
}

#[tokio::test]
async fn an_empty_world_has_no_findings() {
    assert_eq!(findings(&World::new().await).await, [""; 0]);
}
