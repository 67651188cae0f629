//! The bookings of a person: copies that a projection writes.

use serde_json::{Value, json};

use crate::{
    World,
    bookings::{book, named, rooms},
};

async fn agenda(world: &World, person: &str) -> Vec<Value> {
    let agenda = world.get(&format!("/api/people/{person}/agenda")).await.expect(200).json();
    agenda["items"].as_array().unwrap().clone()
}

#[tokio::test]
async fn an_agenda_follows_bookings_cancellations_and_names_of_rooms() {
    let world = rooms().await;
    book(&world, "ann", 2, [9, 10]).await.expect(201);
    let late = book(&world, "ann", 3, [9, 10]).await.expect(201);
    let first = book(&world, "ann", 1, [9, 10]).await.expect(201).json();
    named(&world, "Azure").await.expect(200);
    world.settle().await;
    let items = agenda(&world, "ann").await;
    let mut expected = first;
    expected["roomName"] = json!("Azure");
    assert_eq!((items.len(), &items[0]), (3, &expected));
    assert!(items.iter().all(|item| item["roomName"] == "Azure"));

    world.delete(late.header("location")).await.expect(204);
    world.settle().await;
    assert_eq!(agenda(&world, "ann").await.len(), 2);
    assert_eq!(agenda(&world, "bob").await.len(), 0);
}

#[tokio::test]
async fn the_numbers_of_many_people_follow_their_bookings() {
    let world = rooms().await;
    let first = book(&world, "ann", 1, [9, 10]).await.expect(201);
    for (person, day) in [("ann", 2), ("bob", 3)] {
        book(&world, person, day, [9, 10]).await.expect(201);
    }
    world.settle().await;
    let counts =
        async || world.get("/api/booking-counts?people=ann,bob,cy").await.expect(200).json();
    assert_eq!(counts().await, json!({"ann": 2, "bob": 1, "cy": 0}));
    world.delete(first.header("location")).await.expect(204);
    world.settle().await;
    assert_eq!(counts().await, json!({"ann": 1, "bob": 1, "cy": 0}));
    for bad in ["", "?people=", "?people=a,,b", &format!("?people={}", ["a"; 101].join(","))] {
        world.get(&format!("/api/booking-counts{bad}")).await.expect(400);
    }
}

#[tokio::test]
async fn a_booking_belongs_to_its_person_and_no_other_person_cancels_it() {
    let world = rooms().await;
    let booking = book(&world, "ann", 1, [9, 10]).await.expect(201);
    let world = world.with_easyauth().await;
    let location = booking.header("location");
    for (caller, status) in [("bob", 403), ("ann", 204)] {
        let headers = [("x-ms-client-principal-id", caller)];
        world.call("DELETE", location, &headers, None).await.expect(status);
    }
    world.get("/api/people/ann/agenda").await.expect(401);
}
