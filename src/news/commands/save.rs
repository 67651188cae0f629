//! Stores an item: creates it, edits it where it is, or moves it.
//!
//! The [location](super::super::feeds::Location) of an item is there before the item, and decides
//! between two requests that create it at once: the second finds the location, and then the item, or
//! creates it in the same place.

use axum::http::StatusCode;
use tributary_functions::{
    cosmos::{Attempt, ETag, StoreError, Stored, retry},
    engines::{
        command::{self, Put, Wanted, Written},
        relocation::{carry, remove_carried},
    },
    http::ApiError,
    values::CommandId,
};

use crate::news::{
    feeds::{Found, Location, News},
    model::{Departure, FeedItem, ItemId, NewItem, NewsItem, Place, StoredItem, Vacated},
    moves::{self, vacant},
};

/// What became of an item.
#[derive(Debug)]
pub(super) struct Saved {
    /// 201 or 200.
    pub(super) status: StatusCode,
    pub(super) item: Stored<FeedItem>,
}

/// Stores an item.
///
/// A new item takes three store requests: the location is looked for and written, then the item. An
/// edit takes as many, and one more for each container before its own. A move takes eight.
pub(super) async fn save(
    news: &News,
    new: &NewItem,
    command: &CommandId,
) -> Result<Saved, ApiError> {
    let save = Save { new, id: new.id(), command };
    retry(async |attempt: Attempt| save.attempt(&news.reading(attempt.reads), attempt).await).await
}

struct Save<'a> {
    new: &'a NewItem,
    id: ItemId,
    command: &'a CommandId,
}

impl Wanted<StoredItem> for Save<'_> {
    fn has_created(&self, item: &StoredItem) -> bool {
        item.created_by == *self.command
    }
}

impl Save<'_> {
    async fn attempt(&self, news: &News, attempt: Attempt) -> Result<Saved, ApiError> {
        let (provider, id) = (&self.new.feed_provider_id, &self.id);
        let Some(location) = news.location(id).await? else {
            news.note_class(provider).await?;
            let place = news.place_of(self.new).await?;
            news.locate(id, (&place, 1), None).await?;
            return self.create(news, place, None).await;
        };
        match news.find(&location.item.place.partition_key, id).await? {
            Some(found) => self.put(news, found, location, attempt).await,
            None => self.create_again(news, location).await,
        }
    }

    async fn create(
        &self,
        news: &News,
        place: Place,
        tombstone: Option<&ETag>,
    ) -> Result<Saved, ApiError> {
        let public = self.new.stored_in(place.partition_key, news.now());
        let item = StoredItem::new(public, self.command.clone());
        Ok(created(news.write(place.store, item, tombstone).await?))
    }

    /// Creates an item whose location is there, and which is not: the attempt that wrote the location
    /// has not got further, and may still be on its way.
    ///
    /// Each such attempt writes the location first, so one that has read it before loses. Where the
    /// item is to be in another place by now, a tombstone in the former place keeps a late item out.
    async fn create_again(
        &self,
        news: &News,
        location: Stored<Location>,
    ) -> Result<Saved, ApiError> {
        // The item may have moved, or be in a container that the replica has not heard of.
        news.reads.confirmed()?;
        let (provider, id, former) = (&self.new.feed_provider_id, &self.id, &location.item.place);
        news.note_class(provider).await?;
        let place = news.place_of(self.new).await?;
        if place != *former {
            let (key, to) = (&former.partition_key, place.partition_key.clone());
            let found = news.copy_in(former.store, key, id).await?;
            let tombstone = Vacated::new(id.clone(), key.clone(), to);
            let found = found.map(vacant).transpose()?;
            news.vacate(former.store, tombstone, found.as_ref()).await?;
        }
        let found = news.copy_in(place.store, &place.partition_key, id).await?;
        let found = found.map(vacant).transpose()?;
        news.locate(id, (&place, 1), Some(&location.etag)).await?;
        self.create(news, place, found.as_ref()).await
    }

    async fn put(
        &self,
        news: &News,
        found: Found,
        location: Stored<Location>,
        attempt: Attempt,
    ) -> Result<Saved, ApiError> {
        let Found { store, stored } = found;
        let place = command::Place::from(Some(stored));
        match place.put(self.command, attempt, self) {
            Put::Done(Written { stored, is_new: true }) => Ok(created(stored)),
            Put::Done(Written { stored, is_new: false }) => Ok(updated(stored)),
            Put::Edit(item) => self.edit(news, Found { store, stored: item }, location).await,
            // It was found.
            Put::Create(_) => Err(ApiError::Internal),
        }
    }

    async fn edit(
        &self,
        news: &News,
        Found { store, stored: Stored { item, etag } }: Found,
        location: Stored<Location>,
    ) -> Result<Saved, ApiError> {
        let (key, published) = (&item.public.partition_key, item.public.published_date);
        let here = Place { store, partition_key: key.clone() };
        let left = match &item.arrived_from {
            _ if item.departure.is_some() => Some(&here),
            Some(arrival) if location.item.version < arrival.version => Some(&arrival.place),
            _ => None,
        };
        if let Some(Place { store, partition_key }) = left {
            moves::end(news, *store, partition_key, &self.id).await?;
            return Err(StoreError::race(false).into());
        }
        let to = if published == self.new.published_date {
            here.clone()
        } else {
            self.arrive(news, &here, &item).await?;
            news.place_of(self.new).await?
        };
        let public = self.new.stored_in(to.partition_key.clone(), news.now());
        if to == here {
            let edited = item.edited(public, self.command);
            return Ok(updated(news.write(store, edited, Some(&etag)).await?));
        }
        news.note_class(&self.new.feed_provider_id).await?;
        let departure = Departure { to, item: public, command: self.command.clone() };
        let found = Stored { item, etag };
        Ok(updated(moves::depart(news, &here, found, location, departure).await?))
    }

    /// Brings an item that is about to change its place in lists to the end of a relocation that may
    /// be under way, and deletes its carried copies: see
    /// [`relocation`](tributary_functions::engines::relocation).
    async fn arrive(&self, news: &News, at: &Place, item: &StoredItem) -> Result<(), ApiError> {
        let (latest, published) = (news.latest_committed(), item.public.published_date);
        let (key, id) = (&at.partition_key, self.id.as_str());
        if news.ages.may_be_leaving(at.store, published, news.progress_for(published).await?)
            && let Some(colder) = at.store.colder()
        {
            let (from, to) = (latest.container(at.store), latest.container(colder));
            carry::<NewsItem>(from, to, key.as_str(), id).await?;
            return Err(StoreError::race(false).into());
        }
        let mut store = at.store;
        while let Some(hotter) = store.hotter() {
            remove_carried::<NewsItem>(latest.container(hotter), key.as_str(), id).await?;
            store = hotter;
        }
        Ok(())
    }
}

fn created(Stored { item, etag }: Stored<StoredItem>) -> Saved {
    Saved { status: StatusCode::CREATED, item: Stored { item: item.public, etag } }
}

fn updated(Stored { item, etag }: Stored<StoredItem>) -> Saved {
    Saved { status: StatusCode::OK, item: Stored { item: item.public, etag } }
}
