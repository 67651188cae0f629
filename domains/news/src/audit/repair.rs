//! Repairs of the news, with the guards that commands and the migration use.

use serde_json::Value;
use tributary_functions::{
    audit::{Obstacle, RepairResult, Suspect, Target},
    prelude::*,
};

use super::{
    NewsChecks, NewsKinds,
    divergences::{Divergence, DuplicateEvidence},
};
use crate::{
    model::{ItemId, PartitionKey, Tier},
    moves::{self, NewsItem, Place, Places, StoredItem, move_to_colder},
    state::News,
};

const MAX_LOCATION_ATTEMPTS: usize = 5;

pub(super) async fn repair(checks: &NewsChecks, suspect: &Suspect) -> RepairResult {
    let Target::Item { container, partition_key, id } = &suspect.target else {
        return Err(Obstacle::Race);
    };
    let unreadable = Obstacle::NeedsOperator("its type is unknown: restore or delete it");
    let (Some(tier), Ok(partition_key), Ok(id)) = (
        checks.tier(container),
        PartitionKey::parse(partition_key.clone()),
        ItemId::parse(id.clone()),
    ) else {
        return Err(unreadable);
    };
    let news = checks.news.latest_committed();
    let repair = ItemRepair { checks, news, at: Place { tier, partition_key }, id };
    match suspect.finding.kind {
        NewsKinds::LOCATION_MISSING | NewsKinds::LOCATION_DIFFERS => repair.repair_location().await,
        NewsKinds::ITEM_TWICE => repair.remove_duplicate().await,
        NewsKinds::ITEM_EXPIRING => repair.remove_expiry().await,
        NewsKinds::MOVE_PENDING => {
            moves::end(&repair.news, &repair.at, repair.id.as_str()).await?;
            Ok("ended the move, or took it back")
        }
        NewsKinds::KEYS_MISSING => repair.record_keys().await,
        NewsKinds::KEY_FOREIGN => Err(Obstacle::NeedsOperator(
            "lists do not find it there: read it by its id, delete it with its location, and post it",
        )),
        _ => Err(unreadable),
    }
}

struct ItemRepair<'a> {
    checks: &'a NewsChecks,
    /// The latest committed state.
    news: News,
    at: Place,
    id: ItemId,
}

impl ItemRepair<'_> {
    /// Reads the copy, and after it the divergences that it has now.
    async fn read(&self) -> Result<(Stored<StoredItem>, Vec<Divergence>), Obstacle> {
        let found = self.news.slot(&self.at, self.id.as_str()).await?;
        let stored: Stored<StoredItem> = found.and_then(Stored::of_type).ok_or(Obstacle::Race)?;
        let copies = self.checks.copies(self.id.as_str(), true).await?;
        let divergences = copies.divergences(self.at.tier, &stored.item, self.news.now());
        Ok((stored, divergences))
    }

    /// Writes the location of the item, and repeats that until the location is right. A move that
    /// ends between the read and the write may find its own location there, and so not write the
    /// location.
    async fn repair_location(&self) -> RepairResult {
        self.read().await?;
        for _ in 0..MAX_LOCATION_ATTEMPTS {
            // Read before the copies, also if it is unreadable: a location written after the copies were
            // read makes this write fail.
            let id = self.id.as_str();
            let location = self.news.locations.read::<Value>(id, id).await?.map(|it| it.etag);
            let copies = self.checks.copies(id, true).await?;
            let Some((tier, key, version)) = copies.expected_location() else {
                return Ok("wrote the location");
            };
            let partition_key = PartitionKey::parse(key).map_err(|_| Obstacle::Race)?;
            let place = Place { tier, partition_key };
            self.news.locate(id, (&place, version), location.as_ref()).await?;
        }
        Err(Obstacle::Race)
    }

    async fn remove_duplicate(&self) -> RepairResult {
        let (Stored { item, etag }, divergences) = self.read().await?;
        let evidence = divergences.into_iter().find_map(|divergence| match divergence {
            Divergence::Duplicate(evidence) => Some(evidence),
            _ => None,
        });
        match evidence.ok_or(Obstacle::Race)? {
            DuplicateEvidence::Colder(colder) => {
                self.remove_duplicate_in_partition(&item, colder).await
            }
            DuplicateEvidence::Located(to) => {
                let to = PartitionKey::parse(to).map_err(|_| Obstacle::Race)?;
                self.news.save(self.at.tier, item.vacated(&to), Some(&etag)).await?;
                Ok("wrote a tombstone: the item is in the place that its location names")
            }
            DuplicateEvidence::Unknown => {
                Err(Obstacle::NeedsOperator("both copies may be right: delete one of them"))
            }
        }
    }

    /// Removes one of two copies in one partition. If the item is old enough for the colder container,
    /// its move has not ended. Otherwise the hotter copy is the item, since readers read the
    /// hotter container alone.
    async fn remove_duplicate_in_partition(&self, item: &StoredItem, colder: Tier) -> RepairResult {
        let key = &self.at.partition_key;
        let id = self.id.as_str();
        let published = item.public.published_date;
        let progress = self.news.progress_for(published).await?;
        if colder <= self.news.ages.coldest(published, progress) {
            let from = self.news.container(self.at.tier);
            let to = self.news.container(colder);
            move_to_colder(from, to, key.as_str(), id).await?;
            return Ok("brought the item to the colder container");
        }
        let there = Place { tier: colder, partition_key: key.clone() };
        match self.news.slot(&there, id).await? {
            Some(Stored { item: NewsItem::FeedItem(copy), etag })
                if copy.version <= item.version =>
            {
                self.news.save(colder, copy.vacated(key), Some(&etag)).await?;
                Ok("wrote a tombstone in the colder container: the item is too young for it")
            }
            Some(_) => Err(Obstacle::NeedsOperator(
                "the item is too young for the colder container, which has the newer copy: delete one of them",
            )),
            None => Err(Obstacle::Race),
        }
    }

    /// Removes the time to live of a copy, which is the item again by this write.
    async fn remove_expiry(&self) -> RepairResult {
        let (Stored { item, etag }, divergences) = self.read().await?;
        if !divergences.contains(&Divergence::Expiring) {
            return Err(Obstacle::Race);
        }
        self.news.save(self.at.tier, item.kept(), Some(&etag)).await?;
        Ok("removed the time to live")
    }

    async fn record_keys(&self) -> RepairResult {
        let item = self.read().await?.0.item.public;
        let class = item.key_class().ok_or(Obstacle::Race)?;
        self.news.write_key_class(&item.feed_provider_id, class).await?;
        Ok("recorded the class of keys for the provider")
    }
}
