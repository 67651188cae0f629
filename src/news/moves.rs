//! The move of an item to another place, when its published date changes.
//!
//! A place is a container and a logical partition. No transaction reaches two of them, so a move is
//! several writes:
//!
//! 1. The item gets a [`Departure`] with all that it will be, under its ETag. Readers see it as before.
//!    It waits there: whoever wants to write it ends the move first.
//! 2. The item is written to its new place.
//! 3. Its [`Location`] names the new place, and the version with which the item came there.
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
//! *A move that has been left is not made twice.* Say that it was cut off before the tombstone, and that
//! the item has moved on from its new place. Then the location has the version that this move gives, or
//! a later one: all that is left to do is the tombstone.
//!
//! *No loss, no double.* The source becomes a tombstone only when the item stands in its new place.
//! Between the two writes both are there: a reader who meets a departing item looks into the new place,
//! and leaves it out if it has arrived ([`has_arrived`]).
//!
//! *It does not meet a relocation.* An item that another may be bringing to a colder container is
//! brought there before it departs (`commands/save.rs`), and its carried copies are deleted. From then
//! on nobody brings it on: it departs.

use super::{
    feeds::{Location, News},
    model::{Departure, ItemId, PartitionKey, Store, StoredItem},
};
use crate::{
    cosmos::{StoreError, Stored},
    engines::relocation::{Carried, CopyState},
};

/// Ends a move that has begun, and returns the item in its new place; `None` when another has ended it,
/// or the item has gone on. An error leaves it in any valid state; a lost race is one.
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
    let version = source.item.version + 1;
    let arrived = match target {
        Some(Stored { item, etag }) if has_version(&item, version) => {
            // It may have gone on to a colder container.
            item.truth().map(|item| Stored { item, etag })
        }
        // It has been there, and has moved on.
        _ if is_located(location.as_ref(), version) => None,
        other => {
            let etag = other.map(|other| other.etag);
            Some(news.write(to.store, source.item.arrived(&departure), etag.as_ref()).await?)
        }
    };
    if !is_located(location.as_ref(), version) {
        let etag = location.as_ref().map(|location| &location.etag);
        news.locate(provider, id, (to, version), etag).await?;
    }
    let tombstone = source.item.vacated(&to.partition_key);
    news.vacate(store, tombstone, Some(&source.etag)).await?;
    Ok(arrived)
}

/// Returns true if a departing item, as a reader has met it, stands in its new place, or has moved on
/// from there.
pub(super) async fn has_arrived(news: &News, item: &StoredItem) -> Result<bool, StoreError> {
    let Some(Departure { to, .. }) = item.departure.as_deref() else { return Ok(false) };
    let (id, version) = (&item.public.id, item.version + 1);
    let target = news.copy_in(to.store, &to.partition_key, id).await?;
    if target.is_some_and(|target| has_version(&target.item, version)) {
        return Ok(true);
    }
    let location = news.location(&item.public.feed_provider_id, id).await?;
    Ok(is_located(location.as_ref(), version))
}

/// Returns true if a move that brings the item this version has come as far as the location.
fn is_located(location: Option<&Stored<Location>>, version: u64) -> bool {
    location.is_some_and(|location| location.item.version >= version)
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
