//! The storage of an item: creates it, edits it in its place, or moves it.
//!
//! The location of an item is written before the item. It decides between two requests that create
//! the item at once: the second finds the location, and then finds the item or creates it in the
//! same place.
//!
//! Each attempt asks the [`Decision`] for its next step and takes it, until its last step.

mod decision;

use axum::http::StatusCode;
use tributary_functions::{
    cosmos::{Attempt, ETag, StoreError, Stored, Unconfirmed, retry},
    http::ApiError,
    values::CommandId,
};

use self::decision::{AttemptReads, Decision, SaveStep};
use crate::{
    model::{FeedItem, ItemId, NewItem},
    moves::{
        self, Place, Places, StoredItem, Vacated, move_to_colder, remove_carried_copy, vacant,
    },
    state::News,
};

/// A stored item, with the status of its answer.
#[derive(Debug)]
pub(super) struct Saved {
    /// 201 or 200.
    pub(super) status: StatusCode,
    pub(super) item: Stored<FeedItem>,
}

/// Stores an item.
///
/// A new item takes three store requests: the location is read and written, then the item is
/// written. An edit takes three, too, and one more for each container that is hotter than its own. A
/// move takes eight.
pub(super) async fn save(
    news: &News,
    new: &NewItem,
    command: &CommandId,
) -> Result<Saved, ApiError> {
    let save = Save { new, id: new.id(), command };
    retry(async |attempt: Attempt| save.attempt(&news.reading(attempt.reads)).await).await
}

/// An item to store, and the command that stores it.
struct Save<'a> {
    new: &'a NewItem,
    id: ItemId,
    command: &'a CommandId,
}

impl Save<'_> {
    /// Takes the steps of one attempt.
    async fn attempt(&self, news: &News) -> Result<Saved, ApiError> {
        let decision = Decision {
            new: self.new,
            command: self.command,
            strategy: &news.strategy,
            ages: &news.ages,
            reads: news.reads,
            now: news.now(),
        };
        let id = self.id.as_str();
        let mut reads_so_far = AttemptReads::default();
        loop {
            match decision.next(&reads_so_far) {
                SaveStep::ReadLocation => reads_so_far.location = news.location(id).await?.into(),
                SaveStep::Find(key) => reads_so_far.found = news.find(&key, id).await?.into(),
                SaveStep::ReadProgress => {
                    reads_so_far.migrated = Some(news.migrated().await?.all_before);
                }
                SaveStep::RemoveCarried { partition_key, tiers } => {
                    let latest = news.latest_committed();
                    for tier in tiers {
                        let hotter = latest.container(tier);
                        remove_carried_copy(hotter, partition_key.as_ref(), id).await?;
                    }
                    reads_so_far.has_no_carried_copy = true;
                }
                SaveStep::Confirm => return Err(Unconfirmed.into()),
                SaveStep::EndMove(from) => {
                    moves::end(news, &from, id).await?;
                    return Err(StoreError::race(false).into());
                }
                SaveStep::EndMoveToColder { from, to } => {
                    let latest = news.latest_committed();
                    let key = from.partition_key.as_ref();
                    move_to_colder(latest.container(from.tier), latest.container(to), key, id)
                        .await?;
                    return Err(StoreError::race(false).into());
                }
                SaveStep::Create(place) => {
                    news.record_key_class(&self.new.feed_provider_id).await?;
                    news.locate(id, (&place, 1), None).await?;
                    return self.create(news, place, None).await;
                }
                SaveStep::CreateAgain { place, former, location } => {
                    news.record_key_class(&self.new.feed_provider_id).await?;
                    if let Some(former) = former {
                        self.keep_out_of(news, &former, &place).await?;
                    }
                    let found = news.slot(&place, id).await?.map(vacant).transpose()?;
                    news.locate(id, (&place, 1), Some(&location)).await?;
                    return self.create(news, place, found.as_ref()).await;
                }
                SaveStep::Edit { tier, item, etag } => {
                    return Ok(updated(news.write(tier, item, Some(&etag)).await?));
                }
                SaveStep::Move { here, item, location, departure } => {
                    news.record_key_class(&self.new.feed_provider_id).await?;
                    let moved = moves::depart(news, &here, *item, location, departure).await?;
                    return Ok(updated(moved));
                }
                SaveStep::Created(item) => return Ok(created(item)),
                SaveStep::Edited(item) => return Ok(updated(item)),
            }
        }
    }

    async fn create(
        &self,
        news: &News,
        place: Place,
        over: Option<&ETag>,
    ) -> Result<Saved, ApiError> {
        let public = self.new.stored_in(place.partition_key, news.now());
        let item = StoredItem::new(public, self.command.clone());
        Ok(created(news.write(place.tier, item, over).await?))
    }

    /// Leaves a tombstone in the former place of an item that was not created there. The attempt
    /// that wrote the location may still be under way: the tombstone makes its create fail.
    async fn keep_out_of(&self, news: &News, former: &Place, to: &Place) -> Result<(), StoreError> {
        let id = self.id.as_str();
        let found = news.slot(former, id).await?.map(vacant).transpose()?;
        let tombstone = Vacated::new(id, former.partition_key.clone(), to.partition_key.clone());
        news.vacate(former.tier, tombstone, found.as_ref()).await.map(drop)
    }
}

fn created(Stored { item, etag }: Stored<StoredItem>) -> Saved {
    Saved { status: StatusCode::CREATED, item: Stored { item: item.public, etag } }
}

fn updated(Stored { item, etag }: Stored<StoredItem>) -> Saved {
    Saved { status: StatusCode::OK, item: Stored { item: item.public, etag } }
}
