//! Out-of-order deliveries. The proof has those of whole histories ([`proofs`](crate::proofs)).

use std::time::{Duration, SystemTime};

use serde_json::Value;

use crate::{World, given};

const COPIES: [&str; 2] = ["RoomCopies", "NewestRooms"];

/// Returns the titles of Ann's rooms, beside her and among the newest.
async fn titles(world: &World) -> [Vec<Value>; 2] {
    let title = |room: &Value| room["title"].clone();
    let beside = world.list("/api/people/ann/rooms").await;
    let newest = world.list("/api/newest-rooms").await;
    [beside, newest].map(|rooms| rooms.iter().map(title).collect())
}

/// Returns the number of tombstones of rooms and of their copies.
async fn tombstones(world: &World) -> usize {
    let mut n = 0;
    for container in ["rooms", "people", "newest-rooms"] {
        let items = world.items(container).await;
        n += items.iter().filter(|item| item.get("ttl").is_some()).count();
    }
    n
}

#[tokio::test]
async fn a_deleted_source_does_not_come_back_for_thirty_days() {
    const DAY: Duration = Duration::from_hours(24);
    let world = given::rooms().await;
    let older = world.item("rooms", "r1").await;
    world.settle().await;
    world.delete("/api/rooms/r1").await.expect(204);
    world.settle().await;
    world.endpoint.expire_items(SystemTime::now() + 29 * DAY).await;
    for function in COPIES {
        given::deliver(&world, function, &older).await;
    }
    assert_eq!(titles(&world).await, [[], []] as [[Value; 0]; 2]);
    assert_eq!(tombstones(&world).await, 3);

    world.endpoint.expire_items(SystemTime::now() + 31 * DAY).await;
    assert_eq!(tombstones(&world).await, 0);
}
