use futures::future::join_all;
use serde_json::{Value, json};
use tributary_local::cosmos::{
    Fault,
    RequestKind::{Batch, Create, Read},
};

use super::{dead_letters, good_room, world_with_dead_letter};
use crate::{
    World,
    given::{self, bad_room, path, replay},
};
use tributary_testing::{interleavings::amid, problems::problem};

async fn copies(world: &World) -> Vec<Value> {
    let mut people = world.items("people").await;
    people.retain(|item| item["type"] == "room" || item["type"] == "deletedRoom");
    people
}

/// Returns the stored copies of Ann's rooms, without tombstones.
async fn live_copies(world: &World) -> Vec<Value> {
    let mut copies = copies(world).await;
    copies.retain(|item| item["type"] == "room");
    copies
}

#[tokio::test]
async fn a_dead_letter_whose_cause_is_repaired_is_applied_exactly_once() {
    let (world, dead_letter) = world_with_dead_letter("RoomCopies").await;
    world.write_item("rooms", &good_room("bad")).await;
    let answer = replay(&world, &dead_letter).await.expect(200).json();
    assert_eq!(answer, json!({"id": dead_letter["id"], "outcome": "applied"}));
    assert!(dead_letters(&world).await.is_empty());
    let shown = live_copies(&world).await;
    assert_eq!(shown.iter().filter(|room| room["title"] == "Repaired").count(), 1);
    problem(&replay(&world, &dead_letter).await, 404);

    // The change feed delivers the repaired document, too, and the bad one may come late.
    let before = copies(&world).await;
    world.settle().await;
    world.deliver("RoomCopies", &[bad_room("bad")]).await.unwrap();
    assert_eq!(copies(&world).await, before, "not one more write");
    let again = replay(&world, &dead_letters(&world).await[0]).await.expect(200).json();
    assert_eq!(again["outcome"], "unchanged");
    assert_eq!(copies(&world).await, before);
    assert!(dead_letters(&world).await.is_empty());
}

#[tokio::test]
async fn replays_at_once_write_one_copy_and_each_answers_truly() {
    for function in ["RoomCopies", "RoomCounts"] {
        let (world, dead_letter) = world_with_dead_letter(function).await;
        world.write_item("rooms", &good_room("bad")).await;
        let second = world.second_instance().await;
        let instances = (0..8).map(|n| [&world, &second][n % 2]);
        let answers = join_all(instances.map(|world| replay(world, &dead_letter))).await;
        let mut applied = 0;
        for answer in answers {
            match answer.status.as_u16() {
                200 => applied += usize::from(answer.json()["outcome"] == "applied"),
                status => assert_eq!(status, 404, "{}", answer.text),
            }
        }
        assert_eq!(applied, 1, "{function}");
        assert!(dead_letters(&world).await.is_empty());
        world.settle().await;
        let count = world.get("/api/people/ann/room-count").await.expect(200).json();
        assert_eq!(count["roomCount"], 2);
        assert_eq!(live_copies(&world).await.len(), 2);
    }
}

#[tokio::test]
async fn a_replay_survives_lost_answers() {
    // Once, so that the SDK repeats the request; and until the SDK gives up.
    for (kind, times) in [(Batch, 1), (Batch, 20), (Create, 1), (Read, 1)] {
        let (world, dead_letter) = world_with_dead_letter("RoomCopies").await;
        world.write_item("rooms", &good_room("bad")).await;
        let container = if kind == Batch { "dead-letters" } else { "people" };
        world.endpoint.inject(Fault::AnswerLost, kind, container, times);
        replay(&world, &dead_letter).await.expect(200);
        assert!(dead_letters(&world).await.is_empty());
        assert_eq!(copies(&world).await.len(), 2);
    }
}

#[tokio::test]
async fn a_change_that_fails_again_keeps_its_dead_letter_with_the_new_reason() {
    let (world, dead_letter) = world_with_dead_letter("RoomCopies").await;
    let still_bad = json!({"id": "bad", "roomId": "bad", "type": "room", "title": "half repaired"});
    world.write_item("rooms", &still_bad).await;
    let path = format!("{}/replay", path(&dead_letter));
    let invocation = [("x-azure-functions-invocationid", "a-replay")];
    problem(&world.call("POST", &path, &invocation, None).await, 409);
    let [kept] = <[Value; 1]>::try_from(dead_letters(&world).await).unwrap();
    assert_eq!(kept["id"], dead_letter["id"]);
    assert_eq!(kept["invocationId"], "a-replay");
    assert_ne!(kept["reason"], dead_letter["reason"]);
    assert!(kept["failedAt"].as_str() > dead_letter["failedAt"].as_str());
    assert!(kept["raw"].as_str().unwrap().contains("half repaired"));

    world.write_item("rooms", &good_room("bad")).await;
    replay(&world, &dead_letter).await.expect(200);
}

#[tokio::test]
async fn a_dead_letter_stored_anew_while_it_is_replayed_stays() {
    let world = given::rooms().await;
    let bad = bad_room("r1");
    let good = world.item("rooms", "r1").await;
    given::deliver(&world, "RoomCopies", &bad).await;
    let dead_letter = world.list("/api/dead-letters").await.remove(0);
    let spoilt_again = async {
        world.write_item("rooms", &bad).await;
        given::deliver(&world, "RoomCopies", &bad).await;
    };
    let held = (&world, Batch, "dead-letters");
    let answer = amid(held, replay(&world, &dead_letter), spoilt_again).await;
    problem(&answer, 409);
    assert_eq!(dead_letters(&world).await.len(), 1);

    world.write_item("rooms", &good).await;
    replay(&world, &dead_letter).await.expect(200);
    assert!(world.list("/api/dead-letters").await.is_empty());
}

#[tokio::test]
async fn a_replay_of_a_deleted_document_writes_no_copy() {
    let (world, dead_letter) = world_with_dead_letter("RoomCopies").await;
    world.delete_item("rooms", "bad", "bad").await;
    let answer = replay(&world, &dead_letter).await.expect(200).json();
    assert_eq!(answer["outcome"], "gone");
    assert!(dead_letters(&world).await.is_empty());
    assert_eq!(copies(&world).await.len(), 1, "that of the other room");
}

/// An unreadable copy makes the deletion of its room fail; then the tombstone expires.
#[tokio::test]
async fn an_expired_tombstone_still_deletes_the_copies() {
    let world = given::rooms().await;
    world.settle().await;
    let copy = copies(&world).await.remove(0);
    let mut spoilt = copy.clone();
    spoilt["version"] = "odd".into();
    world.write_item("people", &spoilt).await;
    world.delete("/api/rooms/r1").await.expect(204);
    world.deliver("RoomCopies", &world.items("rooms").await).await.unwrap();
    let dead_letter = dead_letters(&world).await.remove(0);
    world.delete_item("rooms", "r1", "r1").await;

    problem(&replay(&world, &dead_letter).await, 409);
    world.write_item("people", &copy).await;
    assert_eq!(replay(&world, &dead_letter).await.expect(200).json()["outcome"], "applied");
    assert!(live_copies(&world).await.is_empty());
}

#[tokio::test]
async fn a_long_document_is_read_again() {
    let world = given::rooms().await;
    let mut long = bad_room("long");
    long["text"] = "x".repeat(600_000).into();
    world.write_item("rooms", &long).await;
    world.deliver("RoomCopies", &world.items("rooms").await).await.unwrap();
    let dead_letter = dead_letters(&world).await.remove(0);
    assert_eq!(dead_letter["rawTruncated"], true);
    assert_eq!(dead_letter["raw"].as_str().unwrap().len(), 512 * 1024);
    let mut repaired = good_room("long");
    repaired["text"] = "x".repeat(600_000).into();
    world.write_item("rooms", &repaired).await;
    assert_eq!(replay(&world, &dead_letter).await.expect(200).json()["outcome"], "applied");
}

#[tokio::test]
async fn a_document_whose_id_the_host_rewrote_is_applied_as_it_was_delivered() {
    let world = given::rooms().await.with_host_that_parses_dates();
    let mut spoilt = good_room("room:p9");
    spoilt["version"] = "odd".into();
    spoilt["personId"] = "ann".into();
    world.write_item("people", &spoilt).await;
    let mut dated = good_room("p9");
    dated["id"] = "2026-11-21T09:25:54.120Z".into();
    world.write_item("rooms", &dated).await;
    world.deliver("RoomCopies", &[dated]).await.unwrap();
    let dead_letter = dead_letters(&world).await.remove(0);
    assert_eq!(dead_letter["documentId"], "2026-11-21T09:25:54.12Z");
    world.delete_item("people", "ann", "room:p9").await;
    assert_eq!(replay(&world, &dead_letter).await.expect(200).json()["outcome"], "applied");
}

#[tokio::test]
async fn a_document_without_a_partition_key_fails_again_and_stays() {
    let world = given::rooms().await;
    let lost = json!({"id": "lost", "type": "room", "title": "Repaired"});
    world.deliver("RoomCopies", &[lost]).await.unwrap();
    let dead_letter = dead_letters(&world).await.remove(0);
    assert_eq!(
        [&dead_letter["documentId"], &dead_letter["partitionKey"]],
        [&json!("lost"), &Value::Null]
    );
    problem(&replay(&world, &dead_letter).await, 409);
    assert_eq!(dead_letters(&world).await.len(), 1);
}

#[tokio::test]
async fn a_dead_letter_of_a_removed_function_can_only_be_deleted() {
    let (world, dead_letter) = world_with_dead_letter("RoomCounts").await;
    let mut old = dead_letter.clone();
    old["id"] = "OldFunction.1".into();
    old["function"] = "OldFunction".into();
    old["raw"] = "{}".into();
    world.write_item("dead-letters", &old).await;
    problem(&replay(&world, &old).await, 409);
    world.delete(&path(&old)).await.expect(204);
}
