//! Rooms and their bookings over HTTP.

use serde_json::{Value, json};
use tributary_testing::{Answer, budget::budget};

use crate::World;

pub(crate) const BOOKINGS: &str = "/api/rooms/blue/bookings";

/// A world with the room `blue`.
pub(crate) async fn rooms() -> World {
    let world = World::new().await;
    named(&world, "Blue").await.expect(201);
    world
}

pub(crate) async fn named(world: &World, name: &str) -> Answer {
    world.put("/api/rooms/blue", json!({"name": name})).await
}

/// A booking on a day of January 2099, from one hour until another.
pub(crate) fn times(person: &str, day: u8, hours: [u8; 2]) -> Value {
    let [starts_at, ends_at] = hours.map(|hour| format!("2099-01-{day:02}T{hour:02}:00:00.000Z"));
    json!({"personId": person, "startsAt": starts_at, "endsAt": ends_at})
}

pub(crate) async fn book(world: &World, person: &str, day: u8, hours: [u8; 2]) -> Answer {
    world.post(BOOKINGS, times(person, day, hours)).await
}

#[tokio::test]
async fn a_room_counts_its_bookings() {
    let world = rooms().await;
    let first = book(&world, "ann", 1, [9, 10]).await.expect(201);
    book(&world, "bob", 1, [10, 11]).await.expect(201);
    let room = world.get("/api/rooms/blue").await.expect(200).json();
    assert_eq!(room, json!({"roomId": "blue", "name": "Blue", "bookingCount": 2}));

    world.delete(first.header("location")).await.expect(204);
    world.delete(first.header("location")).await.expect(404);
    assert_eq!(world.get("/api/rooms/blue").await.expect(200).json()["bookingCount"], 1);
    world.delete(&format!("{BOOKINGS}/blue")).await.expect(404);
}

#[tokio::test]
async fn a_bad_booking_is_refused() {
    let world = rooms().await;
    let bad = json!({"personId": "ann", "startsAt": "today", "endsAt": "2099-01-01T00:00:00Z"});
    let problem = world.post(BOOKINGS, bad).await.expect(400).json();
    assert_eq!(problem["errors"][0]["field"], "startsAt");
    book(&world, "ann", 1, [10, 9]).await.expect(400);
    let past = json!({
        "personId": "ann", "startsAt": "2020-01-01T09:00:00Z", "endsAt": "2020-01-01T10:00:00Z",
    });
    world.post(BOOKINGS, past).await.expect(400);
    world.post("/api/rooms/none/bookings", times("ann", 1, [9, 10])).await.expect(404);
}

#[tokio::test]
async fn the_bookings_of_a_range_of_dates_are_listed_page_by_page() {
    let world = rooms().await;
    for day in 1..=6 {
        book(&world, "ann", day, [9, 10]).await.expect(201);
    }
    let days = |page: &Value| -> Vec<String> {
        let starts = page["items"].as_array().unwrap().iter().map(|item| &item["startsAt"]);
        starts.map(|start| start.as_str().unwrap()[8..10].to_owned()).collect()
    };
    let range = format!("{BOOKINGS}?from=2099-01-02T09:00:00Z&until=2099-01-05");
    let all = world.get(&range).await.expect(200).json();
    assert_eq!(
        (days(&all), &all["nextCursor"]),
        (["02", "03", "04"].map(String::from).into(), &Value::Null)
    );
    let first = world.get(&format!("{range}&limit=2")).await.expect(200).json();
    assert_eq!(days(&first), ["02", "03"]);
    let cursor = first["nextCursor"].as_str().unwrap();
    let rest = world.get(&format!("{range}&limit=2&cursor={cursor}")).await.expect(200).json();
    assert_eq!((days(&rest), &rest["nextCursor"]), (vec!["04".to_owned()], &Value::Null));

    // A cursor is of its range, and no range ends before it begins.
    world.get(&format!("{BOOKINGS}?cursor={cursor}")).await.expect(400);
    world.get(&format!("{BOOKINGS}?from=2099-01-02&until=2099-01-02")).await.expect(400);
    assert_eq!(world.list(BOOKINGS).await.len(), 6);
}

#[tokio::test]
async fn each_request_costs_what_its_budget_says() {
    let world = rooms().await;
    let first = book(&world, "ann", 1, [9, 10]).await.expect(201);
    world.settle().await;
    let range = format!("{BOOKINGS}?from=2099-01-01&until=2099-02-01");
    let counts = "/api/booking-counts?people=ann,bob,cy";
    let new = |hours| Some(times("ann", 2, hours));
    for (method, path, body, cost) in [
        (
            "PUT",
            "/api/rooms/blue",
            Some(json!({"name": "Azure"})),
            "2 requests, 11.70 RU: read rooms, replace rooms",
        ),
        ("POST", BOOKINGS, new([9, 10]), "2 requests, 13.50 RU: read rooms, batch rooms"),
        ("GET", &range, None, "1 request, 4.25 RU: query rooms"),
        ("GET", "/api/people/ann/agenda", None, "1 request, 3.42 RU: query people"),
        (
            "GET",
            counts,
            None,
            "3 requests, 3.00 RU: read booking-counts, read booking-counts, read booking-counts",
        ),
        (
            "DELETE",
            first.header("location"),
            None,
            "3 requests, 14.70 RU: read rooms, read rooms, batch rooms",
        ),
    ] {
        budget(&world, (method, path, body), cost).await;
    }
    // A refusal needs the latest committed state.
    let refused = book(&world, "bob", 2, [9, 10]).await.expect(409);
    assert_eq!(refused.header("x-ms-request-charge"), "5");
}
