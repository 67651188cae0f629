//! The progress of the migration, and its record.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use tributary_functions::prelude::*;

use super::model::Ages;

/// The partition of the records of the migration and the archive. No provider has this id.
pub(super) const RECORDS_PARTITION: &str = "~records";
pub(super) const PROGRESS_ID: &str = "migration";

/// The longest age of a remembered progress. An older progress is true, too: with it, readers only
/// read more than they need.
pub(super) const MAX_PROGRESS_AGE: Duration = Duration::from_mins(1);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct MigrationProgress {
    /// No item that was published before this moment is in the hot container alone. Every replica
    /// shows that.
    pub all_before: Timestamp,
    /// An item that was published from this moment on is not in the warm container alone, or has
    /// been for less time than its carried copy stays.
    pub none_since: Timestamp,
}

impl MigrationProgress {
    /// Nothing is migrated.
    pub(super) const NOTHING: Self =
        Self { all_before: Timestamp::EPOCH, none_since: Timestamp::EPOCH };
}

/// The record of the migration's progress. The items that were published before `migratedBefore` are
/// in the warm container or a colder one, and an item that is stored with such a date goes there, too.
///
/// The progress never goes back. So it stays true when the age at which items leave the hot
/// container is raised: writers put no item before it into the hot container ([`Ages::tier`]), and
/// each run also brings over the items that an instance with another age has put there.
///
/// A reader uses a progress from an [`Ages::SLACK`] after its write on, and the earlier progress until
/// then: the replica that answers the reader may not have the copies of the last run yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ProgressRecord {
    id: String,
    partition_key: String,
    pub migrated_before: Timestamp,
    /// No item that was published from this moment on was migrated or stored in the warm container.
    /// An hour in advance covers the items that come until the next record.
    none_since: Timestamp,
    noted_at: Timestamp,
    /// The `migratedBefore` of the record before this one.
    formerly: Timestamp,
}

impl ProgressRecord {
    pub(super) async fn read(locations: &Container) -> ReadResult<Self> {
        locations.read(RECORDS_PARTITION, PROGRESS_ID).await
    }

    /// Returns the record that follows `known`. Its progress is never before that of `known`.
    pub(super) fn next(
        before: Timestamp,
        known: Option<&Self>,
        ages: &Ages,
        now: Timestamp,
    ) -> Self {
        let none_since = now.before(ages.migrate_after).after(Ages::SLACK);
        let formerly = known.map_or(Timestamp::EPOCH, |known| known.migrated_before);
        let earlier = known.map_or(Timestamp::EPOCH, |known| known.none_since);
        Self {
            id: PROGRESS_ID.to_owned(),
            partition_key: RECORDS_PARTITION.to_owned(),
            migrated_before: before.max(formerly),
            none_since: none_since.max(earlier),
            noted_at: now,
            formerly,
        }
    }

    /// Returns true if readers use this record.
    pub(super) fn is_settled(&self, now: Timestamp) -> bool {
        self.noted_at <= now.before(Ages::SLACK)
    }

    pub(super) fn for_readers(&self, now: Timestamp) -> MigrationProgress {
        let all_before = if self.is_settled(now) { self.migrated_before } else { self.formerly };
        MigrationProgress { all_before, none_since: self.none_since }
    }
}
