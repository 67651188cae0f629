//! Lists in pages: each item exactly once, in order, with any limits and any changes between pages.

use std::collections::{BTreeMap, BTreeSet};

use proptest::{collection::vec, prelude::*};
use serde_json::{Value, json};
use tokio::runtime::Runtime;
use tributary_testing::{answers::free_of_charge, problems::bad_fields};

use crate::{World, given};

/// A creation date and an id, by which lists are sorted.
type Key = (String, String);

/// A list in a world with [`given::rooms`].
#[derive(Debug, Clone, Copy)]
enum Kind {
    Bookings,
    Rooms,
}

use Kind::{Bookings, Rooms};

impl Kind {
    fn path(self) -> &'static str {
        match self {
            Bookings => "/api/rooms/r1/bookings",
            Rooms => "/api/people/ann/rooms",
        }
    }

    /// Writes an item past the app, since the app would choose the date.
    async fn write(self, world: &World, (date, id): &Key) {
        let (container, item) = match self {
            Bookings => (
                "rooms",
                json!({
                    "type": "booking", "id": id, "roomId": "r1", "personId": "ann",
                    "purpose": "P", "creationDate": date, "roomVersion": 1,
                }),
            ),
            Rooms => (
                "people",
                json!({
                    "type": "room", "id": format!("room:{id}"), "roomId": id, "personId": "ann",
                    "personName": "Ann", "title": "T", "bookingCount": 0, "creationDate": date,
                    "version": 1,
                }),
            ),
        };
        world.write_item(container, &item).await;
    }

    async fn delete(self, world: &World, (_, id): &Key) {
        let (container, partition, id) = match self {
            Bookings => ("rooms", "r1", id.clone()),
            Rooms => ("people", "ann", format!("room:{id}")),
        };
        world.delete_item(container, partition, &id).await;
    }

    fn sorted(self, keys: impl IntoIterator<Item = Key>) -> Vec<Key> {
        let mut keys: Vec<Key> = keys.into_iter().collect();
        keys.sort_unstable();
        if matches!(self, Rooms) {
            keys.reverse();
        }
        keys
    }
}

/// Returns a key whose date is one of five, so that many items share one.
fn key(date: u8, id: u16) -> Key {
    (format!("2026-11-21T09:25:0{}.120Z", date % 5), format!("n{}", mixed_text(id)))
}

/// Returns a number in eight characters of several kinds: ids that sort in many ways.
fn mixed_text(n: u16) -> String {
    let alphabet = ["a", "B", "Z", "z", "0", "-", ".", "_"];
    let mut n = usize::from(n);
    let mut text = String::new();
    while n > 0 {
        text.push_str(alphabet[n % 8]);
        n /= 8;
    }
    text
}

async fn page(
    world: &World,
    kind: Kind,
    limit: usize,
    cursor: Option<&str>,
) -> (Vec<Key>, Option<String>) {
    let cursor = cursor.map(|cursor| format!("&cursor={cursor}")).unwrap_or_default();
    let path = format!("{}?limit={limit}{cursor}", kind.path());
    let list = world.get(&path).await.expect(200).json();
    let text = |item: &Value, member: &str| item[member].as_str().unwrap().to_owned();
    let items = list["items"].as_array().unwrap();
    let keys = items.iter().map(|item| (text(item, "creationDate"), text(item, "id"))).collect();
    (keys, list["nextCursor"].as_str().map(str::to_owned))
}

async fn world_with(kind: Kind, keys: &BTreeSet<Key>) -> World {
    let world = given::rooms().await;
    for key in keys {
        kind.write(&world, key).await;
    }
    world
}

fn keys(items: &[(u8, u16)]) -> BTreeSet<Key> {
    let by_id: BTreeMap<u16, u8> = items.iter().map(|(date, id)| (*id, *date)).collect();
    by_id.into_iter().map(|(id, date)| key(date, id)).collect()
}

#[derive(Debug, Clone)]
enum Event {
    Insert(u8, u16),
    /// Deletes one of the existing items.
    Delete(prop::sample::Index),
}

fn events() -> impl Strategy<Value = Event> {
    prop_oneof![
        (any::<u8>(), 500u16..900).prop_map(|(date, id)| Event::Insert(date, id)),
        any::<prop::sample::Index>().prop_map(Event::Delete),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..Default::default() })]

    #[test]
    fn the_cursor_visits_every_item_once_in_order_whatever_changes_between_pages(
        kind in prop_oneof![Just(Bookings), Just(Rooms)],
        items in vec((any::<u8>(), 1u16..500), 0..70),
        limits in vec(prop_oneof![1usize..12, Just(100)], 1..6),
        events in vec(vec(events(), 0..5), 0..10),
    ) {
        Runtime::new().unwrap().block_on(async {
            let mut there = keys(&items);
            let mut all_along = there.clone();
            let world = world_with(kind, &there).await;
            let mut visited = Vec::new();
            let mut cursor = None;
            let mut events = events.iter();
            for limit in limits.iter().cycle() {
                let (found, next) = page(&world, kind, *limit, cursor.as_deref()).await;
                assert!(found.iter().all(|key| there.contains(key)), "{found:?}");
                visited.extend_from_slice(&found);
                if next.is_none() {
                    assert!(found.len() <= *limit);
                    break;
                }
                assert_eq!(found.len(), *limit, "every page but the last is full");
                cursor = next;
                for event in events.next().into_iter().flatten() {
                    match event {
                        Event::Insert(date, id) => {
                            let key = key(*date, *id);
                            if there.iter().all(|(_, id)| *id != key.1) {
                                kind.write(&world, &key).await;
                                there.insert(key);
                            }
                        }
                        Event::Delete(index) if !there.is_empty() => {
                            let key = there.iter().nth(index.index(there.len())).unwrap().clone();
                            kind.delete(&world, &key).await;
                            there.remove(&key);
                            all_along.remove(&key);
                        }
                        Event::Delete(_) => {}
                    }
                }
            }
            let once: BTreeSet<Key> = visited.iter().cloned().collect();
            assert_eq!(visited, kind.sorted(once.clone()), "an item was repeated");
            assert!(all_along.is_subset(&once), "skipped: {:?}", all_along.difference(&once));
        });
    }
}

#[tokio::test]
async fn a_page_has_20_items_unless_told_otherwise() {
    for kind in [Bookings, Rooms] {
        let items: Vec<_> = (1..=101).map(|id| (0, id)).collect();
        let world = world_with(kind, &keys(&items)).await;
        for (query, n) in [("", 20), ("?limit=1", 1), ("?limit=100", 100), ("?", 20)] {
            let list = world.get(&format!("{}{query}", kind.path())).await.expect(200).json();
            assert_eq!(list["items"].as_array().unwrap().len(), n);
            assert!(list["nextCursor"].is_string(), "{list}");
        }
        let last = format!("{}?limit=1&cursor={}", kind.path(), cursor(&world, kind, 100).await);
        let list = world.get(&last).await.expect(200).json();
        assert_eq!(list["items"].as_array().unwrap().len(), 1);
        assert_eq!(list["nextCursor"], Value::Null);
    }
}

const LISTS: [&str; 2] = ["/api/rooms/r1/bookings", "/api/people/ann/rooms"];

#[tokio::test]
async fn a_bad_limit_is_refused() {
    let world = given::rooms().await;
    for path in LISTS {
        for limit in ["0", "101", "-1", "abc", "", "1.5", "0x10", "%20", "4294967297", "%FF"] {
            let answer = world.get(&format!("{path}?limit={limit}")).await;
            assert_eq!(bad_fields(&answer), ["limit"], "{limit:?}");
            free_of_charge(&answer);
        }
        for limit in ["1", "100"] {
            world.get(&format!("{path}?limit={limit}&unknown=1")).await.expect(200);
        }
    }
}

#[tokio::test]
async fn a_cursor_ends_with_its_parent() {
    let items: Vec<_> = (1..=9).map(|id| (0, id)).collect();
    let world = world_with(Bookings, &keys(&items)).await;
    let cursor = cursor(&world, Bookings, 4).await;
    world.delete("/api/rooms/r1").await.expect(204);
    world.get(&format!("/api/rooms/r1/bookings?cursor={cursor}")).await.expect(404);
}

async fn cursor(world: &World, kind: Kind, limit: usize) -> String {
    page(world, kind, limit, None).await.1.unwrap()
}
