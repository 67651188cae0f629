//! The place of an item: its container, by the item's age, and its partition.

use std::time::Duration;

use cosmos_model::partitioning::period::Granularity;
use serde::{Deserialize, Serialize};
use tributary_functions::values::Timestamp;

use super::{NewItem, Strategy};
use crate::moves::Place;

/// The containers, from the hottest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Tier {
    /// `feeds_current`: the new items.
    Hot,
    /// `feeds_historical`.
    Warm,
    /// `feeds_archive`: readable by id only.
    Archive,
}

impl Tier {
    /// All tiers, from the hottest.
    pub const ALL: [Self; 3] = [Self::Hot, Self::Warm, Self::Archive];

    pub fn colder(self) -> Option<Self> {
        Self::ALL.into_iter().find(|tier| *tier > self)
    }

    pub fn hotter(self) -> Option<Self> {
        Self::ALL.into_iter().rev().find(|tier| *tier < self)
    }

    /// Returns the name of the container in `x-containers-queried` and in the log.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Hot => "hot",
            Self::Warm => "warm",
            Self::Archive => "archive",
        }
    }
}

/// The current time and the progress of the migration, which decide about places.
#[derive(Debug, Clone, Copy)]
pub struct Progress {
    pub now: Timestamp,
    /// No item that was published before this moment is in the hot container alone, and no such
    /// item comes there, even while the age at which items leave the hot container is raised.
    pub migrated_before: Timestamp,
}

impl Progress {
    /// Returns the progress for an item of the last day; `None` for an older one.
    ///
    /// The age at which items leave the hot container is at least a day. So the migration cannot
    /// have reached an item of the last day, and no progress has to be read.
    pub fn for_young_item(published: Timestamp, now: Timestamp) -> Option<Self> {
        let is_young = published >= now.before(Ages::MIN_MIGRATE_AFTER);
        is_young.then_some(Self { now, migrated_before: Timestamp::EPOCH })
    }
}

/// The ages at which items go from container to container.
///
/// Clocks of instances differ, and a request may be slow. So readers, writers and the migration use
/// different borders, with a distance between them, in [`Ages::SLACK`]s:
///
/// | age | consequence |
/// | --- | --- |
/// | up to `migrate_after` + ½ | readers read the hot container alone |
/// | up to `migrate_after` + 1 | writers put a new item into the hot container, and edit it there |
/// | from `migrate_after` + 1 | writers assume that a run may be bringing it to the warm container |
/// | from `migrate_after` + 2 | the migration takes it |
///
/// So an item that readers seek in the hot container alone is there, even if one clock is a little
/// fast.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ages {
    /// The age at which an item leaves the hot container.
    pub migrate_after: Duration,
    /// The years between the end of a partition and its move out of the warm container.
    pub archive_after_years: u16,
}

impl Ages {
    /// The distance between two borders. Half of it is longer than the difference between the
    /// clocks of two instances, and longer than a request takes (the host ends a function after 10
    /// minutes).
    pub const SLACK: Duration = Duration::from_hours(1);

    /// The least [`Self::migrate_after`].
    pub const MIN_MIGRATE_AFTER: Duration = Duration::from_hours(24);

    /// Returns the moment from which on every item is in the hot container.
    pub fn hot_since(&self, now: Timestamp) -> Timestamp {
        now.before(self.migrate_after + Self::SLACK / 2)
    }

    /// Returns the moment before which a published item is to be migrated.
    pub fn migrated_before(&self, now: Timestamp) -> Timestamp {
        now.before(self.migrate_after + 2 * Self::SLACK)
    }

    /// Returns the moment before which a published item is to be archived: the items of partitions
    /// of quarters that ended years ago.
    pub fn archived_before(&self, now: Timestamp) -> Timestamp {
        self.archive_border(now.before(2 * Self::SLACK))
    }

    pub fn tier(&self, published: Timestamp, at: Progress) -> Tier {
        if published >= self.leaves_hot_before(at) {
            Tier::Hot
        } else if published < self.archive_border(at.now.before(Self::SLACK)) {
            Tier::Archive
        } else {
            Tier::Warm
        }
    }

    /// Returns true if an item may be leaving a container: a run may be copying it.
    pub fn may_be_leaving(&self, tier: Tier, published: Timestamp, at: Progress) -> bool {
        match tier {
            Tier::Hot => published < self.leaves_hot_before(at),
            Tier::Warm => published < self.archive_border(at.now),
            Tier::Archive => false,
        }
    }

    /// Returns the coldest container that an item of this age may be in.
    pub fn coldest(&self, published: Timestamp, at: Progress) -> Tier {
        let leaves = |tier: &Tier| self.may_be_leaving(*tier, published, at);
        let colder = |tier: &Tier| tier.colder().filter(|_| leaves(tier));
        std::iter::successors(Some(Tier::Hot), colder).last().unwrap_or(Tier::Hot)
    }

    /// Returns the moment before which a published item may be leaving the hot container, or has left
    /// it.
    fn leaves_hot_before(&self, at: Progress) -> Timestamp {
        at.now.before(self.migrate_after + Self::SLACK).max(at.migrated_before)
    }

    /// Returns the start of the quarter that was `archive_after_years` before a moment. All months and
    /// quarters before that start are over.
    fn archive_border(&self, moment: Timestamp) -> Timestamp {
        let moment = moment.years_before(self.archive_after_years);
        Granularity::Quarter.period(moment.into()).start().into()
    }
}

impl Strategy {
    pub fn place(&self, ages: &Ages, new: &NewItem, at: Progress) -> Place {
        let provider = &new.feed_provider_id;
        let published = new.published_date;
        let partition_key = self.class(provider).key(provider, published);
        Place { tier: ages.tier(published, at), partition_key }
    }
}
