//! Items under the conditions of their callers.

use serde_json::{Value, json};
use tributary_testing::{
    checks::conditions::{self, etag},
    problems::problem,
};

use crate::given;

const ROOM: &str = "/api/rooms/r1";

fn body() -> Option<Value> {
    Some(json!({"personId": "ann", "title": "New"}))
}

#[tokio::test]
async fn a_put_in_the_place_of_a_deleted_item_honours_conditions() {
    let world = given::rooms().await;
    let old = etag(&world, ROOM).await;
    world.delete(ROOM).await.expect(204);
    for value in ["*", &old] {
        problem(&world.call("PUT", ROOM, &[("if-match", value)], body()).await, 412);
    }
    world.call("PUT", ROOM, &[("if-none-match", "*")], body()).await.expect(201);
}

#[tokio::test]
async fn deletes_honour_conditions() {
    let world = given::rooms().await;
    conditions::delete(&world, ROOM).await;
    for path in [ROOM, "/api/rooms/r2"] {
        for value in ["*", "\"0\""] {
            problem(&world.call("DELETE", path, &[("if-match", value)], None).await, 412);
        }
    }
}

#[tokio::test]
async fn an_etag_changes_with_the_item_only() {
    let world = given::rooms().await;
    let booking = given::booking(&world, "r1", "bob").await.expect(201);
    let path = booking.header("location");
    let before = etag(&world, path).await;
    let room = etag(&world, ROOM).await;
    given::booking(&world, "r1", "ann").await.expect(201);
    assert_eq!(etag(&world, path).await, before);
    assert_ne!(etag(&world, ROOM).await, room);
}
