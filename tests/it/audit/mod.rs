//! The audit: it finds each divergence, reports nothing else, and repairs it.

mod divergences;
mod process;
mod races;

use std::time::Duration;

use serde_json::{Value, json};
use tributary::blog::{self, Blog};
use tributary_functions::audit::{AuditOptions, AuditSummary, Finding};

use crate::{
    blog::{comment, like, post, user},
    world::World,
};

/// Audits a world whose change feed needs so long.
async fn audit_within(
    world: &World,
    settle: Duration,
    repair: bool,
) -> (Vec<Finding>, AuditSummary) {
    let blog = Blog::new(&World::cosmos(&world.endpoint).await);
    let mut kept = Vec::new();
    let audit = blog::audit::audit(&blog);
    let summary = audit.run(AuditOptions { settle, repair }, &mut kept).await.unwrap();
    assert_eq!(summary.findings, kept.len() as u64);
    (kept, summary)
}

/// Returns the findings in a world without traffic: kind, container, partition key, id.
pub(crate) async fn findings(world: &World) -> Vec<String> {
    let (findings, summary) = audit_within(world, Duration::ZERO, false).await;
    assert_eq!(summary.unsettled, 0);
    findings.iter().map(in_short).collect()
}

fn in_short(finding: &Finding) -> String {
    let Finding { kind, container, partition_key, id, .. } = finding;
    format!("{kind} {container} {partition_key} {id}")
}

pub(crate) async fn run_all(world: &World) {
    let app = World::app(&World::cosmos(&world.endpoint).await, World::options());
    for (domain, audit) in app.audits() {
        let options = AuditOptions { settle: Duration::ZERO, repair: true };
        let summary = audit.run(options, &mut Vec::new()).await.unwrap();
        assert!(summary.is_clean(), "{domain}: {summary:?}");
    }
}

/// Ann, Bob and Cy; posts `p1` of Ann and `p2` of Bob, with comments and likes; all delivered.
async fn small_blog() -> World {
    let world = World::with_partitions(2).await;
    for (id, name) in [("ann", "Ann"), ("bob", "Bob"), ("cy", "Cy")] {
        user(&world, id, name).await.expect(201);
    }
    post(&world, "p1", "ann").await.expect(201);
    post(&world, "p2", "bob").await.expect(201);
    comment(&world, "p1", "bob", "Well.").await.expect(201);
    comment(&world, "p1", "cy", "Well?").await.expect(201);
    like(&world, "p1", "cy").await.expect(201);
    like(&world, "p2", "ann").await.expect(201);
    world.settle().await;
    world
}

/// The container, the partition key and the id of an item.
type Place = (&'static str, &'static str, &'static str);

async fn a_comment(world: &World) -> String {
    let comments = world.list("/api/posts/p1/comments").await;
    comments[0]["id"].as_str().unwrap().to_owned()
}

/// Changes an item past the app, with everything in it.
async fn change(world: &World, (container, _, id): (&str, &str, impl AsRef<str>), fields: Value) {
    world.change_item(container, id.as_ref(), &fields).await;
}

async fn remove(world: &World, (container, partition, id): (&str, &str, impl AsRef<str>)) {
    world.delete_item(container, partition, id.as_ref()).await;
}

pub(crate) const LONG_AGO: &str = "2020-01-01T00:00:00.000Z";

/// Reserves a name past the app.
pub(crate) async fn reserve(world: &World, key: &str, owner: &str, reserved_at: &str) {
    let reservation = json!({
        "type": "username", "id": "username", "userId": format!("username:{key}"),
        "owner": owner, "reservedAt": reserved_at,
    });
    world.write_item("users", &reservation).await;
}

/// Reserves each name for the next user: the repair of one user meets the repair of another.
async fn reserve_in_a_ring(world: &World) {
    for (key, owner) in [("ann", "bob"), ("bob", "cy"), ("cy", "ann")] {
        reserve(world, key, owner, LONG_AGO).await;
    }
}

fn stray_like(post_id: &str) -> Value {
    json!({
        "type": "like", "id": "like:bob", "postId": post_id, "userId": "bob",
        "userUsername": "Bob", "creationDate": "2020-01-01T00:00:00.000Z",
        "usernameVersion": 1, "postVersion": 1,
    })
}
