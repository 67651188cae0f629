//! Lists in pages, with changes between them. The check of lists has pages of each size.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use tributary_testing::{answers::free_of_charge, problems::bad_fields};

use crate::{World, given};

/// A creation date and an id, by which lists are sorted.
type Key = (String, String);

const BOOKINGS: &str = "/api/rooms/r1/bookings";

/// Returns a key whose date is one of three, so that many items share one. Their ids sort in many ways.
fn key(n: usize) -> Key {
    let kind = ["a", "B", "Z", "z", "0", "-", ".", "_"][n % 8];
    (format!("2026-11-21T09:25:0{}.120Z", n % 3), format!("n{kind}{n}"))
}

/// Writes a booking past the app, which would choose the date.
async fn write(world: &World, (date, id): &Key) {
    let booking = json!({
        "type": "booking", "id": id, "roomId": "r1", "personId": "ann", "purpose": "P",
        "creationDate": date, "roomVersion": 1,
    });
    world.write_item("rooms", &booking).await;
}

async fn page(world: &World, query: &str) -> (Vec<Key>, Option<String>) {
    let page = world.get(&format!("{BOOKINGS}?{query}")).await.expect(200).json();
    let text = |item: &Value, member: &str| item[member].as_str().unwrap().to_owned();
    let items = page["items"].as_array().unwrap().iter();
    let keys = items.map(|item| (text(item, "creationDate"), text(item, "id"))).collect();
    (keys, page["nextCursor"].as_str().map(str::to_owned))
}

#[tokio::test]
async fn the_cursor_visits_every_item_once_in_order_whatever_changes_between_pages() {
    let world = given::rooms().await;
    let mut all_along: BTreeSet<Key> = (0..30).map(key).collect();
    for key in &all_along {
        write(&world, key).await;
    }
    let (mut visited, mut query) = (Vec::new(), "limit=4".to_owned());
    for n in 0.. {
        let (found, next) = page(&world, &query).await;
        visited.extend(found);
        let Some(cursor) = next else { break };
        assert_eq!(visited.len(), 4 * (n + 1), "every page but the last is full");
        query = format!("limit=4&cursor={cursor}");
        // The item at which the cursor stands, another, and new ones before and behind it.
        for gone in [visited[visited.len() - 1].clone(), key(7 * n % 30)] {
            if all_along.remove(&gone) {
                world.delete_item("rooms", "r1", &gone.1).await;
            }
        }
        for new in [key(100 + n), key(121 + 2 * n)] {
            write(&world, &new).await;
        }
    }
    assert!(visited.is_sorted_by(|one, next| one < next), "an item was repeated: {visited:?}");
    let skipped: Vec<_> = all_along.iter().filter(|key| !visited.contains(key)).collect();
    assert!(skipped.is_empty(), "{skipped:?}");
}

#[tokio::test]
async fn a_page_has_20_items_unless_told_otherwise_and_100_at_most() {
    let world = given::rooms().await;
    for n in 0..101 {
        write(&world, &key(n)).await;
    }
    for (query, n) in [("", 20), ("limit=1", 1), ("limit=100&unknown=1", 100)] {
        assert_eq!(page(&world, query).await.0.len(), n);
    }
    for limit in ["0", "101", "-1", "abc", "", "1.5", "0x10", "%20", "4294967297", "%FF"] {
        let answer = world.get(&format!("{BOOKINGS}?limit={limit}")).await;
        assert_eq!(bad_fields(&answer), ["limit"], "{limit:?}");
        free_of_charge(&answer);
    }
    // A cursor ends with its parent.
    let cursor = page(&world, "limit=100").await.1.unwrap();
    let last = format!("cursor={cursor}");
    assert!(matches!(page(&world, &last).await, (items, None) if items.len() == 1));
    world.delete("/api/rooms/r1").await.expect(204);
    world.get(&format!("{BOOKINGS}?{last}")).await.expect(404);
}
