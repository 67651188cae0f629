//! Unreadable items in lists. The app as a whole has all lists under the checks.

use serde_json::json;
use tributary_testing::checks::lists::ListUnderTest;

use crate::{World, given};

const BOOKINGS: ListUnderTest = ListUnderTest {
    path: "/api/rooms/r1/bookings?",
    container: "rooms",
    having: &[("type", "booking")],
    id_prefix: "",
    needs: "purpose",
    date: Some("creationDate"),
};

async fn world() -> World {
    let world = given::rooms().await;
    for _ in 0..7 {
        given::booking(&world, "r1", "bob").await.expect(201);
    }
    world
}

/// The request does not search for the next readable item, which may be thousands of items away.
#[tokio::test]
async fn a_page_of_unreadable_items_is_empty_and_has_a_cursor() {
    let world = world().await;
    for id in &BOOKINGS.ids(&world, 100).await[..2] {
        world.make_unreadable("rooms", id, "purpose").await;
    }
    let page = BOOKINGS.page(&world, 1, None).await.expect(200).json();
    assert_eq!((&page["items"], page["nextCursor"].is_string()), (&json!([]), true), "{page}");
}

#[tokio::test]
async fn an_unreadable_item_costs_a_list_no_further_request() {
    let world = world().await;
    let requests = async || {
        let before = world.endpoint.request_count();
        BOOKINGS.page(&world, 100, None).await.expect(200);
        world.endpoint.request_count() - before
    };
    let readable = requests().await;
    world.make_unreadable("rooms", &BOOKINGS.ids(&world, 100).await[3], "purpose").await;
    assert_eq!(requests().await, readable);
}
