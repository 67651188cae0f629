//! Where an item lives: which container, by its age.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use tributary_functions::values::Timestamp;
use tributary_partitioning::period::Granularity;

use super::{PartitionKey, ProviderId, Strategy};

/// The containers, from the hottest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Store {
    /// `feeds_current`: what is new.
    Hot,
    /// `feeds_historical`.
    Warm,
    /// `feeds_archive`: readable by id only.
    Archive,
}

/// A place that an item can have.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Place {
    /// The container.
    pub store: Store,
    /// The logical partition.
    pub partition_key: PartitionKey,
}

/// How far time and the migration have come, which decides about places.
#[derive(Debug, Clone, Copy)]
pub struct Progress {
    /// The current time.
    pub now: Timestamp,
    /// What was published before is not in the hot container alone, and nothing comes there: also
    /// while the age at which items leave the hot container is raised.
    pub migrated_before: Timestamp,
}

/// The ages at which items go from container to container.
///
/// Clocks of instances differ, and a request may be slow. So there is a distance between what readers,
/// writers and the migration take for the border, in [`Ages::SLACK`]s:
///
/// | age | what follows |
/// | --- | --- |
/// | up to `migrate_after` + ½ | readers ask the hot container alone |
/// | up to `migrate_after` + 1 | writers put a new item into the hot container, and edit it there |
/// | from `migrate_after` + 1 | writers take it for one that another may be bringing to the warm container |
/// | from `migrate_after` + 2 | the migration takes it |
///
/// So an item that readers seek in the hot container alone is there, whoever's clock is a little fast.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ages {
    /// When an item leaves the hot container.
    pub migrate_after: Duration,
    /// How many years after its end a partition leaves the warm container.
    pub archive_after_years: u16,
}

impl Ages {
    /// Half of it is longer than the clocks of two instances differ and than a request takes (the
    /// host ends a function after 10 minutes).
    pub const SLACK: Duration = Duration::from_hours(1);

    /// The least [`Self::migrate_after`].
    pub const MIN_MIGRATE_AFTER: Duration = Duration::from_hours(24);

    /// From this moment on, everything is in the hot container.
    pub fn hot_since(&self, now: Timestamp) -> Timestamp {
        now.before(self.migrate_after + Self::SLACK / 2)
    }

    /// What was published before this moment is to be migrated.
    pub fn migrated_before(&self, now: Timestamp) -> Timestamp {
        now.before(self.migrate_after + 2 * Self::SLACK)
    }

    /// What was published before this moment is to be archived: partitions of quarters that ended
    /// years ago.
    pub fn archived_before(&self, now: Timestamp) -> Timestamp {
        self.archive_border(now.before(2 * Self::SLACK))
    }

    /// Returns the container of an item that is stored now.
    pub fn store(&self, published: Timestamp, at: Progress) -> Store {
        if published >= self.leaves_hot_before(at) {
            Store::Hot
        } else if published < self.archive_border(at.now.before(Self::SLACK)) {
            Store::Archive
        } else {
            Store::Warm
        }
    }

    /// Returns true if an item may be on its way out of a container: another may be copying it.
    pub fn may_be_leaving(&self, store: Store, published: Timestamp, at: Progress) -> bool {
        match store {
            Store::Hot => published < self.leaves_hot_before(at),
            Store::Warm => published < self.archive_border(at.now),
            Store::Archive => false,
        }
    }

    /// Returns the coldest container that an item of this age may be in.
    pub fn coldest(&self, published: Timestamp, at: Progress) -> Store {
        let leaves = |store: &Store| self.may_be_leaving(*store, published, at);
        let colder = |store: &Store| store.colder().filter(|_| leaves(store));
        std::iter::successors(Some(Store::Hot), colder).last().unwrap_or(Store::Hot)
    }

    fn leaves_hot_before(&self, at: Progress) -> Timestamp {
        at.now.before(self.migrate_after + Self::SLACK).max(at.migrated_before)
    }

    /// Returns the start of the quarter so many years before a moment. Months and quarters that end by
    /// then are whole: what was published before is all of them.
    fn archive_border(&self, moment: Timestamp) -> Timestamp {
        let moment = moment.years_before(self.archive_after_years);
        Granularity::Quarter.period(moment.into()).start().into()
    }
}

impl Place {
    /// The place of an item that is stored now.
    pub fn of(
        strategy: &Strategy,
        ages: &Ages,
        provider: &ProviderId,
        published: Timestamp,
        at: Progress,
    ) -> Self {
        let partition_key = strategy.class(provider).key(provider, published);
        Self { store: ages.store(published, at), partition_key }
    }
}

impl Store {
    /// The container that items go to from this one.
    pub fn colder(self) -> Option<Self> {
        match self {
            Self::Hot => Some(Self::Warm),
            Self::Warm => Some(Self::Archive),
            Self::Archive => None,
        }
    }

    /// The container that items come from into this one.
    pub fn hotter(self) -> Option<Self> {
        match self {
            Self::Hot => None,
            Self::Warm => Some(Self::Hot),
            Self::Archive => Some(Self::Warm),
        }
    }

    /// As `x-containers-queried` and the log name it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Hot => "hot",
            Self::Warm => "warm",
            Self::Archive => "archive",
        }
    }
}
