//! The move of an item to another place, when an edit changes the date by which it has its place.
//!
//! A place is a container and a logical partition. No transaction reaches two of them, so a move is
//! several writes:
//!
//! 1. The new place is reserved: a tombstone there names the move ([`Reservation`]).
//! 2. The item gets a [`Departure`] with all that it will be, under its ETag. Readers see it as before.
//!    It waits there: a command that is to write it ends the move first.
//! 3. The item takes its new place, under the ETag of the reservation.
//! 4. Its [`Location`] names the new place, and the version with which the item came there.
//! 5. A tombstone takes its old place.
//!
//! [`depart`] makes them all. [`end`] makes the third to the fifth: for another command that meets the
//! item, and for the runs that bring items to a colder container, which look for the moves that a crash
//! has left ([`end_unfinished`]).
//!
//! A new place may refuse the item, since its partition is full (20 GB). Mostly it refuses the
//! reservation, and nothing has begun. Otherwise the move is taken back: the reservation is deleted
//! under its ETag, then the item loses its departure under its own.
//!
//! # How a domain uses it
//!
//! 1. An enum of the containers implements [`Tier`], and the item that readers see [`Content`]. A
//!    container has an [`MovableSlot`] of each: a [`MovableItem`], or the tombstone [`Vacated`].
//! 2. The state of the domain implements [`Places`]: its containers, and one more for the locations.
//! 3. A command writes the location of a new item first, then the item. It finds an item by its location
//!    ([`Places::find`]), and compares the two ([`unfinished_from`]) before it edits the item.
//! 4. An edit that changes the place ends a relocation that may be under way
//!    ([`relocation`](super::relocation)), and calls [`depart`].
//! 5. A list leaves out an item that has departed and [arrived](has_arrived).
//! 6. A timer runs a [`Run`](super::relocation_run::Run).
//!
//! # Why a move ends right
//!
//! *The departure decides what is written*, once, with the whole item in it: so each worker that ends
//! the move writes the same.
//!
//! *The reservation decides whether it is written.* A departing item takes its new place over the
//! reservation of its move, and in no other way. So all outcomes are one sequence of writes in that
//! place, each under the ETag of the one before: reserved, then taken or given up.
//!
//! *A worker that is late does no harm.* It reads the target, then the location, then the source, which
//! has departed since before, and writes each under what it has read. If another has ended the move meanwhile,
//! target and location have changed, and its writes are refused: also when the item has moved on, since
//! it leaves a tombstone, and when it has come back. If another has taken the move back, the
//! reservation is gone, or is that of a later move: the write of the target is refused, whether there
//! is room by then or not. A worker that reads the target after that finds no reservation of the move,
//! and can only take the move back, under the ETag of the source.
//!
//! *To give a reservation up leaves the place as it was.* Where nothing stood before, nothing stands
//! afterwards. Where something stood, which keeps a late copy out ([`relocation`](super::relocation)), a
//! tombstone stays; if the full partition refuses that write, too, the item departs until the
//! reservation expires after a day, and then stays.
//!
//! *A move that has been left is not made twice.* Say that it was cut off before the tombstone, and that
//! the item has moved on from its new place. Then the location has the version that this move gives, or
//! a later one: all that is left to do is the tombstone. A worker that finds the target without the item
//! sees that, since it reads the location after the target.
//!
//! *An item does not go on before its location names it.* A command finds the item by its location,
//! and so also one that was brought to another container of the same logical partition, when its
//! location is behind. The item has the version with which it came, and the place that it has come from
//! ([`arrived_from`](MovableItem::arrived_from)): a command that finds an older version in the location
//! ends the move first, and so does a relocation. Otherwise the source would depart for long: it would
//! stand in the way of a move back, and a worker that finds the target without the item, as its carried
//! copy has expired there, and an older version in the location, would take the move back, and double
//! the item.
//!
//! *An item goes back to where it came from.* Its location names it, and it may still depart from the
//! former place: only the tombstone is missing. A command that is to reserve that place writes the
//! tombstone first.
//!
//! *No loss, no double.* The source becomes a tombstone only when the item stands in its new place.
//! Between the two writes both are there: a reader who meets a departing item looks into the new place,
//! and leaves it out if it has arrived ([`has_arrived`]).
//!
//! *It does not meet a relocation.* An item that another may be bringing to a colder container is
//! brought there before it departs, and its carried copies are deleted. From then on no run brings it
//! on: it departs.
//!
//! The protocol is tested with several workers on a model of the store, which are stopped, repeated and
//! cut off at any request (`protocol/tests.rs`).

mod places;
mod protocol;
mod stored;
mod unfinished;

pub use places::{FoundItem, Places, vacant};
pub use protocol::{MoveOutcome, depart, end, has_arrived, unfinished_from};
pub use stored::{
    Arrival, Content, Departure, ItemPlace, ItemPlaceOf, Location, MovableItem, MovableSlot,
    Reservation, Tier, Vacated,
};
pub use unfinished::{UnfinishedMoves, end_unfinished};
