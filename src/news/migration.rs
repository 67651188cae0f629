//! The migration: items that are no longer new go to the warm container.

use serde::{Deserialize, Serialize};

use super::{
    feeds::News,
    model::{Ages, Store},
    progress::Migrated,
    relocations::{Done, Dues, Slice},
};
use crate::{
    cosmos::{Reason, StoreError, Stored},
    projection::Background,
    telemetry,
    values::Timestamp,
};

/// The partition of what the migration and the archive write down. No provider has this id.
pub(super) const RECORDS: &str = "~records";
const PROGRESS: &str = "migration";

/// What was published before is in the warm container, or a colder one.
///
/// A reader believes it an [`Ages::SLACK`] after it was written down, and until then the one before:
/// what a run has just copied may not be in the replica that answers the reader.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Progress {
    id: String,
    partition_key: String,
    migrated_before: Timestamp,
    noted_at: Timestamp,
    /// What was written down before.
    formerly: Timestamp,
}

impl Progress {
    fn is_settled(&self, now: Timestamp) -> bool {
        self.noted_at <= now.before(Ages::SLACK)
    }
}

impl News {
    /// Returns how far the migration has come: one point read, at most once a minute.
    pub(super) async fn migrated(&self) -> Result<Migrated, StoreError> {
        if let Some(known) = self.progress.get() {
            return Ok(known);
        }
        let read: Option<Stored<Progress>> = self.locations.read(RECORDS, PROGRESS).await?;
        let migrated = read.map_or(Migrated::NOTHING, |Stored { item, .. }| {
            let all_before =
                if item.is_settled(self.now()) { item.migrated_before } else { item.formerly };
            Migrated { all_before, none_since: item.migrated_before }
        });
        self.progress.set(migrated);
        Ok(migrated)
    }

    async fn note_migrated(&self, before: Timestamp) -> Result<(), StoreError> {
        let locations = self.locations.latest_committed();
        let read: Option<Stored<Progress>> = locations.read(RECORDS, PROGRESS).await?;
        let now = self.now();
        let is_late = |known: &Progress| known.migrated_before >= before || !known.is_settled(now);
        if read.as_ref().is_some_and(|known| is_late(&known.item)) {
            return Ok(());
        }
        let progress = Progress {
            id: PROGRESS.to_owned(),
            partition_key: RECORDS.to_owned(),
            migrated_before: before,
            noted_at: now,
            formerly: read.as_ref().map_or(Timestamp::EPOCH, |known| known.item.migrated_before),
        };
        let etag = read.as_ref().map(|progress| &progress.etag);
        match locations.put(RECORDS, PROGRESS, &progress, etag).await {
            // Another run has written down what it knows. The next one writes this.
            Err(StoreError {
                reason: Reason::Conflict | Reason::PreconditionFailed | Reason::RetryWith,
                ..
            }) => Ok(()),
            written => written.map(drop),
        }
    }
}

/// Brings what is due to the warm container.
pub(super) async fn migrate(
    news: &News,
    background: &Background,
    slice: Slice,
) -> Result<Done, StoreError> {
    let now = news.now();
    let before = news.ages.migrated_before(now);
    let dues = Dues { from: Store::Hot, to: Store::Warm, before, whole_partitions: false };
    let done = dues.relocate(news, background, slice).await?;
    if done.is_complete {
        news.note_migrated(before).await?;
    }
    let lag = done.oldest_left.map_or(0, |oldest| before.millis_since(oldest) / 1_000);
    telemetry::migration(done.n_moved(), done.failed, lag);
    tracing::info!(
        news.migrated = done.n_moved(),
        news.already_there = done.already_there,
        news.failed = done.failed,
        news.lag_seconds = lag,
        news.oldest_unmigrated = done.oldest_left.map(tracing::field::display),
        "Migrated feed items to the warm container"
    );
    Ok(done)
}
