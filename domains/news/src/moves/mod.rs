//! Moves: an item goes from a source to a target, and is neither lost nor doubled.
//!
//! A place is a container and a logical partition ([`Place`]). No transaction reaches two places, so a
//! move is several writes. There are two kinds.
//!
//! | kind | source and target | writes |
//! | --- | --- | --- |
//! | [`age`] | a container and a colder one, in one logical partition | 2 |
//! | [`edit`] | two places, after an edit of the date that decides the place | 5 |
//!
//! A [`run`] moves all due items to a colder container, and ends the moves that a crash has left
//! (`unfinished`).
//!
//! # A move to a colder container
//!
//! 1. The item is copied to the colder container, in the version that was read.
//! 2. The copy in the hotter container gets the state *carried*, under the ETag of that version, and a
//!    time to live, after which the store deletes it.
//!
//! Until the second write the hotter copy is the item, and edits go there. From then on the colder copy is
//! the item. A read of an item asks the hotter container first, and takes the item there unless it is
//! carried. A list asks both containers, and takes the newest version of each item.
//!
//! ## Why it ends right
//!
//! *Nothing is lost.* The hotter copy becomes carried, and gets its time to live, in one write. Before that
//! write, the colder container has acknowledged the same version, or a read has returned it from there. An
//! edit between the two writes changes the ETag: the store refuses the second write, and the newer version
//! is copied.
//!
//! *An older version never replaces a newer one.* A copy is created where the target was read as empty, or
//! replaces an older version under its ETag.
//!
//! *A late copy does no harm.* A worker reads the target, then the source, and only then writes the target.
//! Suppose that another worker has moved the item meanwhile: then the target has changed since it was
//! read, and the store refuses the write. That also holds if the item has moved on since, as it leaves a
//! tombstone. And a worker that has read the tombstone reads the source after it: the source is the item
//! only if the item has come back.
//!
//! *A reader finds the item, whatever container it asks first.* The carried copy keeps its content for a
//! day. So an item that was not yet in the colder container when a reader asked there is still in the
//! hotter one when the reader asks there within this day. Both copies have the same position in a list,
//! since a command that changes the position removes the carried copy first. So a list that merges the
//! containers meets both copies side by side.
//!
//! *The move ends.* The query for due items finds each move that was interrupted.
//!
//! # A move after an edit
//!
//! 1. The target is reserved: a tombstone there names the move ([`Reservation`]).
//! 2. The item gets a [`Departure`] with its complete new content, under its ETag. Readers see the item as
//!    before. A command that is to write a departing item ends the move first.
//! 3. The item is written into the target, under the ETag of the reservation.
//! 4. Its [`Location`] names the target, and the version with which the item came there.
//! 5. A tombstone replaces the item in the source.
//!
//! [`depart`] makes all five. [`end`] makes the third to the fifth: for another command on the item, and
//! for the runs. A command first ends a move to a colder container that may be under way
//! ([`move_to_colder`]), and deletes the carried copies ([`remove_carried_copy`]). No run moves a
//! departing item, so the two kinds of moves do not overlap.
//!
//! The store may refuse the item in the target, since the partition is full (20 GB). In most cases it
//! refuses the reservation, and no move has begun. Otherwise the move is taken back: the reservation is
//! deleted under its ETag, then the departure is removed from the item under the item's ETag.
//!
//! ## Why it ends right
//!
//! *The departure decides the content of the write*, once, with the whole item in it: so each worker that
//! ends the move writes the same.
//!
//! *The reservation decides the outcome.* A departing item is written into the target only over the
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
//! that was taken, which keeps a late copy out, a tombstone stays. If
//! the full partition refuses that write, too, the item keeps its departure until the reservation expires
//! after a day. Then the item stays where it is.
//!
//! *An unfinished move is not made twice.* Suppose that a crash stopped it before the tombstone, and that
//! the item has moved on from the target. Then the location has the version that this move gives, or a
//! later one, and only the tombstone is missing. A worker that finds the target without the item sees
//! this, since it reads the location after the target.
//!
//! *An item does not move on before its location names its place.* A command finds an item by its
//! location, also an item in another container of the same logical partition, whose location is behind.
//! The item has the version of its arrival, and the place that it has come from
//! (`arrived_from`). A command that finds an older version in the location
//! ends the move first, and so does a run. Otherwise the source would keep its departure for long,
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
//! *No loss, no double.* The source becomes a tombstone only after the item is in the target. Between
//! the two writes both exist: a reader that finds a departing item looks into the new place, and leaves
//! the departing item out if it has arrived ([`has_arrived`]).
//!
//! Tests run the protocol with several workers on a model of the store. The workers are stopped, repeated
//! and cut off at any request (`edit/tests.rs`).

pub mod age;
pub mod edit;
mod places;
pub mod run;
mod stored;
mod unfinished;

pub use age::{AgeMoveOutcome, move_to_colder, remove_carried_copy};
pub use edit::{MoveOutcome, depart, end, has_arrived, unfinished_from};
pub use places::{FoundItem, Places, vacant};
pub use stored::{
    Arrival, CopyState, Departure, Location, NewsItem, Place, Reservation, StoredItem, Vacated,
};
pub use unfinished::UnfinishedMoves;
