//! The progress of the migration: the record of it, and the memory of this process.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use serde::{Deserialize, Serialize};
use tributary_functions::values::Timestamp;

use super::model::Ages;

/// The partition of the records of the migration and the archive. No provider has this id.
pub(super) const RECORDS: &str = "~records";
/// The id of the [`ProgressRecord`].
pub(super) const PROGRESS: &str = "migration";

/// The time for which the progress is remembered. An older progress is true as well: by it, readers
/// only read more than they need.
const AGE: Duration = Duration::from_mins(1);

/// The progress of the migration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Migrated {
    /// No item that was published before this moment is in the hot container alone, and every
    /// replica shows that.
    pub all_before: Timestamp,
    /// An item that was published from this moment on is not in the warm container alone, or has
    /// been for less time than its carried copy stays.
    pub none_since: Timestamp,
}

impl Migrated {
    /// Nothing is migrated.
    pub(super) const NOTHING: Self =
        Self { all_before: Timestamp::EPOCH, none_since: Timestamp::EPOCH };
}

/// The record of the migration's progress. The items that were published before it are in the warm
/// container, or a colder one, and an item that is stored with such a date goes there, too.
///
/// The progress never goes back. So it stays true when the age at which items leave the hot
/// container is raised: writers put no item before it into the hot container ([`Ages::tier`]), and
/// each run also brings over the items that an instance with another age has put there.
///
/// A reader uses a progress an [`Ages::SLACK`] after it was written, and the one before until then:
/// the replica that answers the reader may not have the copies of the last run yet.
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
    /// The record before this one.
    formerly: Timestamp,
}

impl ProgressRecord {
    /// Returns the new record, which follows the one before.
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
            id: PROGRESS.to_owned(),
            partition_key: RECORDS.to_owned(),
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

    /// Returns the progress that readers use.
    pub(super) fn believed(&self, now: Timestamp) -> Migrated {
        // guard: news: readers believe the progress of the migration later => `true`
        let all_before = if self.is_settled(now) { self.migrated_before } else { self.formerly };
        Migrated { all_before, none_since: self.none_since }
    }
}

/// The progress of the migration, as of at most a minute ago. Cloning is cheap.
#[derive(Debug, Clone, Default)]
pub(super) struct KnownProgress(Arc<Mutex<Option<(Instant, Migrated)>>>);

impl KnownProgress {
    pub(super) fn get(&self) -> Option<Migrated> {
        let known = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.filter(|(since, _)| since.elapsed() < AGE).map(|(_, migrated)| migrated)
    }

    pub(super) fn set(&self, migrated: Migrated) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some((Instant::now(), migrated));
    }
}
