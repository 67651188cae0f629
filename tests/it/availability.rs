//! A handler whose store is not there. It stands apart from the other log lines, since it waits for seconds and so has
//! to begin early: tests begin in the order of their names.

use serde_json::json;

use crate::{handler, world::World};

#[tokio::test]
async fn a_store_unavailable_at_the_start_is_a_warning_and_the_handler_is_ready() {
    let away = ("CosmosConnection", "AccountEndpoint=http://127.0.0.1:1/;AccountKey=a2V5");
    let handler = handler::start(&World::new().await, &[away]).await;
    assert_eq!(handler.send("GET", "/", &[], "").await.status, 200);
    let line = handler.line("The store could not be reached at the start").await;
    assert_eq!((&line["level"], &line["reason"]), (&json!("WARN"), &json!("Unavailable")));
    assert_eq!(handler.send("GET", "/api/users/ann", &[], "").await.status, 503);
}

#[tokio::test]
async fn a_container_that_is_missing_at_the_start_is_named() {
    let world = World::new().await;
    world.container("feed").await.delete(None).await.unwrap();
    let handler = handler::start(&world, &[]).await;
    let line = handler.line("there is no container `feed` in the database").await;
    assert_eq!((&line["level"], &line["container"]), (&json!("ERROR"), &json!("feed")));
}
