//! The move of an item to another place, when its published date changes.
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
//! item, and for the runs of migration and archive, which look for the moves that a crash has left.
//!
//! A new place may refuse the item, since its partition is full (20 GB). Mostly it refuses the
//! reservation, and nothing has begun. Otherwise the move is taken back: the reservation is deleted
//! under its ETag, then the item loses its departure under its own.
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
//! *A worker that is late does no harm.* It reads the location and the target, then the source, which
//! still departs, and writes each under what it has read. If another has ended the move meanwhile,
//! target and location have changed, and its writes are refused: also when the item has moved on, since
//! it leaves a tombstone, and when it has come back. If another has taken the move back, the
//! reservation is gone, or is that of a later move: the write of the target is refused, whether there
//! is room by then or not. A worker that reads the target after that finds no reservation of the move,
//! and can only take the move back, under the ETag of the source.
//!
//! *To give a reservation up leaves the place as it was.* Where nothing stood before, nothing stands
//! afterwards. Where something stood, which keeps a late copy out
//! ([`relocation`](tributary_functions::engines::relocation)), a tombstone stays; if the full partition refuses that
//! write, too, the item departs until the reservation expires after a day, and then stays.
//!
//! *A move that has been left is not made twice.* Say that it was cut off before the tombstone, and that
//! the item has moved on from its new place. Then the location has the version that this move gives, or
//! a later one: all that is left to do is the tombstone.
//!
//! *An item does not go on before its location names it.* A command finds the item by its location,
//! and so also one that was brought to another container of the same logical partition, when its
//! location is behind. The item has the version with which it came, and the place that it has come from
//! ([`arrived_from`](StoredItem::arrived_from)): a command that finds an older version in the location
//! ends the move first, and so does a relocation. Otherwise the source would depart for long: it would
//! stand in the way of a move back, and a worker that has read the location before the item moved on,
//! and the target after it, would take the move back, and double the item.
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
//! brought there before it departs (`commands/save.rs`), and its carried copies are deleted. From then
//! on nobody brings it on: it departs.

use tributary_functions::{
    cosmos::{ETag, Reason, StoreError, Stored},
    engines::relocation::{Carried, CopyState},
};

use super::{
    feeds::{Location, News},
    model::{
        Departure, ItemId, NewsItem, PartitionKey, Place, Reservation, Store, StoredItem, Vacated,
    },
};

/// How a move has ended.
#[derive(Debug)]
pub(super) enum MoveOutcome {
    /// The item stands in its new place.
    Arrived(Box<Stored<StoredItem>>),
    /// Another has ended it, or the item has gone on.
    Over,
    /// The item stays where it is: the new place refuses it, or is not reserved any more.
    TakenBack(Option<StoreError>),
}

/// Moves an item that was found at `here`, with its location. An error leaves the move in any valid
/// state; a lost race is one. When the new place refuses the item, it stays as it is.
///
/// Six store requests: one read, five writes. Where the item still departs from `to`, that move is ended
/// instead, and the error is a lost race.
pub(super) async fn depart(
    news: &News,
    here: &Place,
    Stored { item, etag }: Stored<StoredItem>,
    location: Stored<Location>,
    departure: Departure,
) -> Result<Stored<StoredItem>, StoreError> {
    let (to, id) = (&departure.to, &item.public.id);
    let found = news.copy_in(to.store, &to.partition_key, id).await?;
    let departs = |found: &Stored<NewsItem>| {
        found.item.copy().is_some_and(|(state, _)| state == CopyState::Departing)
    };
    if found.as_ref().is_some_and(departs) {
        end(news, to.store, &to.partition_key, id).await?;
        return Err(StoreError::race(false));
    }
    let was_taken = found.as_ref().is_some_and(|found| match &found.item {
        NewsItem::Vacated(Vacated { reservation: Some(earlier), .. }) => earlier.was_taken,
        NewsItem::Vacated(_) | NewsItem::FeedItem(_) => true,
    });
    let reservation = Reservation { command: departure.command.clone(), was_taken };
    let reserved = Vacated::new(id.clone(), to.partition_key.clone(), here.partition_key.clone())
        .with_reservation(Some(reservation));
    let over = found.map(vacant).transpose()?;
    let target = news.vacate(to.store, reserved, over.as_ref()).await?;
    let source = news.write(here.store, item.departing(departure), Some(&etag)).await?;
    match finish(news, here, source, Some(location), Some(target)).await? {
        MoveOutcome::Arrived(arrived) => Ok(*arrived),
        MoveOutcome::TakenBack(Some(refusal)) => Err(refusal),
        MoveOutcome::TakenBack(None) | MoveOutcome::Over => Err(StoreError::race(false)),
    }
}

/// Ends a move that has begun. An error leaves it in any valid state; a lost race is one.
///
/// Seven store requests: four reads, three writes.
pub(super) async fn end(
    news: &News,
    store: Store,
    key: &PartitionKey,
    id: &ItemId,
) -> Result<MoveOutcome, StoreError> {
    let (news, here) = (news.latest_committed(), Place { store, partition_key: key.clone() });
    let Some(before) = departing(&news, &here, id).await? else {
        return Ok(MoveOutcome::Over);
    };
    let Some(Departure { to, .. }) = before.item.departure.as_deref() else {
        return Ok(MoveOutcome::Over);
    };
    // In this order: see above.
    let location = news.location(id).await?;
    let target = news.copy_in(to.store, &to.partition_key, id).await?;
    let Some(source) = departing(&news, &here, id).await? else {
        return Ok(MoveOutcome::Over);
    };
    if source.item.departure != before.item.departure {
        return Err(StoreError::race(false));
    }
    finish(&news, &here, source, location, target).await
}

/// Ends the move of an item that departs from `here`, as it was read or written after its location and
/// what stands in its new place.
async fn finish(
    news: &News,
    here: &Place,
    source: Stored<StoredItem>,
    location: Option<Stored<Location>>,
    target: Option<Stored<NewsItem>>,
) -> Result<MoveOutcome, StoreError> {
    let Some(departure) = source.item.departure.as_deref() else {
        return Ok(MoveOutcome::Over);
    };
    let (to, id, version) = (&departure.to, &source.item.public.id, source.item.version + 1);
    let arrived = match target {
        Some(Stored { item, etag }) if item.has_version(version) => {
            // It may have gone on to a colder container.
            item.truth().map(|item| Stored { item, etag })
        }
        // It has been there, and has moved on.
        _ if is_located(location.as_ref(), version) => None,
        Some(Stored { item: NewsItem::Vacated(reserved), etag })
            if reserved.is_reserved_for(departure) =>
        {
            let arriving = source.item.arrived(departure, here.clone());
            match news.write(to.store, arriving, Some(&etag)).await {
                Ok(arrived) => Some(arrived),
                Err(refusal) if is_refusal(&refusal) => {
                    give_up(news, to.store, Stored { item: reserved, etag }).await?;
                    return take_back(news, here, &source, Some(refusal)).await;
                }
                // Another has given it up.
                Err(StoreError { reason: Reason::NotFound, .. }) => {
                    return Err(StoreError::race(false));
                }
                Err(error) => return Err(error),
            }
        }
        _ => return take_back(news, here, &source, None).await,
    };
    if !is_located(location.as_ref(), version) {
        let etag = location.as_ref().map(|location| &location.etag);
        news.locate(id, (to, version), etag).await?;
    }
    let tombstone = source.item.vacated(&to.partition_key);
    news.vacate(here.store, tombstone, Some(&source.etag)).await?;
    Ok(arrived.map_or(MoveOutcome::Over, |arrived| MoveOutcome::Arrived(Box::new(arrived))))
}

/// Returns true if the place refuses this item, and would refuse it again.
fn is_refusal(error: &StoreError) -> bool {
    matches!(error.reason, Reason::PartitionFull | Reason::TooLarge)
}

/// Takes the reservation of a move away.
async fn give_up(
    news: &News,
    store: Store,
    Stored { item: reserved, etag }: Stored<Vacated>,
) -> Result<(), StoreError> {
    if reserved.reservation.as_ref().is_some_and(|it| it.was_taken) {
        let tombstone = reserved.with_reservation(None);
        return news.vacate(store, tombstone, Some(&etag)).await.map(drop);
    }
    let (key, id) = (reserved.partition_key.as_str(), reserved.id.as_str());
    match news.container(store).delete(key, id, &etag).await {
        Err(StoreError { reason: Reason::NotFound, .. }) => Err(StoreError::race(false)),
        deleted => deleted,
    }
}

async fn take_back(
    news: &News,
    here: &Place,
    source: &Stored<StoredItem>,
    refusal: Option<StoreError>,
) -> Result<MoveOutcome, StoreError> {
    news.write(here.store, source.item.staying(), Some(&source.etag)).await?;
    tracing::warn!(
        item.id = source.item.public.id.as_str(),
        reason = refusal.as_ref().map(|refusal| tracing::field::display(refusal.reason)),
        "Took the move of a feed item back"
    );
    Ok(MoveOutcome::TakenBack(refusal))
}

/// Returns true if a departing item, as a reader has met it, stands in its new place, or has moved on
/// from there.
pub(super) async fn has_arrived(news: &News, item: &StoredItem) -> Result<bool, StoreError> {
    let Some(Departure { to, .. }) = item.departure.as_deref() else { return Ok(false) };
    let (id, version) = (&item.public.id, item.version + 1);
    let target = news.copy_in(to.store, &to.partition_key, id).await?;
    if target.is_some_and(|target| target.item.has_version(version)) {
        return Ok(true);
    }
    let location = news.location(id).await?;
    Ok(is_located(location.as_ref(), version))
}

/// Returns true if a move that brings the item this version has come as far as the location.
fn is_located(location: Option<&Stored<Location>>, version: u64) -> bool {
    location.is_some_and(|location| location.item.version >= version)
}

/// Returns the item at a place, if it departs from there.
async fn departing(
    news: &News,
    here: &Place,
    id: &ItemId,
) -> Result<Option<Stored<StoredItem>>, StoreError> {
    let found = news.copy_in(here.store, &here.partition_key, id).await?;
    let Some(Stored { item, etag }) = found else { return Ok(None) };
    match item.truth() {
        Some(item) if item.departure.is_some() => Ok(Some(Stored { item, etag })),
        Some(item) if item.state == CopyState::Departing => Err(StoreError::unreadable()),
        _ => Ok(None),
    }
}

/// Returns the ETag of what an item may be written over: a tombstone, or a copy that has gone on. An
/// item that has come meanwhile is a lost race.
pub(super) fn vacant(found: Stored<NewsItem>) -> Result<ETag, StoreError> {
    match found.item.truth() {
        None => Ok(found.etag),
        Some(_) => Err(StoreError::race(false)),
    }
}
