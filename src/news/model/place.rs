//! Where an item lives: which container, by its age.

use std::time::Duration;

use tributary_functions::{engines::item_move::Tier as _, values::Timestamp};
use tributary_partitioning::period::Granularity;

use super::{NewItem, Place, Strategy, Tier};

/// How far time and the migration have come, which decides about places.
#[derive(Debug, Clone, Copy)]
pub struct Progress {
    /// The current time.
    pub now: Timestamp,
    /// What was published before is not in the hot container alone, and nothing comes there: also
    /// while the age at which items leave the hot container is raised.
    pub migrated_before: Timestamp,
}

impl Progress {
    /// Returns the progress for an item of the last day; `None` for an older one.
    ///
    /// The age at which items leave the hot container is at least a day, so the migration has not come as
    /// far: how far it has come need not be known.
    pub fn of_young(published: Timestamp, now: Timestamp) -> Option<Self> {
        let is_young = published >= now.before(Ages::MIN_MIGRATE_AFTER);
        is_young.then_some(Self { now, migrated_before: Timestamp::EPOCH })
    }
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
    pub fn tier(&self, published: Timestamp, at: Progress) -> Tier {
        if published >= self.leaves_hot_before(at) {
            Tier::Hot
        } else if published < self.archive_border(at.now.before(Self::SLACK)) {
            Tier::Archive
        } else {
            Tier::Warm
        }
    }

    /// Returns true if an item may be on its way out of a container: another may be copying it.
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

impl Strategy {
    /// Returns the place of an item that is stored now.
    pub fn place(&self, ages: &Ages, new: &NewItem, at: Progress) -> Place {
        let (provider, published) = (&new.feed_provider_id, new.published_date);
        let partition_key = self.class(provider).key(provider, published);
        Place { tier: ages.tier(published, at), partition_key }
    }
}
