//! The writes of a move. The module above has the argument why it ends right.

use tributary_functions::prelude::*;

use super::{
    places::{Places, vacant},
    stored::{CopyState, Departure, Location, NewsItem, Place, Reservation, StoredItem, Vacated},
};

/// The outcome of a move.
#[derive(Debug)]
pub enum MoveOutcome {
    Arrived(Box<Stored<StoredItem>>),
    /// Another worker has ended the move, or the item has moved on.
    Over,
    /// The item stays where it is: the store refuses it in the new place, or the reservation is gone.
    TakenBack(Option<StoreError>),
}

/// Moves an item that was found at `here`, with its location. An error, such as a lost race, leaves the
/// move in any valid state. If the store refuses the item in its new place, the item stays as it is.
///
/// Six store requests: one read, five writes. If an earlier move from `departure.to` is unfinished, that
/// move is ended instead, and the error is a lost race.
pub async fn depart<P: Places>(
    places: &P,
    here: &Place,
    Stored { item, etag }: Stored<StoredItem>,
    location: Stored<Location>,
    departure: Departure,
) -> Result<Stored<StoredItem>, StoreError> {
    let to = &departure.to;
    let id = item.public.id.as_str();
    let found = places.slot(to, id).await?;
    let departs = |found: &Stored<NewsItem>| {
        found.item.item().is_some_and(|item| item.state == CopyState::Departing)
    };
    if found.as_ref().is_some_and(departs) {
        end(places, to, id).await?;
        return Err(StoreError::race(false));
    }
    let was_taken = found.as_ref().is_some_and(|found| match &found.item {
        NewsItem::Vacated(Vacated { reservation: Some(earlier), .. }) => earlier.was_taken,
        NewsItem::Vacated(_) | NewsItem::FeedItem(_) => true,
    });
    let command = departure.command.clone();
    let mut reserved = Vacated::new(id, to.partition_key.clone(), here.partition_key.clone());
    reserved.reservation = Some(Reservation { command, was_taken });
    let over = found.map(vacant).transpose()?;
    let target = places.save(to.tier, reserved, over.as_ref()).await?;
    let source = places.save(here.tier, item.departing(departure), Some(&etag)).await?;
    match finish(places, here, source, Some(location), target.of_type()).await? {
        MoveOutcome::Arrived(arrived) => Ok(*arrived),
        MoveOutcome::TakenBack(Some(refusal)) => Err(refusal),
        MoveOutcome::TakenBack(None) | MoveOutcome::Over => Err(StoreError::race(false)),
    }
}

/// Ends a move that has begun. An error, such as a lost race, leaves it in any valid state.
///
/// Seven store requests: four reads, three writes.
pub async fn end<P: Places>(places: &P, here: &Place, id: &str) -> Result<MoveOutcome, StoreError> {
    let places = places.latest();
    let Some(before) = departing(&places, here, id).await? else {
        return Ok(MoveOutcome::Over);
    };
    let Some(Departure { to, .. }) = before.item.departure.as_deref() else {
        return Ok(MoveOutcome::Over);
    };
    // The order matters: see the module's documentation.
    let target = places.slot(to, id).await?;
    let location = places.location(id).await?;
    let Some(source) = departing(&places, here, id).await? else {
        return Ok(MoveOutcome::Over);
    };
    if source.etag != before.etag {
        return Err(StoreError::race(false));
    }
    finish(&places, here, source, location, target).await
}

/// Ends the move of an item that departs from `here`. The item was read or written after its location and
/// the slot in its new place.
async fn finish<P: Places>(
    places: &P,
    here: &Place,
    source: Stored<StoredItem>,
    location: Option<Stored<Location>>,
    target: Option<Stored<NewsItem>>,
) -> Result<MoveOutcome, StoreError> {
    let Some(departure) = source.item.departure.as_deref() else {
        return Ok(MoveOutcome::Over);
    };
    let to = &departure.to;
    let id = source.item.public.id.as_str();
    let version = source.item.version + 1;
    let is_located = is_located(location.as_ref(), version);
    let arrived = match target {
        Some(Stored { item, etag }) if item.has_version(version) => {
            // A run may have relocated the item to a colder container.
            Stored { item, etag }.filter_map(NewsItem::current)
        }
        // The item has been there, and has moved on.
        _ if is_located => None,
        Some(Stored { item: NewsItem::Vacated(reserved), etag })
            if reserved.is_reserved_for(departure) =>
        {
            let arriving = source.item.arrived(departure, here.clone());
            let over = etag.with_state_of(&source.etag);
            match places.save(to.tier, arriving, Some(&over)).await {
                Ok(arrived) => Some(arrived),
                // The store would refuse the item again.
                Err(refusal)
                    if matches!(refusal.reason, Reason::PartitionFull | Reason::TooLarge) =>
                {
                    give_up(places, to, Stored { item: reserved, etag }).await?;
                    return take_back(places, here, &source, Some(refusal)).await;
                }
                // Another worker has given up the reservation.
                Err(StoreError { reason: Reason::NotFound, .. }) => {
                    return Err(StoreError::race(false));
                }
                Err(error) => return Err(error),
            }
        }
        _ => return take_back(places, here, &source, None).await,
    };
    if !is_located {
        let etag = location.as_ref().map(|location| &location.etag);
        places.locate(id, (to, version), etag).await?;
    }
    let tombstone = source.item.vacated(&to.partition_key);
    places.save(here.tier, tombstone, Some(&source.etag)).await?;
    Ok(arrived.map_or(MoveOutcome::Over, |arrived| MoveOutcome::Arrived(Box::new(arrived))))
}

/// Gives up the reservation of a move: the place is as it was before.
async fn give_up<P: Places>(
    places: &P,
    to: &Place,
    Stored { item: mut reserved, etag }: Stored<Vacated>,
) -> Result<(), StoreError> {
    if reserved.reservation.take().is_some_and(|it| it.was_taken) {
        return places.save(to.tier, reserved, Some(&etag)).await.map(drop);
    }
    match places.empty_slot(to, &reserved.id, &etag).await {
        Err(StoreError { reason: Reason::NotFound, .. }) => Err(StoreError::race(false)),
        emptied => emptied,
    }
}

async fn take_back<P: Places>(
    places: &P,
    here: &Place,
    source: &Stored<StoredItem>,
    refusal: Option<StoreError>,
) -> Result<MoveOutcome, StoreError> {
    places.save(here.tier, source.item.staying(), Some(&source.etag)).await?;
    tracing::warn!(
        item.id = source.item.public.id.as_str(),
        reason = refusal.as_ref().map(|refusal| tracing::field::display(refusal.reason)),
        "Took the move of an item back"
    );
    Ok(MoveOutcome::TakenBack(refusal))
}

/// Returns true if a departing item, as a reader has read it, is in its new place, or has moved on from
/// there.
pub async fn has_arrived<P: Places>(places: &P, item: &StoredItem) -> Result<bool, StoreError> {
    let Some(Departure { to, .. }) = item.departure.as_deref() else { return Ok(false) };
    let id = item.public.id.as_str();
    let version = item.version + 1;
    let target = places.slot(to, id).await?;
    if target.is_some_and(|target| target.item.has_version(version)) {
        return Ok(true);
    }
    let location = places.location(id).await?;
    Ok(is_located(location.as_ref(), version))
}

fn is_located(location: Option<&Stored<Location>>, version: u64) -> bool {
    location.is_some_and(|location| location.item.version >= version)
}

/// Returns the place from which an unfinished move of an item departs; `None` if no move is unfinished.
/// The item was found at `here` by this location. A command that is to write the item ends the move first.
pub fn unfinished_from(item: &StoredItem, here: &Place, location: &Location) -> Option<Place> {
    match &item.arrived_from {
        _ if item.departure.is_some() => Some(here.clone()),
        Some(arrival) if location.version < arrival.version => Some(arrival.place.clone()),
        _ => None,
    }
}

/// Reads the item at a place; `None` unless it departs from there.
async fn departing<P: Places>(
    places: &P,
    here: &Place,
    id: &str,
) -> Result<Option<Stored<StoredItem>>, StoreError> {
    let Some(Stored { item, etag }) = places.slot(here, id).await? else { return Ok(None) };
    match item.current() {
        Some(item) if item.departure.is_some() => Ok(Some(Stored { item, etag })),
        Some(item) if item.state == CopyState::Departing => Err(StoreError::unreadable()),
        _ => Ok(None),
    }
}

#[cfg(test)]
mod tests;
