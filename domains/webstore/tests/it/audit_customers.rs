//! `AuditWebStore`: its findings of customers, orders and the leaderboard, and its repairs.

use serde_json::{Value, json};

use super::{audit::audit, given, reports::ranking};
use crate::world::World;

async fn shop() -> World {
    let world = given::shop().await;
    given::set_password(&world, "ann", "correct horse battery").await.expect(204);
    given::order(&world, "ann").await.expect(201);
    given::order(&world, "ann").await.expect(201);
    world.settle().await;
    world
}

/// Changes an item past the app.
async fn change(world: &World, (container, partition, id): (&str, &str, &str), fields: Value) {
    let items = world.items(container).await;
    let mut changed = items.into_iter().find(|item| item["id"] == id).unwrap();
    for (field, value) in fields.as_object().unwrap() {
        changed[field] = value.clone();
    }
    let container = world.container(container).await;
    container.upsert_item(partition.to_owned(), id, &changed, None).await.unwrap();
}

#[tokio::test]
async fn customers_at_rest_have_no_finding() {
    assert_eq!(audit(&shop().await, false).await, [""; 0]);
}

#[tokio::test]
async fn every_divergence_of_a_customer_is_found_and_repaired() {
    let customer = ("customer", "ann", "ann");
    let copy = ("leaderboard", "customer", "ann");
    for (place, fields, findings) in [
        (
            customer,
            json!({"salesOrderCount": 5}),
            vec!["copy-different customer ann", "count-differs ann ann"],
        ),
        (copy, json!({"version": 1}), vec!["copy-older customer ann"]),
        (copy, json!({"version": 99}), vec!["copy-newer customer ann"]),
        (copy, json!({"firstName": "Eve"}), vec!["copy-different customer ann"]),
    ] {
        let world = shop().await;
        change(&world, place, fields).await;
        let mut found = audit(&world, false).await;
        found.sort_unstable();
        assert_eq!(found, findings);
        audit(&world, true).await;
        world.settle().await;
        assert_eq!(audit(&world, false).await, [""; 0]);
        assert_eq!(given::counts(&world, "ann").await, (2, 2));
        assert_eq!(ranking(&world, "leaderboard").await, ranking(&world, "query").await);
        assert_eq!(given::verify(&world, "ann", "correct horse battery").await, 204);
    }
}

#[tokio::test]
async fn a_missing_copy_is_written_and_one_without_a_customer_is_deleted() {
    let world = shop().await;
    let leaderboard = world.container("leaderboard").await;
    leaderboard.delete_item("customer", "ann", None).await.unwrap();
    world.container("customer").await.delete_item("bob", "bob", None).await.unwrap();
    let mut found = audit(&world, true).await;
    found.sort_unstable();
    assert_eq!(found, ["copy-extra customer bob", "copy-missing customer ann"]);
    assert_eq!(audit(&world, false).await, [""; 0]);
    assert_eq!(ranking(&world, "leaderboard").await, [("ann".to_owned(), 2)]);
}

#[tokio::test]
async fn an_order_without_a_customer_is_for_an_operator() {
    let world = shop().await;
    world.container("customer").await.delete_item("ann", "ann", None).await.unwrap();
    world.container("leaderboard").await.delete_item("customer", "ann", None).await.unwrap();
    let found = audit(&world, false).await;
    assert!(
        found.len() == 2 && found.iter().all(|one| one.starts_with("orphan ann ")),
        "{found:?}"
    );
}
