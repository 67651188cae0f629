//! Repairs of the news, with the guards that commands and the migration use.

use serde_json::Value;
use tributary_functions::{
    audit::{Obstacle, RepairResult, Suspect, Target},
    cosmos::{ETag, StoreError, Stored},
    engines::{
        item_move::{self, Places},
        relocation::relocate,
    },
};

use super::{
    Kinds, NewsChecks,
    judge::{Twice, Wrong},
};
use crate::{
    model::{ItemId, NewsItem, PartitionKey, Place, StoredItem, Tier},
    state::News,
};

/// The most attempts to write a location.
const ATTEMPTS: usize = 5;

pub(super) async fn repair(checks: &NewsChecks, suspect: &Suspect) -> RepairResult {
    let Target::Item { container, partition_key, id } = &suspect.target else {
        return Err(Obstacle::Race);
    };
    let unreadable = Obstacle::NeedsOperator("no program knows what it was: restore or delete it");
    let (Some(tier), Ok(partition_key), Ok(id)) = (
        checks.tier(container),
        PartitionKey::parse(partition_key.clone()),
        ItemId::parse(id.clone()),
    ) else {
        return Err(unreadable);
    };
    let news = checks.news.latest_committed();
    let repair = Repairs { checks, news, at: Place { tier, partition_key }, id };
    match suspect.finding.kind {
        Kinds::LOCATION_MISSING | Kinds::LOCATION_DIFFERS => repair.locate().await,
        Kinds::ITEM_TWICE => repair.take_one().await,
        Kinds::ITEM_EXPIRING => repair.keep().await,
        Kinds::MOVE_PENDING => {
            item_move::end(&repair.news, &repair.at, repair.id.as_str()).await?;
            Ok("ended the move, or took it back")
        }
        Kinds::KEYS_MISSING => repair.note_keys().await,
        Kinds::KEY_FOREIGN => Err(Obstacle::NeedsOperator(
            "lists do not find it there: read it by its id, delete it with its location, and post it",
        )),
        _ => Err(unreadable),
    }
}

/// The repairs of one copy of an item.
struct Repairs<'a> {
    checks: &'a NewsChecks,
    /// The latest committed state.
    news: News,
    at: Place,
    id: ItemId,
}

impl Repairs<'_> {
    /// Reads the copy, and after it the divergences that it has now.
    async fn read(&self) -> Result<(Stored<StoredItem>, Vec<Wrong>), Obstacle> {
        let found = self.news.slot(&self.at, self.id.as_str()).await?;
        let Some(Stored { item: NewsItem::Item(item), etag }) = found else {
            return Err(Obstacle::Race);
        };
        let known = self.checks.known(self.id.as_str(), true).await?;
        let wrongs = known.judge(self.at.tier, &item, self.news.now());
        Ok((Stored { item: *item, etag }, wrongs))
    }

    /// Writes the location of the item, and repeats that until the location is right. A move that
    /// ends between the read and the write may find its own location there, and so not write the
    /// location.
    async fn locate(&self) -> RepairResult {
        self.read().await?;
        for _ in 0..ATTEMPTS {
            // Read before the copies: a location written after the copies were read makes this
            // write fail.
            let location = self.news.location_etag(&self.id).await?;
            let known = self.checks.known(self.id.as_str(), true).await?;
            let Some((tier, key, version)) = known.dislocated() else {
                return Ok("wrote where it is");
            };
            let partition_key = PartitionKey::parse(key).map_err(|_| Obstacle::Race)?;
            let place = Place { tier, partition_key };
            self.news.locate(self.id.as_str(), (&place, version), location.as_ref()).await?;
        }
        Err(Obstacle::Race)
    }

    /// Leaves one of two live copies, if there is evidence for one.
    async fn take_one(&self) -> RepairResult {
        let (Stored { item, etag }, wrongs) = self.read().await?;
        let twice = wrongs.into_iter().find_map(|wrong| match wrong {
            Wrong::Twice(twice) => Some(twice),
            _ => None,
        });
        match twice.ok_or(Obstacle::Race)? {
            Twice::Colder(colder) => self.take_of_partition(&item, colder).await,
            Twice::Located(to) => {
                let to = PartitionKey::parse(to).map_err(|_| Obstacle::Race)?;
                self.news.vacate(self.at.tier, item.vacated(&to), Some(&etag)).await?;
                Ok("left a tombstone: the item is where its location says")
            }
            Twice::Unknown => {
                Err(Obstacle::NeedsOperator("nothing says which is right: delete one of them"))
            }
        }
    }

    /// Leaves one of two copies in one partition. If the item is old enough for the colder
    /// container, this is a relocation that has not ended. Otherwise the hotter copy is the item:
    /// readers read that container alone.
    async fn take_of_partition(&self, item: &StoredItem, colder: Tier) -> RepairResult {
        let (key, id) = (&self.at.partition_key, self.id.as_str());
        let published = item.public.published_date;
        let progress = self.news.progress_for(published).await?;
        if colder <= self.news.ages.coldest(published, progress) {
            let (from, to) = (self.news.container(self.at.tier), self.news.container(colder));
            relocate::<NewsItem>(from, to, key.as_str(), id).await?;
            return Ok("brought it to the colder container");
        }
        let there = Place { tier: colder, partition_key: key.clone() };
        match self.news.slot(&there, id).await? {
            Some(Stored { item: NewsItem::Item(copy), etag }) if copy.version <= item.version => {
                self.news.vacate(colder, copy.vacated(key), Some(&etag)).await?;
                Ok("left a tombstone in the colder container: the item is too young for it")
            }
            Some(_) => Err(Obstacle::NeedsOperator(
                "it is too young for the colder container, which has the newer copy: delete one",
            )),
            None => Err(Obstacle::Race),
        }
    }

    /// Removes the time to live of a copy, which is the item again by this write.
    async fn keep(&self) -> RepairResult {
        let (Stored { item, etag }, wrongs) = self.read().await?;
        if !wrongs.contains(&Wrong::Expiring) {
            return Err(Obstacle::Race);
        }
        self.news.write(self.at.tier, item.kept(), Some(&etag)).await?;
        Ok("made it stay")
    }

    async fn note_keys(&self) -> RepairResult {
        let item = self.read().await?.0.item.public;
        let class = item.key_class().ok_or(Obstacle::Race)?;
        self.news.write_class(&item.feed_provider_id, class).await?;
        Ok("wrote down that its provider has such keys")
    }
}

impl News {
    /// Returns the ETag of a location, also of an unreadable one.
    async fn location_etag(&self, id: &ItemId) -> Result<Option<ETag>, StoreError> {
        let read = self.locations.read::<Value>(id.as_str(), id.as_str()).await?;
        Ok(read.map(|location| location.etag))
    }
}
