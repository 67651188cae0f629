//! The move of an item to another place, after an edit of the date that decides the place.
//!
//! A place is a container and a logical partition ([`ItemPlace`]). No transaction reaches two places, so a
//! move is several writes:
//!
//! 1. The new place is reserved: a tombstone there names the move ([`Reservation`]).
//! 2. The item gets a [`ItemDeparture`] with its complete new content, under its ETag. Readers see the item as
//!    before. A command that is to write a departing item ends the move first.
//! 3. The item is written into its new place, under the ETag of the reservation.
//! 4. Its [`Location`] names the new place, and the version with which the item came there.
//! 5. A tombstone replaces the item in its old place.
//!
//! [`depart`] makes all five. [`end`] makes the third to the fifth: for another command on the item, and
//! for the runs that bring items to a colder container. The runs look for moves that a crash has left
//! ([`end_unfinished`]).
//!
//! The store may refuse the item in its new place, since the partition is full (20 GB). In most cases it
//! refuses the reservation, and no move has begun. Otherwise the move is taken back: the reservation is
//! deleted under its ETag, then the departure is removed from the item under the item's ETag.
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
//! 6. A timer runs a [`RelocationRun`](super::relocation_run::RelocationRun).
//!
//! # Why a move ends right
//!
//! *The departure decides the content of the write*, once, with the whole item in it: so each worker that
//! ends the move writes the same.
//!
//! *The reservation decides the outcome.* A departing item is written into its new place only over the
//! reservation of its move. So all outcomes are one sequence of writes in that place, each under the ETag
//! of the one before: reserved, then taken or given up.
//!
//! *A late worker does no harm.* It reads the target, then the location, then the source, which has
//! departed since before these reads. It writes each under the ETag, or the absence, that it has read.
//!
//! - If another worker has ended the move meanwhile, target and location have changed, and the store
//!   refuses the writes of the late worker. That holds also after the item has moved on, since it leaves a
//!   tombstone, and after it has come back.
//! - If another worker has taken the move back, the reservation is gone, or belongs to a later move. The
//!   store refuses the write of the target, even if the partition has room by then.
//! - A worker that reads the target after that finds no reservation of the move. It can only take the move
//!   back, under the ETag of the source.
//!
//! *A reservation that is given up leaves the place as it was.* An empty place is empty again. In a place
//! that was taken, which keeps a late copy out ([`relocation`](super::relocation)), a tombstone stays. If
//! the full partition refuses that write, too, the item keeps its departure until the reservation expires
//! after a day. Then the item stays where it is.
//!
//! *An unfinished move is not made twice.* Suppose that a crash stopped it before the tombstone, and that
//! the item has moved on from its new place. Then the location has the version that this move gives, or a
//! later one, and only the tombstone is missing. A worker that finds the target without the item sees
//! this, since it reads the location after the target.
//!
//! *An item does not move on before its location names its place.* A command finds an item by its
//! location, also an item in another container of the same logical partition, whose location is behind.
//! The item has the version of its arrival, and the place that it has come from
//! ([`arrived_from`](MovableItem::arrived_from)). A command that finds an older version in the location
//! ends the move first, and so does a relocation. Otherwise the source would keep its departure for long,
//! with two consequences:
//!
//! 1. It would prevent a move back.
//! 2. Suppose that a worker finds the target without the item, as the carried copy has expired there, and
//!    an older version in the location. That worker would take the move back, and double the item.
//!
//! *An item can move back to its former place.* Its location names its present place, and the former place
//! may still have the departing item: only the tombstone is missing. A command that is to reserve the
//! former place writes that tombstone first.
//!
//! *No loss, no double.* The source becomes a tombstone only after the item is in its new place. Between
//! the two writes both exist: a reader that finds a departing item looks into the new place, and leaves
//! the departing item out if it has arrived ([`has_arrived`]).
//!
//! *A move does not overlap a relocation.* A command first ends a relocation that may be under way, and
//! deletes the carried copies. Then the item departs, and no run relocates a departing item.
//!
//! Tests run the protocol with several workers on a model of the store. The workers are stopped, repeated
//! and cut off at any request (`protocol/tests.rs`).

mod places;
mod protocol;
mod stored;
mod unfinished;

pub use places::{FoundItem, Places, vacant};
pub use protocol::{MoveOutcome, depart, end, has_arrived, unfinished_from};
pub use stored::{
    Arrival, Content, ItemDeparture, ItemPlace, ItemPlaceOf, Location, MovableItem, MovableSlot,
    Reservation, Tier, Vacated,
};
pub use unfinished::{UnfinishedMoves, end_unfinished};
