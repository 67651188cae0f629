//! Rooms and their bookings over HTTP.

use serde_json::{Value, json};
use tributary_testing::{budget::budget, checks};

use crate::World;

const BOOKINGS: &str = "/api/rooms/blue/bookings";

/// A world with the people `ann` and `bob`, and Ann's room `blue`.
async fn rooms() -> World {
    let world = World::new().await;
    for (id, name) in [("ann", "Ann"), ("bob", "Bob")] {
        world.put(&format!("/api/people/{id}"), json!({"name": name})).await.expect(201);
    }
    world.put("/api/rooms/blue", room("The blue room")).await.expect(201);
    world
}

fn room(title: &str) -> Value {
    json!({"personId": "ann", "title": title})
}

fn booking(purpose: &str) -> Value {
    json!({"personId": "bob", "purpose": purpose})
}

#[tokio::test]
async fn a_room_counts_its_bookings() {
    let world = rooms().await;
    let first = world.post(BOOKINGS, booking("Lunch")).await.expect(201);
    world.post(BOOKINGS, booking("Dinner")).await.expect(201);
    assert_eq!(world.get("/api/rooms/blue").await.expect(200).json()["bookingCount"], 2);
    world.delete(first.header("location")).await.expect(204);
    assert_eq!(world.get("/api/rooms/blue").await.expect(200).json()["bookingCount"], 1);
    assert_eq!(world.list(BOOKINGS).await.len(), 1);
}

#[tokio::test]
async fn a_repeated_booking_is_carried_out_once() {
    let world = rooms().await;
    let book = async |purpose| {
        let headers = [("idempotency-key", "k")];
        world.call("POST", BOOKINGS, &headers, Some(booking(purpose))).await
    };
    let first = book("Lunch").await.expect(201);
    assert_eq!(book("Lunch").await.expect(201).json(), first.json());
    book("Dinner").await.expect(409);
    assert_eq!(world.list(BOOKINGS).await.len(), 1);
}

#[tokio::test]
async fn copies_and_counts_follow_the_rooms_and_the_names_of_people() {
    let world = rooms().await;
    world.put("/api/people/ann", json!({"name": "Anna"})).await.expect(200);
    world.settle().await;
    for list in ["/api/people/ann/rooms", "/api/newest-rooms"] {
        let rooms = world.get(list).await.expect(200).json();
        assert_eq!(rooms["items"][0]["personName"], "Anna", "{list}");
    }
    let count = async || world.get("/api/people/ann/room-count").await.expect(200).json();
    assert_eq!(count().await["roomCount"], 1);
    world.delete("/api/rooms/blue").await.expect(204);
    world.settle().await;
    assert_eq!(count().await["roomCount"], 0);
    assert_eq!(world.list("/api/people/ann/rooms").await.len(), 0);
}

#[tokio::test]
async fn an_index_serves_each_query_and_each_index_serves_a_query() {
    let world = World::new().await;
    checks::send_examples(&world).await;
    // The newest rooms are queried where the window has lost one of them.
    for n in 0..=10 {
        world.put(&format!("/api/rooms/r{n}"), room("A room")).await.expect(201);
    }
    world.settle().await;
    world.delete("/api/rooms/r10").await.expect(204);
    world.settle().await;
    checks::indexes::every_query_has_an_index(&world);
}

#[tokio::test]
async fn each_request_costs_what_its_budget_says() {
    let world = rooms().await;
    let first = world.post(BOOKINGS, booking("Lunch")).await.expect(201);
    world.settle().await;
    let replaced = "2 requests, 11.70 RU: read rooms, replace rooms";
    let batch = "2 requests, 15.10 RU: read rooms, batch rooms";
    for (method, path, body, cost) in [
        ("PUT", "/api/rooms/blue", Some(room("Azure")), replaced),
        ("POST", BOOKINGS, Some(booking("Dinner")), batch),
        ("GET", BOOKINGS, None, "1 request, 3.64 RU: query rooms"),
        ("GET", "/api/people/ann/rooms", None, "1 request, 3.52 RU: query people"),
        ("GET", "/api/people/ann/room-count", None, "1 request, 1.00 RU: read room-counts"),
        ("DELETE", first.header("location"), None, batch),
    ] {
        budget(&world, (method, path, body), cost).await;
    }
}
