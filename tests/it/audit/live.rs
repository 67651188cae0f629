//! Beside live traffic.

use std::time::Duration;

use serde_json::json;
use tributary::blog::audit::Finding;

use super::{audit_within, in_short, remove};
use crate::{
    blog::given::{comment, like, post, user},
    world::World,
};

/// How long the change feed of these worlds may take.
const SETTLE: Duration = Duration::from_secs(3);

/// Commands and deliveries, without end.
async fn traffic(world: &World, from: u32) {
    for n in from.. {
        for author in ["ann", "bob"] {
            commands(world, author, n).await;
        }
        world.settle().await;
    }
}

/// An audit while the traffic goes on.
async fn audit_beside(world: &World, from: u32, repair: bool) -> Vec<Finding> {
    tokio::select! {
        (findings, _) = audit_within(world, SETTLE, repair) => findings,
        () = traffic(world, from) => Vec::new(),
    }
}

async fn commands(world: &World, author: &str, n: u32) {
    let id = format!("{author}-{n}");
    post(world, &id, author).await.expect(201);
    comment(world, &id, author, "Well.").await.expect(201);
    comment(world, "p1", author, "Busy.").await.expect(201);
    like(world, &id, author).await;
    let text = json!({"userId": author, "title": n.to_string(), "content": "edited"});
    world.put(&format!("/api/posts/{id}"), text).await.expect(200);
    if n.is_multiple_of(3) {
        world.delete(&format!("/api/posts/{id}")).await.expect(204);
    }
    if n.is_multiple_of(5) {
        user(world, author, &format!("{author} after {n}")).await.expect(200);
    }
    // The audit wants its turn.
    tokio::time::sleep(Duration::from_millis(2)).await;
}

async fn world() -> World {
    let world = World::with_partitions(2).await;
    user(&world, "ann", "Ann").await.expect(201);
    user(&world, "bob", "Bob").await.expect(201);
    post(&world, "p1", "ann").await.expect(201);
    user(&world, "cy", "Cy").await.expect(201);
    post(&world, "p2", "cy").await.expect(201);
    comment(&world, "p1", "ann", "Lost.").await.expect(201);
    world.settle().await;
    world
}

#[tokio::test]
async fn an_audit_beside_live_traffic_reports_only_what_stands() {
    let world = world().await;
    let comment = world.list("/api/posts/p1/comments").await[0]["id"].clone();
    assert_eq!(audit_beside(&world, 0, false).await, []);

    // A post that is commented on all the time, and one that nobody touches.
    remove(&world, ("posts", "p1", comment.as_str().unwrap())).await;
    remove(&world, ("users", "cy", "post:p2")).await;
    let findings = audit_beside(&world, 10_000, true).await;
    let mut found: Vec<_> = findings.iter().map(in_short).collect();
    found.sort();
    assert_eq!(found, ["copy-missing users cy post:p2", "count-differs posts p1 p1"]);
    assert!(findings.iter().all(|one| one.repair.as_ref().unwrap().mended), "{findings:?}");

    world.settle().await;
    let (after, _) = audit_within(&world, Duration::ZERO, false).await;
    assert_eq!(after, []);
}
