//! The move of an item to another place, when its published date changes.
//!
//! A place is a container and a logical partition. No transaction reaches two of them, so a move is
//! several writes:
//!
//! 1. The item gets a [`Departure`] with all that it will be, under its ETag. Readers see it as before.
//!    It waits there: whoever wants to write it ends the move first.
//! 2. The item is written to its new place.
//! 3. Its [`Location`](super::feeds::Location) names the new place.
//! 4. A tombstone takes its old place.
//!
//! [`end`] makes the second to the fourth, whoever calls it: the command, another command that meets the
//! item, or the migration, which looks for what a crash has left.
//!
//! # Why a move ends right
//!
//! *The departure decides.* It is written under the ETag of the item, once, with the whole item in it: so
//! whoever ends the move writes the same.
//!
//! *A worker that is late does no harm.* It reads the location and the target, then the source, which
//! still departs, and writes each under what it has read. If another has ended the move meanwhile,
//! target and location have changed, and its writes are refused: also when the item has moved on, since
//! it leaves a tombstone, and when it has come back.
//!
//! *No loss, no double.* The source becomes a tombstone only when the item stands in its new place.
//! Between the two writes both are there: a reader who meets a departing item looks into the new place,
//! and leaves it out if it has arrived ([`has_arrived`]).
//!
//! *It does not meet a relocation.* An item that another may be bringing to a colder container is
//! brought there before it departs (`commands/save.rs`), and its carried copies are deleted. From then
//! on nobody brings it on: it departs.

use super::{
    feeds::News,
    model::{Departure, ItemId, PartitionKey, Store, StoredItem},
};
use crate::{
    cosmos::{StoreError, Stored},
    engines::relocation::{Carried, CopyState},
};

/// Ends a move that has begun, and returns the item in its new place; `None` when another has ended it,
/// or the item has gone on.
/// An error leaves it in any valid state; a lost race is one.
///
/// Six store requests: three reads, three writes.
pub(super) async fn end(
    news: &News,
    store: Store,
    key: &PartitionKey,
    id: &ItemId,
) -> Result<Option<Stored<StoredItem>>, StoreError> {
    let news = news.latest_committed();
    let Some(departure) = departing(&news, store, key, id).await?.map(|it| it.departure) else {
        return Ok(None);
    };
    let (to, provider) = (&departure.to, &departure.item.feed_provider_id);
    // In this order: see above.
    let location = news.location(provider, id).await?;
    let target = news.copy_in(to.store, &to.partition_key, id).await?;
    let Some(Departing { source, departure: now }) = departing(&news, store, key, id).await? else {
        return Ok(None);
    };
    if now != departure {
        return Err(StoreError::race(false));
    }
    let arrived = match target {
        Some(Stored { item, etag }) if has_version(&item, source.item.version + 1) => {
            // It may have gone on to a colder container.
            item.truth().map(|item| Stored { item, etag })
        }
        other => {
            let etag = other.map(|other| other.etag);
            Some(news.write(to.store, source.item.arrived(&departure), etag.as_ref()).await?)
        }
    };
    if location.as_ref().is_none_or(|location| location.item.place != *to) {
        news.locate(provider, id, to, location.as_ref().map(|it| &it.etag)).await?;
    }
    let tombstone = source.item.vacated(&to.partition_key);
    news.vacate(store, tombstone, Some(&source.etag)).await?;
    Ok(arrived)
}

/// Returns true if a departing item, as a reader has met it, stands in its new place.
pub(super) async fn has_arrived(news: &News, item: &StoredItem) -> Result<bool, StoreError> {
    let Some(Departure { to, .. }) = item.departure.as_deref() else { return Ok(false) };
    let target = news.copy_in(to.store, &to.partition_key, &item.public.id).await?;
    Ok(target.is_some_and(|target| has_version(&target.item, item.version + 1)))
}

struct Departing {
    source: Stored<StoredItem>,
    departure: Departure,
}

async fn departing(
    news: &News,
    store: Store,
    key: &PartitionKey,
    id: &ItemId,
) -> Result<Option<Departing>, StoreError> {
    let Some(Stored { item, etag }) = news.copy_in(store, key, id).await? else { return Ok(None) };
    let Some(item) = item.truth() else { return Ok(None) };
    let Some(departure) = item.departure.as_deref().cloned() else { return Ok(None) };
    Ok(Some(Departing { source: Stored { item, etag }, departure }))
}

/// Returns true if this is the item in this version, or in a later one.
fn has_version(item: &impl Carried, version: u64) -> bool {
    match item.state() {
        CopyState::Here(here) | CopyState::Departing(here) | CopyState::Carried(here) => {
            here >= version
        }
        CopyState::Vacated => false,
    }
}
