//! Notes over HTTP.

use serde_json::json;
use tributary_testing::budget::budget;

use crate::World;

const NOTE: &str = "/api/owners/ann/notes/n1";

#[tokio::test]
async fn a_note_is_read_as_it_was_written() {
    let world = World::new().await;
    let note = world.put(NOTE, json!({"text": "Buy bread"})).await.expect(201).json();
    assert_eq!(world.get(NOTE).await.expect(200).json(), note);
    world.put(NOTE, json!({"text": "Buy milk"})).await.expect(200);
    assert_eq!(world.get(NOTE).await.expect(200).json()["text"], "Buy milk");
}

#[tokio::test]
async fn a_bad_note_is_refused_with_the_name_of_the_field() {
    let world = World::new().await;
    let problem = world.put(NOTE, json!({"text": ""})).await.expect(400).json();
    assert_eq!(problem["errors"][0]["field"], "text");
    world.get(NOTE).await.expect(404);
}

#[tokio::test]
async fn an_edit_under_an_old_etag_is_refused() {
    let world = World::new().await;
    let old = world.put(NOTE, json!({"text": "a"})).await.expect(201).header("etag").to_owned();
    world.put(NOTE, json!({"text": "b"})).await.expect(200);
    let late = json!({"text": "c"});
    world.call("PUT", NOTE, &[("if-match", &old)], Some(late)).await.expect(412);
    assert_eq!(world.get(NOTE).await.expect(200).json()["text"], "b");
}

#[tokio::test]
async fn the_count_follows_writes_and_deletes() {
    let world = World::new().await;
    for id in ["n1", "n2", "n3"] {
        let path = format!("/api/owners/ann/notes/{id}");
        world.put(&path, json!({"text": "A note"})).await.expect(201);
    }
    world.delete(NOTE).await.expect(204);
    world.delete(NOTE).await.expect(404);
    world.settle().await;
    for (owner, notes) in [("ann", 2), ("bob", 0)] {
        let count = world.get(&format!("/api/owners/{owner}/note-count")).await.expect(200);
        assert_eq!(count.json()["noteCount"], notes);
    }
}

#[tokio::test]
async fn each_request_costs_what_its_budget_says() {
    let world = World::new().await;
    // The SDK has read the containers before.
    world.put("/api/owners/ann/notes/n2", json!({"text": "b"})).await.expect(201);
    world.settle().await;
    let text = |text| Some(json!({"text": text}));
    for (method, path, body, cost) in [
        ("PUT", NOTE, text("a"), "2 requests, 7.15 RU: read notes, create notes"),
        ("PUT", NOTE, text("b"), "2 requests, 11.70 RU: read notes, replace notes"),
        ("GET", NOTE, None, "1 request, 1.00 RU: read notes"),
        ("GET", "/api/owners/ann/note-count", None, "1 request, 1.00 RU: read note-counts"),
        ("DELETE", NOTE, None, "2 requests, 11.70 RU: read notes, replace notes"),
    ] {
        budget(&world, (method, path, body), cost).await;
    }
}
