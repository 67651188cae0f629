//! Poisoned and stale stores: unreadable items, and replicas that are behind.

use serde_json::json;

use crate::World;

const NOTE: &str = "/api/owners/ann/notes/n1";

#[tokio::test]
async fn an_unreadable_note_becomes_a_dead_letter_and_all_others_are_counted() {
    let world = World::new().await;
    for id in ["n1", "n2", "n3"] {
        let path = format!("/api/owners/ann/notes/{id}");
        world.put(&path, json!({"text": "A note"})).await.expect(201);
    }
    let note = world.make_unreadable("notes", "n2", "version").await;
    world.settle().await;
    let count = async || world.get("/api/owners/ann/note-count").await.expect(200).json();
    assert_eq!(count().await["noteCount"], 2);
    let letters = world.list("/api/dead-letters").await;
    let of_counts = letters.iter().filter(|letter| letter["function"] == "NoteCounts");
    assert_eq!(of_counts.map(|letter| &letter["documentId"]).collect::<Vec<_>>(), ["n2"]);

    // The note is repaired, and the change feed delivers it.
    world.write_item("notes", &note).await;
    world.settle().await;
    assert_eq!(count().await["noteCount"], 3);
}

#[tokio::test]
async fn a_note_is_found_at_an_instance_whose_replica_is_behind() {
    let world = World::new().await;
    let stale = world.stale_reads("notes");
    world.put(NOTE, json!({"text": "Buy bread"})).await.expect(201);
    let other = world.second_instance().await;
    assert_eq!(other.get(NOTE).await.expect(200).json()["text"], "Buy bread");
    other.put(NOTE, json!({"text": "Buy milk"})).await.expect(200);
    drop(stale);
    assert_eq!(world.get(NOTE).await.expect(200).json()["text"], "Buy milk");
}
