//! The leases of a projection, as the framework reads them.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use tributary_functions::projection::{
    Projections,
    leases::{EpkRange, Lease},
};

use crate::{World, given};

/// Returns the projections of an instance of its own.
async fn projections(world: &World) -> Projections {
    let cosmos = World::cosmos(&world.endpoint).await;
    World::app(&cosmos, World::options()).projections().clone()
}

/// Returns the readable leases of a projection, and the number of others.
async fn leases(world: &World, function: &str) -> (Vec<Lease>, usize) {
    let projections = projections(world).await;
    let projection = projections.by_function(function).unwrap();
    let rows = projections.leases().of(function, projection.sources()).await.unwrap();
    let readable: Vec<Lease> = rows.iter().filter_map(|row| row.clone().ok()).collect();
    let others = rows.len() - readable.len();
    (readable, others)
}

async fn rooms(world: &World, ids: std::ops::Range<usize>) {
    for n in ids {
        given::room(world, &format!("r{n}"), "ann").await.expect(201);
    }
}

/// Returns the bounds of all ranges, each as often as it is one.
fn bounds(leases: &[Lease]) -> (BTreeSet<String>, BTreeSet<String>) {
    let ranges = || leases.iter().map(|lease| lease.range.clone().unwrap());
    (
        ranges().map(|EpkRange { min, .. }| min).collect(),
        ranges().map(|EpkRange { max, .. }| max).collect(),
    )
}

#[tokio::test]
async fn each_physical_partition_has_a_lease_with_its_position_and_its_owner() {
    let world = World::with_partitions(4).await;
    given::person(&world, "ann", "Ann").await.expect(201);
    rooms(&world, 0..20).await;
    assert_eq!(leases(&world, "RoomCopies").await, (vec![], 0), "the trigger has not run yet");
    world.settle().await;

    let (leases, others) = leases(&world, "RoomCopies").await;
    let tokens: Vec<&str> = leases.iter().map(|lease| lease.token.as_str()).collect();
    assert_eq!((tokens, others), (vec!["0", "1", "2", "3"], 0));
    let (min, max) = bounds(&leases);
    assert_eq!(min.symmetric_difference(&max).cloned().collect::<Vec<_>>(), ["", "FF"]);
    let positions: u64 = leases.iter().map(|lease| lease.lsn().unwrap()).sum();
    assert_eq!(positions, 20, "each room was one write");
    assert!(leases.iter().all(|lease| lease.owner.is_some()));
    let projections = projections(&world).await;
    let again = projections.leases().read(&leases[0].id).await.unwrap().unwrap();
    assert_eq!(again.id, leases[0].id);
    assert_eq!(projections.leases().read("none").await.unwrap(), None);
}

#[tokio::test]
async fn items_of_another_form_and_leases_of_other_functions_hide_none() {
    let world = given::rooms().await;
    world.settle().await;
    let (own, _) = leases(&world, "RoomCopies").await;
    let id = |tail: &str| own[0].id.replace("..0", tail);
    let odd = [
        json!({"id": id(".lock"), "ttl": 30}),
        json!({"id": id("..7")}),
        json!({"id": id("..8"), "LeaseToken": 8}),
        json!({"id": id("..9"), "LeaseToken": "9", "FeedRange": "all"}),
        json!({"id": "room-copies-elsewhere_AAAAAQ==_AAAAAYAAAGI=..0", "LeaseToken": "0"}),
        json!({"id": "room-copies-", "LeaseToken": "0"}),
    ];
    for item in &odd {
        world.write_item("leases", item).await;
    }
    assert_eq!(leases(&world, "RoomCopies").await, (own.clone(), 3));

    let old = json!({"id": id("..1"), "PartitionId": "1", "LeaseToken": "1", "Owner": " ",
        "ContinuationToken": "\"12\"", "timestamp": Value::Null});
    world.write_item("leases", &old).await;
    let (both, others) = leases(&world, "RoomCopies").await;
    assert_eq!((both.len(), others), (2, 3));
    assert_eq!((both[1].lsn(), &both[1].range, &both[1].owner), (Some(12), &None, &None));
}
