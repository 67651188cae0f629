//! Interleavings of the engines: each story holds one store request back and runs another operation. Then
//! it sends the request, or kills the handler there.

use tributary_local::cosmos::RequestKind::Batch;
use tributary_testing::{interleavings::amid, problems::problem};

use crate::given::{self, deliver};

#[tokio::test]
async fn two_removals_of_the_children_of_one_parent_at_once_both_succeed() {
    let world = given::rooms().await;
    given::booking(&world, "r1", "bob").await.expect(201);
    world.delete("/api/rooms/r1").await.expect(204);
    let tombstone = world.item("rooms", "r1").await;
    let one = deliver(&world, "RoomsIntegrity", &tombstone);
    let other = deliver(&world, "RoomsIntegrity", &tombstone);
    amid((&world, Batch, "rooms"), one, other).await;
    assert_eq!(world.items("rooms").await, [tombstone]);
}

#[tokio::test]
async fn a_dead_letter_stored_anew_while_it_is_replayed_stays() {
    let world = given::rooms().await;
    let bad = given::bad_room("r1");
    let good = world.item("rooms", "r1").await;
    deliver(&world, "RoomCopies", &bad).await;
    let dead_letter = world.list("/api/dead-letters").await.remove(0);
    let spoilt_again = async {
        world.write_item("rooms", &bad).await;
        deliver(&world, "RoomCopies", &bad).await;
    };
    let replay = given::replay(&world, &dead_letter);
    let answer = amid((&world, Batch, "dead-letters"), replay, spoilt_again).await;
    problem(&answer, 409);
    assert_eq!(world.items("dead-letters").await.len(), 1);

    world.write_item("rooms", &good).await;
    given::replay(&world, &dead_letter).await.expect(200);
    assert!(world.list("/api/dead-letters").await.is_empty());
}
