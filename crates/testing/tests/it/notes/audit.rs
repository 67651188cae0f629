//! The audit of copies, from their definition.

use std::time::Duration;

use serde_json::json;
use tributary_functions::audit::{Audit, AuditOptions, Finding, Listener};

use super::{World, model::HeadingsOfOwners, notes};

#[derive(Default)]
struct Findings(Vec<String>);

impl Listener for Findings {
    fn findings(&mut self, findings: &[Finding]) {
        let words = |one: &Finding| format!("{} {} {}", one.kind, one.partition_key, one.id);
        self.0.extend(findings.iter().map(words));
    }
}

/// The findings of the audit, sorted.
async fn audited(world: &World, repair: bool) -> Vec<String> {
    let cosmos = World::cosmos(&world.endpoint).await;
    let [notes, copies] = ["notes", "headings-of-owners"].map(|id| cosmos.container(id));
    let audit = Audit::of_copies::<HeadingsOfOwners>("Audit", "0 0 3 * * 0", &notes, &copies);
    let mut findings = Findings::default();
    let options = AuditOptions { settle: Duration::from_millis(20), repair };
    let summary = audit.run(options, &mut findings).await.unwrap();
    assert!(!repair || summary.is_clean(), "{:?}", findings.0);
    findings.0.sort();
    findings.0
}

#[tokio::test]
async fn the_audit_checks_and_repairs_copies_from_their_definition() {
    let world = notes(5).await;
    world.delete("/api/notes/n4").await.expect(204);
    let copies = world.container("headings-of-owners").await;
    let stored = world.items("headings-of-owners").await;
    let copy = |id: &str| stored.iter().find(|copy| copy["id"] == *id).unwrap().clone();
    copies.delete_item("ann", "n0", None).await.unwrap();
    for (id, property, value) in [
        ("n1", "heading", json!("OTHER")),
        ("n2", "version", json!(0)),
        ("n3", "version", json!(9)),
    ] {
        let mut copy = copy(id);
        copy[property] = value;
        copies.upsert_item("ann", id, &copy, None).await.unwrap();
    }
    let mut extra = copy("n1");
    extra["id"] = json!("n9");
    copies.upsert_item("ann", "n9", &extra, None).await.unwrap();

    // No projection has delivered the tombstone of n4.
    let found = [
        "copy-different ann n1",
        "copy-extra ann n9",
        "copy-missing ann n0",
        "copy-newer ann n3",
        "copy-older ann n2",
        "copy-older ann n4",
    ];
    assert_eq!(audited(&world, false).await, found);
    assert_eq!(audited(&world, true).await, found);
    assert_eq!(audited(&world, false).await, [""; 0]);
    let repaired = world.items("headings-of-owners").await;
    assert_eq!(repaired.iter().filter(|copy| copy.get("ttl").is_none()).count(), 4);

    // The tombstone of a copy expires before that of its source.
    copies.delete_item("ann", "n4", None).await.unwrap();
    assert_eq!(audited(&world, false).await, [""; 0]);
}
