//! The copies of `garden-tools` in `shed-cards`.

use std::time::Duration;

use tributary_functions::audit::AuditOptions;
use tributary_testing::{
    budget::{background, kind},
    proof::{self, Sources},
};

use my_app::parts::shed_cards::ShedCards;

use crate::{World, garden_tools::GardenTools};

#[test]
fn the_copies_are_true_whatever_is_delivered() {
    proof::copies::<GardenTools, ShedCards>("shed-cards").unwrap();
}

#[tokio::test]
async fn a_new_item_is_copied_by_one_write() {
    let world = World::new().await;
    let item = GardenTools::default().write(0, 0);
    world.write_item("garden-tools", &item).await;
    let requests = background(&world).await;
    let own = requests.iter().filter(|request| request.container == "shed-cards");
    assert_eq!(own.map(kind).collect::<Vec<_>>(), ["create shed-cards"]);
    assert_eq!(world.items("shed-cards").await[0]["version"], item["version"]);
}

#[tokio::test]
async fn the_audit_finds_and_repairs_a_copy_that_is_missing() {
    let world = World::new().await;
    world.write_item("garden-tools", &GardenTools::default().write(0, 0)).await;
    // No trigger has delivered the item. Other copies of it may be missing, too.
    let app = World::app(&World::cosmos(&world.endpoint).await, World::options());
    let options = AuditOptions { settle: Duration::ZERO, repair: true };
    let mut findings = Vec::new();
    for (_, audit) in app.audits() {
        audit.run(options, &mut findings).await.unwrap();
    }
    assert!(findings.iter().any(|finding| finding.container == "shed-cards"), "{findings:?}");
    assert_eq!(world.items("shed-cards").await.len(), 1);
}
