//! A world in which nothing is wrong. The simulator audits busy ones (docs/chaos.md).

use std::time::Duration;

use super::{audit_within, findings};
use crate::{
    blog::{post, user},
    world::World,
};

#[tokio::test]
async fn a_full_feed_with_more_posts_than_it_holds_has_no_findings() {
    let world = World::new().await;
    user(&world, "ann", "Ann").await.expect(201);
    for n in 0..120 {
        post(&world, &format!("p{n}"), "ann").await.expect(201);
    }
    world.settle().await;
    let (findings, summary) = audit_within(&world, Duration::ZERO, false).await;
    assert_eq!(findings, []);
    // 120 posts and their copies, Ann, and the reservation of her name.
    assert_eq!(summary.items, 242);
}

#[tokio::test]
async fn an_empty_world_has_no_findings() {
    assert_eq!(findings(&World::new().await).await, [""; 0]);
}
