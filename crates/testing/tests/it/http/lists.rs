//! The lists of the rooms under the checks for every list.

use serde_json::json;
use tokio::runtime::Runtime;
use tributary_testing::checks::lists::{self, ListUnderTest};

use crate::{World, given};

const BOOKINGS: ListUnderTest = ListUnderTest {
    path: "/api/rooms/r1/bookings?",
    container: "rooms",
    having: &[("type", "booking")],
    id_prefix: "",
    needs: "purpose",
    date: Some("creationDate"),
};

const ROOMS: ListUnderTest = ListUnderTest {
    path: "/api/people/ann/rooms?",
    container: "people",
    having: &[("type", "room")],
    id_prefix: "room:",
    needs: "title",
    date: Some("creationDate"),
};

async fn world() -> World {
    let world = given::rooms().await;
    for n in 0..7 {
        given::room(&world, &format!("n{n}"), "ann").await.expect(201);
        given::booking(&world, "r1", "bob").await.expect(201);
    }
    world.settle().await;
    world
}

#[tokio::test]
async fn a_list_shows_each_item_once_and_leaves_unreadable_ones_out() {
    let world = world().await;
    for list in [BOOKINGS, ROOMS] {
        list.shows_each_item_once(&world).await;
        list.leaves_unreadable_items_out(&world).await;
    }
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

#[test]
fn a_forged_cursor_is_refused_or_shows_a_page_of_the_same_list_at_its_price() {
    let runtime = Runtime::new().unwrap();
    let world = runtime.block_on(world());
    lists::forged_cursors_are_refused(&runtime, &world, &[BOOKINGS, ROOMS]);
}
