//! Projections under a store that is throttled, unavailable, or loses its answers, and under data that
//! they cannot read.

use std::time::Duration;

use serde_json::{Value, json};
use tributary_local::cosmos::{
    Fault,
    RequestKind::{Create, Upsert},
};

use crate::{World, given};

/// More faults than any invocation can meet.
const ENDLESS: usize = 1_000_000;

async fn deliver_until_it_succeeds(world: &World, function: &str, items: &[Value]) -> usize {
    let mut failures = 0;
    while world.deliver(function, items).await.is_err() {
        failures += 1;
        assert!(failures < 1_000, "{function} never succeeds");
    }
    failures
}

#[tokio::test]
async fn a_write_that_a_full_partition_refuses_is_a_dead_letter_and_a_missing_container_is_retried()
{
    let world = given::rooms().await;
    let world = world.with_budget(Duration::from_millis(20)).await;
    let items = world.items("rooms").await;
    world.endpoint.inject(Fault::RefusedWith(404, 1003), Create, "people", 60);
    let failures = deliver_until_it_succeeds(&world, "RoomCopies", &items).await;
    assert!(failures > 0);
    assert!(world.items("dead-letters").await.is_empty());
    given::room(&world, "r2", "ann").await.expect(201);
    world.endpoint.inject(Fault::RefusedWith(403, 1014), Create, "people", 1);
    world.deliver("RoomCopies", &world.items("rooms").await).await.unwrap();
    let dead_letters = world.items("dead-letters").await;
    let [dead_letter] = dead_letters.as_slice() else { panic!("{dead_letters:?}") };
    assert!(dead_letter["reason"].as_str().unwrap().contains("20 GB"), "{dead_letter}");
}

#[tokio::test]
async fn all_changes_of_an_invocation_share_its_retry_budget() {
    let world = given::rooms().await;
    given::more_rooms(&world, 0..99).await;
    let rooms = world.items("rooms").await;
    world.endpoint.inject(Fault::Refused(429), Create, "people", ENDLESS);
    let world = world.with_budget(Duration::ZERO).await;
    let requests = async |items: &[Value]| {
        let n_before = world.endpoint.request_count();
        world.deliver("RoomCopies", items).await.unwrap_err();
        world.endpoint.request_count() - n_before
    };
    // The first request reads the container itself, too.
    let _ = requests(&rooms[..1]).await;
    let of_one = requests(&rooms[..1]).await;
    let of_all = requests(&rooms).await;
    assert!(of_all <= 16 * of_one, "{of_all} requests, {of_one} for one change");
}

#[tokio::test]
async fn a_dead_letter_that_cannot_be_stored_keeps_its_batch_from_being_acknowledged() {
    let world = given::rooms().await;
    world.write_item("rooms", &given::bad_room("odd")).await;
    let items = world.items("rooms").await;
    for (status, times) in [(429, 60), (503, 60), (400, 1), (404, 60)] {
        let fault = Fault::Refused(status);
        let world = world.with_budget(Duration::from_millis(20)).await;
        world.endpoint.inject(fault, Upsert, "dead-letters", times);
        let failures = deliver_until_it_succeeds(&world, "NewestRooms", &items).await;
        assert!(failures > 0, "{fault:?} does not fail");
        assert_eq!(world.items("dead-letters").await.len(), 1);
    }
    // A dead letter that can be stored a moment later is stored within the invocation.
    world.endpoint.inject(Fault::Refused(429), Upsert, "dead-letters", 25);
    world.deliver("NewestRooms", &items).await.unwrap();
}

#[tokio::test]
async fn a_change_that_fails_a_transaction_holds_up_no_other() {
    let world = given::rooms().await;
    given::more_rooms(&world, 0..9).await;
    // One of the copies cannot be read.
    let odd = json!({"id": "n07", "type": "room", "version": "odd"});
    world.write_item("newest-rooms", &odd).await;
    let items = world.items("rooms").await;
    // All in one round, since a second one has no time.
    let world = world.with_budget(Duration::ZERO).await;
    world.deliver("NewestRooms", &items).await.unwrap();
    let dead_letters = world.items("dead-letters").await;
    let [dead_letter] = dead_letters.as_slice() else { panic!("{dead_letters:?}") };
    assert_eq!([&dead_letter["function"], &dead_letter["documentId"]], ["NewestRooms", "n07"]);
    let head = world.item("newest-rooms", "~head").await;
    assert_eq!(head["members"].as_array().unwrap().len(), 9, "all but that one");
}
