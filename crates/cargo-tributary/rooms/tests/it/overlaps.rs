//! No two bookings of a room overlap, whatever comes at once, twice, late or to two instances.

use tokio::task::yield_now;
use tributary_testing::{
    Fault, RequestKind,
    interleavings::{amid, held},
};

use crate::{
    World,
    bookings::{BOOKINGS, book, rooms, times},
};

/// Returns the statuses of answers, sorted.
async fn bookings_and(world: &World, answers: &[u16]) -> (usize, Vec<u16>) {
    let mut statuses = answers.to_vec();
    statuses.sort_unstable();
    (world.list(BOOKINGS).await.len(), statuses)
}

#[tokio::test]
async fn a_booking_that_overlaps_is_refused_until_the_other_is_cancelled() {
    let world = rooms().await;
    let first = book(&world, "ann", 1, [9, 11]).await.expect(201);
    for hours in [[9, 11], [8, 10], [10, 12], [8, 12]] {
        book(&world, "bob", 1, hours).await.expect(409);
    }
    book(&world, "bob", 1, [8, 9]).await.expect(201);
    book(&world, "bob", 1, [11, 12]).await.expect(201);
    world.delete(first.header("location")).await.expect(204);
    book(&world, "bob", 1, [10, 11]).await.expect(201);
}

#[tokio::test]
async fn of_two_bookings_at_two_instances_the_second_is_refused() {
    let world = rooms().await;
    let other = world.second_instance().await;
    let first = async { book(&world, "ann", 1, [9, 11]).await.status.as_u16() };
    let second = async {
        book(&other, "bob", 1, [10, 12]).await.expect(201);
    };
    let held = amid((&world, RequestKind::Batch, "rooms"), first, second).await;
    assert_eq!(bookings_and(&world, &[held]).await, (1, vec![409]));
}

#[tokio::test]
async fn of_bookings_that_come_to_one_instance_at_once_none_overlap() {
    let world = rooms().await;
    let booked = async |hours| book(&world, "ann", 1, hours).await.status.as_u16();
    // While the first is on its way, the others wait, and go together.
    let (hold, first) = held((&world, RequestKind::Batch, "rooms"), booked([9, 11])).await;
    let release = async {
        yield_now().await;
        hold.release();
    };
    let (first, second, third, fourth, fifth, ()) = tokio::join!(
        first,
        booked([10, 12]),
        booked([11, 13]),
        booked([12, 14]),
        booked([13, 14]),
        release,
    );
    let (n, statuses) = bookings_and(&world, &[first, second, third, fourth, fifth]).await;
    assert_eq!((n, statuses), (3, vec![201, 201, 201, 409, 409]));
    let mut times: Vec<_> = world
        .list(BOOKINGS)
        .await
        .iter()
        .map(|booking| [&booking["startsAt"], &booking["endsAt"]].map(ToString::to_string))
        .collect();
    times.sort();
    assert!(times.windows(2).all(|two| two[0][1] <= two[1][0]), "{times:?}");
}

#[tokio::test]
async fn a_booking_whose_answer_was_lost_is_not_refused_for_its_own_sake() {
    let world = rooms().await;
    world.endpoint.inject(Fault::AnswerLost, RequestKind::Batch, "rooms", 1);
    let first = book(&world, "ann", 1, [9, 10]).await.expect(201);
    assert_eq!(world.list(BOOKINGS).await.len(), 1);
    world.endpoint.inject(Fault::AnswerLost, RequestKind::Batch, "rooms", 1);
    world.delete(first.header("location")).await.expect(204);
    assert_eq!(world.list(BOOKINGS).await.len(), 0);
}

#[tokio::test]
async fn a_repeated_booking_is_carried_out_once_and_a_cancelled_one_does_not_come_back() {
    let world = rooms().await;
    let once = async |hours| {
        let body = Some(times("ann", 1, hours));
        world.call("POST", BOOKINGS, &[("idempotency-key", "k")], body).await
    };
    let first = once([9, 10]).await.expect(201);
    assert_eq!(once([9, 10]).await.expect(201).json(), first.json());
    once([10, 11]).await.expect(409);
    world.delete(first.header("location")).await.expect(204);
    once([9, 10]).await.expect(409);
    assert_eq!(world.list(BOOKINGS).await.len(), 0);
}

#[tokio::test]
async fn a_stale_replica_refuses_no_booking() {
    let world = rooms().await;
    let first = book(&world, "ann", 1, [9, 10]).await.expect(201);
    let stale = world.stale_reads("rooms");
    world.delete(first.header("location")).await.expect(204);
    let other = world.second_instance().await;
    book(&other, "bob", 1, [9, 10]).await.expect(201);
    drop(stale);
    assert_eq!(world.list(BOOKINGS).await.len(), 1);
}
