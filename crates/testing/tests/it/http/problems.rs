//! Errors as problem documents, and the charges of answers.

use azure_data_cosmos::{AccountEndpoint, AccountReference};
use futures::future::join_all;
use serde_json::json;
use tributary_functions::{app::AppOptions, cosmos::Cosmos};
use tributary_local::cosmos::WELL_KNOWN_KEY;
use tributary_testing::{answers::charged, problems::problem};

use crate::{World, given};

const ROOM: (&str, &str) = ("PUT", "/api/rooms/r1");

#[tokio::test]
async fn an_unreachable_store_is_a_503_with_retry_after() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}/", listener.local_addr().unwrap());
    drop(listener);
    let endpoint: AccountEndpoint = address.parse().unwrap();
    let account = AccountReference::with_authentication_key(endpoint, WELL_KNOWN_KEY);
    let mut world = World::new().await;
    let cosmos = Cosmos::new(account, None, "rooms".into());
    world.router = World::app(&cosmos, AppOptions::default()).into_handler().into_router().unwrap();
    let answer = world.get("/api/rooms/r1").await;
    problem(&answer, 503);
    assert!(answer.header("retry-after").parse::<u32>().is_ok(), "{answer:?}");
    problem(&world.send_body(ROOM, None, "{}").await, 415);
}

#[tokio::test]
async fn an_answer_that_used_the_store_has_its_charge() {
    let world = given::rooms().await;
    let etag = world.get(ROOM.1).await.header("etag").to_owned();
    let by_etag = [("if-none-match", etag.as_str())];
    let text = json!({"personId": "ann", "title": "T"});
    let other_state = [("if-match", "\"0\"")];
    for answer in [
        given::room(&world, "r1", "bob").await.expect(409),
        given::room(&world, "r3", "nobody").await.expect(404),
        world.call("GET", ROOM.1, &by_etag, None).await.expect(304),
        world.get("/api/rooms/none").await.expect(404),
        world.call("PUT", ROOM.1, &other_state, Some(text)).await.expect(412),
        given::booking(&world, "none", "bob").await.expect(404),
        world.delete(ROOM.1).await.expect(204),
        world.delete(ROOM.1).await.expect(404),
        world.delete("/api/dead-letters/RoomCopies.x").await.expect(404),
    ] {
        charged(&answer);
    }
}

#[tokio::test]
async fn the_problem_of_a_bug_has_the_invocation_id_of_its_log_line() {
    let world = World::new().await;
    let bad = json!({"id": "bad", "roomId": "bad", "type": "room", "title": "secret"});
    world.write_item("rooms", &bad).await;
    let answer = world.invoke("an-invocation", ("GET", "/api/rooms/bad")).await.expect(500);
    assert_eq!(answer.json()["invocationId"], "an-invocation");
    assert_eq!(answer.json()["type"], "urn:tributary:problem:internal");
    assert!(!answer.text.contains("secret"), "{}", answer.text);
    let answer = world.get("/api/rooms/bad").await.expect(500);
    assert!(answer.json().get("invocationId").is_none());
}

/// Refusals that share the requests of one group divide its cost among them.
#[tokio::test(flavor = "multi_thread")]
async fn every_refusal_that_used_the_store_has_its_charge() {
    let world = given::rooms().await;
    let paths = (0..60).flat_map(|n| {
        [
            format!("/api/rooms/none/bookings/b{n}"),
            format!("/api/rooms/none{n}/bookings/b"),
            format!("/api/rooms/r1/bookings/b{n}"),
            format!("/api/rooms/none/bookings/b{}", n % 3),
        ]
    });
    let deletes = paths.map(|path| {
        let world = world.clone();
        tokio::spawn(async move { world.delete(&path).await })
    });
    for answer in join_all(deletes).await {
        let answer = answer.unwrap();
        problem(&answer, 404);
        charged(&answer);
    }
}
