//! The lag of projections, with their triggers running and stopped, and leases that have stopped.

use std::time::{Duration, Instant};

use futures::future::join_all;
use serde_json::{Value, json};
use tributary_functions::{
    app::{AppOptions, MAINTENANCE},
    projection::ProjectionOptions,
};
use tributary_local::cosmos::RequestKind::{ChangeFeed, Replace};
use tributary_testing::{Answer, interleavings::amid};

use super::{pause, resume};
use crate::{
    World,
    given::{self, more_rooms as rooms},
};

async fn world(partitions: u32) -> World {
    let world = World::with_partitions(partitions).await;
    given::person(&world, "ann", "Ann").await.expect(201);
    rooms(&world, 0..20).await;
    world.settle().await;
    world
}

/// Returns the same world, seen through an instance that calls a lease stopped at once.
async fn impatient(world: &World) -> World {
    let projections = ProjectionOptions {
        stopped_after: Duration::ZERO,
        state_max_age: Duration::ZERO,
        ..ProjectionOptions::default()
    };
    world.with_app(AppOptions { projections, ..World::options() }).await
}

async fn status(world: &World) -> Value {
    world.get("/api/projections/RoomCopies").await.expect(200).json()
}

async fn release(world: &World, lease: &str, query: &str) -> Answer {
    let path = format!("/api/projections/RoomCopies/leases/{lease}/release{query}");
    world.call("POST", &path, &[], None).await
}

/// Returns the stored lease of `RoomCopies`, whose container has one partition.
async fn lease_of_copies(world: &World) -> Value {
    let is_of_copies = |lease: &Value| {
        lease["id"].as_str().unwrap().starts_with("room-copies-") && lease["LeaseToken"] == "0"
    };
    world.items("leases").await.into_iter().find(is_of_copies).unwrap()
}

/// Returns the sum of the changes that wait for the leases of `RoomCopies`, and the longest wait.
async fn waiting(world: &World) -> (u64, u64) {
    let status = status(world).await;
    let leases = status["leases"].as_array().unwrap();
    let of_each = |field: &str| leases.iter().map(|lease| lease[field].as_u64().unwrap()).collect();
    let (changes, seconds): (Vec<u64>, Vec<u64>) = (of_each("changes"), of_each("seconds"));
    let worst = [changes.iter().max(), seconds.iter().max()];
    let shown = ["changes", "seconds"].map(|field| status["lag"][field].as_u64());
    assert_eq!(shown.each_ref().map(Option::as_ref), worst, "{status}");
    (changes.iter().sum(), seconds.into_iter().max().unwrap())
}

/// The lag is `changes` within one, and its age that of `first` within a second.
async fn is_true(world: &World, changes: u64, first: Instant) {
    let (waiting, seconds) = waiting(world).await;
    assert!(waiting.abs_diff(changes) <= 1, "{waiting} of {changes}: {}", status(world).await);
    let age = first.elapsed();
    assert!(seconds.abs_diff(age.as_secs()) <= 1, "{seconds} s of {age:?}");
}

#[tokio::test]
async fn the_lag_of_a_stopped_trigger_is_the_number_and_the_age_of_the_waiting_changes() {
    let stories = [1, 4].map(async |partitions| {
        let world = world(partitions).await;
        assert_eq!(waiting(&world).await, (0, 0));
        let first = Instant::now();
        rooms(&world, 20..50).await;
        tokio::time::sleep(Duration::from_millis(1_200)).await;
        assert_eq!(waiting(&world).await.0, 30);
        is_true(&world, 30, first).await;
        world.settle().await;
        assert_eq!(waiting(&world).await, (0, 0));
    });
    join_all(stories).await;
}

/// Another program has written what only the store says.
#[tokio::test]
async fn the_lag_is_that_of_the_feed_whatever_an_item_says() {
    let world = world(1).await;
    let own = [json!({"_lsn": 163}), json!({"_lsn": "x"}), json!({"_lsn": 1_u64 << 60, "_ts": 5})];
    for (own, n) in own.iter().zip([20, 23, 26]) {
        world.change_item("rooms", "n00", own).await;
        rooms(&world, n..n + 3).await;
        let (changes, seconds) = waiting(&world).await;
        assert!(changes == 4 && seconds < 60, "{changes} changes, {seconds} s: {own}");
        world.settle().await;
        assert_eq!(waiting(&world).await, (0, 0));
    }
}

#[tokio::test]
async fn after_a_split_the_changes_in_both_children_wait_for_the_lease_of_their_parent() {
    let world = world(1).await;
    world.endpoint.split(World::DATABASE, "rooms").await.unwrap();
    let first = Instant::now();
    rooms(&world, 20..50).await;
    let leases = async || status(&world).await["leases"].as_array().unwrap().len();
    assert_eq!(leases().await, 1, "no instance has noticed the split");
    is_true(&world, 30, first).await;
    world.settle().await;
    assert_eq!((waiting(&world).await, leases().await), ((0, 0), 2));
    let first = Instant::now();
    rooms(&world, 50..60).await;
    is_true(&world, 10, first).await;
}

#[tokio::test]
async fn deleted_items_do_not_wait() {
    let world = world(1).await;
    for n in 0..5 {
        let id = format!("n{n:02}");
        world.delete_item("rooms", &id, &id).await;
    }
    assert_eq!(waiting(&world).await, (0, 0));
}

#[tokio::test]
async fn a_stopped_lease_is_named_and_a_paused_projection_is_not_called_stopped() {
    let world = impatient(&world(1).await).await;
    rooms(&world, 20..21).await;
    let lease = async || status(&world).await["leases"][0].clone();
    assert_eq!(lease().await["status"], "behind", "it may move");
    world.tick(MAINTENANCE).await.unwrap();
    let stopped = lease().await;
    assert_eq!(stopped["status"], "unmoved");
    assert!(stopped["advice"].as_str().unwrap().contains("acknowledges no batch"), "{stopped}");
    pause(&world, "RoomCopies").await.expect(200);
    assert_eq!(lease().await["status"], "behind");
    resume(&world, "RoomCopies").await.expect(200);
    let list = world.get("/api/projections").await.expect(200).json();
    let projections = list["items"].as_array().unwrap();
    let copies = projections.iter().find(|projection| projection["name"] == "RoomCopies").unwrap();
    assert_eq!(copies["lag"]["stoppedLeases"], 1);
    assert_eq!(copies["status"], "running");
    world.settle().await;
    assert_eq!(lease().await["status"], "current");
    world.tick(MAINTENANCE).await.unwrap();
    rooms(&world, 21..22).await;
    assert_eq!(lease().await["status"], "behind", "it has moved since");
}

#[tokio::test]
async fn a_lease_is_taken_from_an_owner_by_force_and_acquired_again() {
    let world = impatient(&world(1).await).await;
    let release = async |lease: &str, query: &str| release(&world, lease, query).await;
    let refused = release("0", "").await.expect(409);
    assert!(refused.text.contains("renews it"), "{}", refused.text);
    release("0", "?force=false").await.expect(409);
    release("0", "?force=yes").await.expect(400);
    let unknown = release("7", "?force=true").await.expect(404);
    assert!(unknown.text.contains("The projection has: 0."), "{}", unknown.text);
    let owner = status(&world).await["leases"][0]["owner"].clone();
    let released = release("0", "?force=true").await.expect(200).json();
    assert_eq!(released, json!({"lease": "0", "formerOwner": owner}));
    rooms(&world, 20..21).await;
    let unowned = status(&world).await["leases"][0].clone();
    assert_eq!((&unowned["status"], &unowned["owner"]), (&"unowned".into(), &Value::Null));
    assert_eq!(release("0", "").await.expect(200).json(), json!({"lease": "0"}));
    world.settle().await;
    let again = status(&world).await["leases"][0].clone();
    assert_eq!((&again["status"], again["owner"].is_string()), (&"current".into(), true));
}

/// After a merge of partitions the trigger names leases by their ranges, and the first begins with a hyphen.
#[tokio::test]
async fn a_lease_of_a_merged_partition_is_released_by_its_range() {
    let world = world(1).await;
    let lease = lease_of_copies(&world).await;
    let mut first_part = lease.clone();
    first_part["id"] = lease["id"].as_str().unwrap().replace("..0", "..-1F").into();
    first_part["LeaseToken"] = "-1F".into();
    world.write_item("leases", &first_part).await;
    let release = async |lease: &str| release(&world, lease, "?force=true").await;
    let released = release("-1F").await.expect(200).json();
    assert_eq!(released, json!({"lease": "-1F", "formerOwner": lease["Owner"]}));
    let unknown = release("-2F").await.expect(404);
    assert!(unknown.text.contains("The projection has: -1F, 0."), "{}", unknown.text);
}

#[tokio::test]
async fn a_release_changes_no_lease_that_its_owner_has_written_meanwhile() {
    let world = world(1).await;
    let mut lease = lease_of_copies(&world).await;
    lease["ContinuationToken"] = "\"99\"".into();
    let written = world.write_item("leases", &lease);
    let released = release(&world, "0", "?force=true");
    amid((&world, Replace, "leases"), released, written).await.expect(200);
    let id = lease["id"].as_str().unwrap();
    let stored = world.item("leases", id).await;
    assert_eq!((&stored["ContinuationToken"], &stored["Owner"]), (&"\"99\"".into(), &Value::Null));
}

#[tokio::test]
async fn broken_leases_are_counted_and_no_item_hides_a_lag() {
    let world = world(1).await;
    let lease = lease_of_copies(&world).await;
    let own = status(&world).await["leases"][0].clone();
    let id = |tail: &str| lease["id"].as_str().unwrap().replace("..0", tail);
    let broken = [
        json!({"ContinuationToken": "garbage"}),
        json!({"ContinuationToken": {"lsn": 7}}),
        json!({"FeedRange": {"Range": {"min": "FF", "max": ""}}}),
        json!({"FeedRange": {"Range": {"min": "x", "max": "é"}}}),
        json!({"FeedRange": null}),
        json!({"Owner": 7}),
    ];
    for (n, fields) in (11..).zip(&broken) {
        let mut item = lease.clone();
        item.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        item["id"] = id(&format!("..{n}")).into();
        item["LeaseToken"] = n.to_string().into();
        world.write_item("leases", &item).await;
    }
    for item in [
        json!({"id": id(".lock"), "ttl": 30}),
        json!({"id": id("..7")}),
        json!({"id": id("..8"), "LeaseToken": 8}),
        json!({"id": id("..9"), "LeaseToken": "9", "FeedRange": "all"}),
        json!({"id": "room-copies-elsewhere_AAAAAQ==_AAAAAYAAAGI=..0", "LeaseToken": "0"}),
        json!({"id": "room-copies-", "LeaseToken": "0"}),
        json!({"id": id("..1"), "PartitionId": "1", "LeaseToken": "1", "Owner": " ",
            "ContinuationToken": "\"12\"", "timestamp": Value::Null}),
    ] {
        world.write_item("leases", &item).await;
    }
    rooms(&world, 20..23).await;
    let status = status(&world).await;
    assert_eq!(status["lag"]["changes"], 3, "{status}");
    // Of the others, three are no leases, and one has no range.
    assert_eq!(status["lag"]["unmeasuredLeases"], 6 + 4, "{status}");
    let leases = status["leases"].as_array().unwrap();
    assert_eq!(leases[0]["position"], own["position"], "{status}");
    assert_eq!((&leases[1]["position"], &leases[1]["owner"]), (&json!(12), &Value::Null));
    world.tick(MAINTENANCE).await.unwrap();
}

#[tokio::test]
async fn a_measurement_has_a_bounded_number_of_requests() {
    let world = world(1).await;
    let leases = world.items("leases").await;
    for lease in leases.iter().filter(|lease| lease["LeaseToken"] == "0") {
        for n in 1..100 {
            let mut item = lease.clone();
            let id = lease["id"].as_str().unwrap();
            item["id"] = id.replace("..0", &format!("..{n}")).into();
            item["LeaseToken"] = n.to_string().into();
            world.write_item("leases", &item).await;
        }
    }
    let before = world.endpoint.request_count();
    let list = world.get("/api/projections").await.expect(200).json();
    let requests = world.endpoint.requests_since(before);
    let reads = requests.iter().filter(|request| request.kind == ChangeFeed).count();
    assert!((100..=200).contains(&reads), "{reads}");
    assert!(list["items"][0]["lag"]["unmeasuredLeases"].as_u64() > Some(0), "{list}");
}
