//! The audit beside changes. That of the news has a story beside live traffic.

use std::time::Duration;

use serde_json::json;
use tokio::sync::Notify;
use tributary::blog::{self, Blog};
use tributary_functions::audit::{AuditOptions, Finding, Listener};

use super::{findings, in_short, remove, stray_like};
use crate::{
    blog::{comment, post, user},
    world::World,
};

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

/// A listener that signals when so many items were read, and keeps the findings of each report.
struct Watch<'a> {
    items: u64,
    read: &'a Notify,
    found: Vec<Vec<String>>,
}

impl Listener for Watch<'_> {
    fn findings(&mut self, findings: &[Finding]) {
        self.found.push(findings.iter().map(in_short).collect());
    }

    fn progress(&mut self, items: u64) {
        if items >= self.items {
            self.read.notify_one();
        }
    }
}

async fn audit_around(world: &World, meanwhile: impl Future<Output = ()>) -> Vec<String> {
    let items = (world.items("posts").await.len() + world.items("users").await.len()) as u64;
    let read = Notify::new();
    let mut watch = Watch { items, read: &read, found: Vec::new() };
    let blog = Blog::new(&World::cosmos(&world.endpoint).await);
    let options = AuditOptions { settle: Duration::from_secs(2), repair: false };
    let meanwhile = async {
        read.notified().await;
        meanwhile.await;
    };
    let audit = blog::audit::audit(&blog);
    let audit = Box::pin(audit.run(options, &mut watch));
    futures::join!(audit, meanwhile).0.unwrap();
    watch.found.concat()
}

#[tokio::test]
async fn a_change_on_its_way_is_no_divergence() {
    let world = world().await;
    post(&world, "p3", "ann").await.expect(201);
    user(&world, "cy", "Cyril").await.expect(200);
    let on_its_way = findings(&world).await;
    assert!(on_its_way.contains(&"member-missing feed post p3".to_owned()), "{on_its_way:?}");
    assert!(on_its_way.contains(&"name-differs posts p2 p2".to_owned()), "{on_its_way:?}");

    assert_eq!(audit_around(&world, world.settle()).await, [""; 0]);
}

#[tokio::test]
async fn remembered_users_and_posts_may_be_old() {
    let world = world().await;
    let comment = world.list("/api/posts/p1/comments").await[0]["id"].clone();
    remove(&world, ("posts", "p1", comment.as_str().unwrap())).await;
    let mut like = stray_like("soon");
    like["creationDate"] = json!(tributary_functions::values::Timestamp::now().to_string());
    world.write_item("posts", &like).await;

    // The post with the wrong count is checked again under its author's new name, the like beside its post.
    let found = audit_around(&world, async {
        user(&world, "ann", "Anna").await.expect(200);
        post(&world, "soon", "ann").await.expect(201);
        world.settle().await;
    })
    .await;
    assert_eq!(found, ["count-differs posts p1 p1"]);
}

#[tokio::test]
async fn the_waiting_suspects_are_bounded_with_any_number_of_divergences() {
    let world = World::new().await;
    for n in 0..1_050 {
        let broken = json!({"id": n.to_string(), "postId": "p", "type": "nonsense"});
        world.write_item("posts", &broken).await;
    }
    let mut watch = Watch { items: u64::MAX, read: &Notify::new(), found: Vec::new() };
    let blog = Blog::new(&World::cosmos(&world.endpoint).await);
    let options = AuditOptions { settle: Duration::ZERO, repair: false };
    blog::audit::audit(&blog).run(options, &mut watch).await.unwrap();
    let together: Vec<_> = watch.found.iter().map(Vec::len).collect();
    assert_eq!(together, [1_000, 50]);
}
