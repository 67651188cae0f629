use serde_json::Value;

use super::{SUMMARY, path, world_with_letter};
use tributary_testing::{answers::members, problems::problem};

#[tokio::test]
async fn it_shows_the_document_and_why_it_was_not_applied() {
    let (world, letter) = world_with_letter("RoomCounts").await;
    let mark = world.endpoint.request_count();
    let answer = world.get(&path(&letter)).await.expect(200);
    assert_eq!(world.endpoint.request_count() - mark, 1, "a point read");
    let shown = answer.json();
    let mut summary = members(&shown);
    summary.retain(|name| *name != "raw");
    assert_eq!(summary, SUMMARY);
    let raw: Value = serde_json::from_str(shown["raw"].as_str().unwrap()).unwrap();
    assert_eq!((&raw["type"], &shown["documentId"]), (&"poem".into(), &"bad".into()));
    assert!(shown["id"].as_str().unwrap().starts_with("RoomCounts."));

    let etag = answer.header("etag").to_owned();
    let unchanged = [("if-none-match", etag.as_str())];
    world.call("GET", &path(&letter), &unchanged, None).await.expect(304);
}

#[tokio::test]
async fn what_is_not_there_is_a_404_and_what_is_no_id_a_400() {
    let (world, _) = world_with_letter("RoomCounts").await;
    for id in ["RoomCounts.no", "NoFunction.no", "no", "RoomCounts."] {
        problem(&world.get(&format!("/api/dead-letters/{id}")).await, 404);
    }
    problem(&world.get("/api/dead-letters/.no").await, 400);
}
