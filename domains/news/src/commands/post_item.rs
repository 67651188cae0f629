//! `POST /news/items`: creates an item, edits it in its place, or moves it.
//!
//! The location of an item is written before the item. It decides between two requests that create
//! the item at once: the second finds the location, and then finds the item or creates it in the
//! same place.

use std::iter;

use tributary_functions::{http::check_confirmed, prelude::*};

use crate::{
    model::{FeedItem, ItemId, NewItem},
    moves::{
        self, Departure, FoundItem, Location, Place, Places, StoredItem, Vacated, move_to_colder,
        remove_carried_copy, unfinished_from, vacant,
    },
    state::News,
};

/// Stores an item, or its new state if the provider has published it under this address before.
pub async fn post_item(
    State(news): State<News>,
    command: CommandId,
    JsonBody(new): JsonBody<NewItem>,
) -> Result<ItemResponse<FeedItem>, ApiError> {
    let written = save(&news, &new, &command).await?;
    let location = |StoredItem { public, .. }: &StoredItem| {
        format!("/api/news/items/{}/{}", public.partition_key, public.id)
    };
    Ok(written.answer(&written.stored.item.public, location))
}

/// Stores an item.
///
/// A new item takes three store requests: the location is read and written, then the item is
/// written. An edit takes three, too, and one more for each container that is hotter than its own.
/// A move takes eight.
pub(super) async fn save(
    news: &News,
    new: &NewItem,
    command: &CommandId,
) -> Result<WrittenItem<StoredItem>, ApiError> {
    let save = Save { new, id: new.id(), command };
    retry(async |_| save.attempt(news).await).await
}

struct Save<'a> {
    new: &'a NewItem,
    id: ItemId,
    command: &'a CommandId,
}

impl Save<'_> {
    async fn attempt(&self, news: &News) -> Result<WrittenItem<StoredItem>, ApiError> {
        let Self { new, id, command } = self;
        let id = id.as_str();
        let Some(location) = news.location(id).await? else {
            let place = news.place_of(new).await?;
            news.record_key_class(&new.feed_provider_id).await?;
            news.locate(id, (&place, 1), None).await?;
            return self.create(news, place, None).await;
        };
        let found = news.find(&location.item.place.partition_key, id).await?;
        let Some(FoundItem { tier, stored }) = found else {
            return self.create_again(news, location).await;
        };
        let Stored { item, etag } = &stored;
        if item.created_by == **command {
            return Ok(WrittenItem::created(stored));
        }
        if item.knows(command) {
            return Ok(WrittenItem::edited(stored));
        }
        let here = Place { tier, partition_key: item.public.partition_key.clone() };
        if let Some(left) = unfinished_from(item, &here, &location.item) {
            moves::end(news, &left, id).await?;
            return Err(StoreError::race(false).into());
        }
        let published = item.public.published_date;
        let to = if published == new.published_date {
            here.clone()
        } else {
            self.leave_position(news, &here, published).await?;
            news.place_of(new).await?
        };
        let public = new.stored_in(to.partition_key.clone(), news.now());
        if to == here {
            let edited = item.edited(public, command);
            return Ok(WrittenItem::edited(news.save(tier, edited, Some(etag)).await?));
        }
        news.record_key_class(&new.feed_provider_id).await?;
        let departure = Departure { to, item: public, command: (*command).clone() };
        Ok(WrittenItem::edited(moves::depart(news, &here, stored, location, departure).await?))
    }

    /// Prepares an item to change its position in lists: brings it to the colder container, as a
    /// run of the migration may be doing, and ends the attempt as a lost race; or deletes carried
    /// copies, so that no list shows the item under its former date.
    async fn leave_position(
        &self,
        news: &News,
        Place { tier, partition_key }: &Place,
        published: Timestamp,
    ) -> Result<(), StoreError> {
        let key = partition_key.as_str();
        let id = self.id.as_str();
        let latest = news.latest_committed();
        let progress = news.progress_for(published).await?;
        if news.ages.may_be_leaving(*tier, published, progress)
            && let Some(colder) = tier.colder()
        {
            move_to_colder(latest.container(*tier), latest.container(colder), key, id).await?;
            return Err(StoreError::race(false));
        }
        for hotter in iter::successors(tier.hotter(), |tier| tier.hotter()) {
            remove_carried_copy(latest.container(hotter), key, id).await?;
        }
        Ok(())
    }

    /// Creates a missing item whose location exists. The attempt that wrote the location has not
    /// written the item yet, and may still be under way.
    ///
    /// Each such attempt writes the location first, so an attempt that has read the location before
    /// loses. If the item belongs in another place by now, a tombstone in the former place makes a
    /// late create there fail.
    async fn create_again(
        &self,
        news: &News,
        Stored { item: location, etag }: Stored<Location>,
    ) -> Result<WrittenItem<StoredItem>, ApiError> {
        // The item may have moved, or be in a container that the replica does not show yet.
        check_confirmed()?;
        let id = self.id.as_str();
        let former = location.place;
        let place = news.place_of(self.new).await?;
        news.record_key_class(&self.new.feed_provider_id).await?;
        if former != place {
            let found = news.slot(&former, id).await?.map(vacant).transpose()?;
            let to = place.partition_key.clone();
            let tombstone = Vacated::new(id, former.partition_key, to);
            news.save(former.tier, tombstone, found.as_ref()).await?;
        }
        let found = news.slot(&place, id).await?.map(vacant).transpose()?;
        news.locate(id, (&place, 1), Some(&etag)).await?;
        self.create(news, place, found.as_ref()).await
    }

    async fn create(
        &self,
        news: &News,
        place: Place,
        over: Option<&ETag>,
    ) -> Result<WrittenItem<StoredItem>, ApiError> {
        let public = self.new.stored_in(place.partition_key, news.now());
        let item = StoredItem::new(public, self.command);
        Ok(WrittenItem::created(news.save(place.tier, item, over).await?))
    }
}
