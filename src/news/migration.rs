//! The migration: items that are no longer new go to the warm container.

use serde::{Deserialize, Serialize};
use tributary_functions::{
    cosmos::{Reason, StoreError, Stored},
    projection::Background,
    values::Timestamp,
};

use super::{
    feeds::News,
    metrics,
    model::{Ages, Store},
    progress::Migrated,
    relocations::{Done, Dues, Run},
    turns::Slice,
};

/// The partition of what the migration and the archive write down. No provider has this id.
pub(super) const RECORDS: &str = "~records";
const PROGRESS: &str = "migration";

/// What was published before is in the warm container, or a colder one, and what is stored with such a
/// date goes there, too.
///
/// It never goes back, so it stays true when the age at which items leave the hot container is raised:
/// writers put no item before it into the hot container ([`Ages::store`]), and each run brings along
/// what an instance with another age has put there.
///
/// A reader believes it an [`Ages::SLACK`] after it was written down, and until then the one before:
/// what a run has just copied may not be in the replica that answers the reader.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ProgressRecord {
    id: String,
    partition_key: String,
    migrated_before: Timestamp,
    /// What was published from this moment on was neither migrated nor stored in the warm container,
    /// with an hour in advance for what comes until this is written down again.
    none_since: Timestamp,
    noted_at: Timestamp,
    /// What was written down before.
    formerly: Timestamp,
}

impl ProgressRecord {
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
        let read: Option<Stored<ProgressRecord>> = self.locations.read(RECORDS, PROGRESS).await?;
        let migrated = read.map_or(Migrated::NOTHING, |Stored { item, .. }| {
            let all_before =
                if item.is_settled(self.now()) { item.migrated_before } else { item.formerly };
            Migrated { all_before, none_since: item.none_since }
        });
        self.progress.set(migrated);
        Ok(migrated)
    }

    /// Writes down how far the migration has come, over what was known before it.
    async fn note_migrated(
        &self,
        before: Timestamp,
        known: Option<&Stored<ProgressRecord>>,
    ) -> Result<(), StoreError> {
        let now = self.now();
        let none_since = now.before(self.ages.migrate_after).after(Ages::SLACK);
        let (formerly, earlier) = known.map_or((Timestamp::EPOCH, Timestamp::EPOCH), |known| {
            (known.item.migrated_before, known.item.none_since)
        });
        let progress = ProgressRecord {
            id: PROGRESS.to_owned(),
            partition_key: RECORDS.to_owned(),
            migrated_before: before.max(formerly),
            none_since: none_since.max(earlier),
            noted_at: now,
            formerly,
        };
        let etag = known.map(|progress| &progress.etag);
        match self.locations.put(RECORDS, PROGRESS, &progress, etag).await {
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
    let latest = news.latest_committed().in_background();
    let known: Option<Stored<ProgressRecord>> = latest.locations.read(RECORDS, PROGRESS).await?;
    let passed = known.as_ref().map_or(Timestamp::EPOCH, |known| known.item.migrated_before);
    let before = news.ages.migrated_before(news.now()).max(passed);
    let dues = Dues { from: Store::Hot, to: Store::Warm, before };
    let mut run = Run::begin(news, background, slice, dues);
    // Once an hour: readers believe what was written down before until then.
    let is_noted = known.as_ref().is_none_or(|known| known.item.is_settled(news.now()));
    let ended = run_to_end(&mut run, is_noted, passed).await;
    if is_noted {
        let reached = ended.as_ref().copied().unwrap_or(passed);
        latest.note_migrated(reached, known.as_ref()).await?;
    }
    let done = run.done;
    let lag = done.oldest_left.map_or(0, |oldest| before.millis_since(oldest) / 1_000);
    metrics::migration(done.n_moved(), done.failed, lag);
    tracing::info!(
        news.migrated = done.n_moved(),
        news.already_there = done.already_there,
        news.failed = done.failed,
        news.lag_seconds = lag,
        news.oldest_unmigrated = done.oldest_left.map(tracing::field::display),
        "Migrated feed items to the warm container"
    );
    ended.map(|_| done)
}

/// Ends the moves that were left and brings over what is due; returns how far that has come, if it is to
/// be noted.
async fn run_to_end(
    run: &mut Run<'_>,
    is_noted: bool,
    passed: Timestamp,
) -> Result<Timestamp, StoreError> {
    let all = [Store::Hot, Store::Warm, Store::Archive];
    let moves = run.end_moves(if is_noted { &all } else { &all[..1] }, passed).await?;
    while run.next_page().await?.is_some() {}
    Ok(moves.hold(run.all_done_before()))
}
