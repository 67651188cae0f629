//! The audit beside changes. That of the news has a story beside live traffic.

use std::time::Duration;

use serde_json::json;
use tokio::time::sleep;
use tributary::blog::{self, Blog};
use tributary_functions::audit::{AuditOptions, Finding, Listener};

use super::{audit_within, findings, small_blog};
use crate::{
    blog::{post, user},
    world::World,
};

#[tokio::test]
async fn a_change_on_its_way_is_no_divergence() {
    let world = small_blog().await;
    post(&world, "p3", "ann").await.expect(201);
    user(&world, "bob", "Robert").await.expect(200);
    let on_its_way = findings(&world).await;
    assert!(on_its_way.contains(&"member-missing feed post p3".to_owned()), "{on_its_way:?}");
    assert!(on_its_way.contains(&"name-differs posts p2 p2".to_owned()), "{on_its_way:?}");

    // The audit has read all items by then.
    let settled = async {
        sleep(Duration::from_secs(1)).await;
        world.settle().await;
    };
    let ((found, _), ()) =
        futures::join!(audit_within(&world, Duration::from_secs(3), false), settled);
    assert!(found.is_empty(), "{found:?}");
}

/// The number of findings in each report.
struct Reports(Vec<usize>);

impl Listener for Reports {
    fn findings(&mut self, findings: &[Finding]) {
        self.0.push(findings.len());
    }
}

#[tokio::test]
async fn the_waiting_suspects_are_bounded_with_any_number_of_divergences() {
    let world = World::new().await;
    for n in 0..1_050 {
        let broken = json!({"id": n.to_string(), "postId": "p", "type": "nonsense"});
        world.write_item("posts", &broken).await;
    }
    let mut reports = Reports(Vec::new());
    let blog = Blog::new(&World::cosmos(&world.endpoint).await);
    let options = AuditOptions { settle: Duration::ZERO, repair: false };
    blog::audit::audit(&blog).run(options, &mut reports).await.unwrap();
    assert_eq!(reports.0, [1_000, 50]);
}
