//! The archive: partitions that ended years ago go to a container that is read by id only.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use tributary_functions::{
    cosmos::{Query, Scope, StoreError},
    projection::Background,
    values::Timestamp,
};

use super::{
    feeds::News,
    migration::RECORDS,
    model::{PartitionKey, Store},
    relocations::{Done, DueRow, Dues, Run},
    turns::Slice,
};

/// What was archived of a partition, and when: an item in `feeds_locations`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ArchiveRecord {
    /// The partition.
    id: PartitionKey,
    partition_key: String,
    /// How many items of the partition are in the archive.
    items: u64,
    /// When the last of them came there.
    archived_at: Timestamp,
}

fn run<'a>(news: &News, background: &'a Background, slice: Slice) -> Run<'a> {
    let before = news.ages.archived_before(news.now());
    let dues = Dues { from: Store::Warm, to: Store::Archive, before };
    Run::begin(news, background, slice, dues)
}

/// Brings partitions that are due to the archive, and writes a record for each.
pub(super) async fn archive(
    news: &News,
    background: &Background,
    slice: Slice,
) -> Result<Done, StoreError> {
    let mut run = run(news, background, slice);
    let mut records = Records { news, background, due: BTreeSet::new() };
    let ended = run_to_end(&mut run, &mut records).await;
    let recorded = records.write().await;
    let done = run.done;
    tracing::info!(
        news.archived = done.n_moved(),
        news.failed = done.failed,
        news.partitions = done.moved.len(),
        "Archived feed items"
    );
    ended.and(recorded).map(|()| done)
}

async fn run_to_end(run: &mut Run<'_>, records: &mut Records<'_>) -> Result<(), StoreError> {
    run.end_moves(&[Store::Warm, Store::Archive], Timestamp::EPOCH).await?;
    while let Some(touched) = run.next_page().await? {
        records.due.extend(touched);
        // A record that could not be written is due still.
        if let Err(error) = records.write().await {
            tracing::warn!(%error, "A record of the archive is written later");
        }
    }
    Ok(())
}

/// What a run would archive.
#[derive(Debug)]
pub(super) struct Forecast {
    /// The number of items of each partition.
    pub(super) partitions: BTreeMap<PartitionKey, u64>,
    /// True if all that is due was counted, before the slice was over.
    pub(super) is_complete: bool,
}

/// Returns what a run would archive, as far as it is counted within a slice.
pub(super) async fn dry_run(
    news: &News,
    background: &Background,
    slice: Slice,
) -> Result<Forecast, StoreError> {
    let (mut run, mut partitions) = (run(news, background, slice), BTreeMap::new());
    while let Some(rows) = run.next_rows().await? {
        for key in rows.iter().filter_map(DueRow::partition_key) {
            *partitions.entry(key).or_default() += 1;
        }
    }
    Ok(Forecast { partitions, is_complete: run.has_asked_for_all() })
}

/// The records of a run: each is written as soon as it is true, and again when more has come.
struct Records<'a> {
    news: &'a News,
    background: &'a Background,
    /// Partitions whose record is not written yet.
    due: BTreeSet<PartitionKey>,
}

impl Records<'_> {
    async fn write(&mut self) -> Result<(), StoreError> {
        while let Some(key) = self.due.first().cloned() {
            self.background.pacer.charge(note(self.news, &key)).await?;
            self.due.remove(&key);
        }
        Ok(())
    }
}

async fn note(news: &News, key: &PartitionKey) -> Result<(), StoreError> {
    let news = news.latest_committed().in_background();
    let count = Query::from("SELECT VALUE COUNT(1) FROM c WHERE c.partitionKey = @key")
        .with_parameter("@key", key)?;
    let counts: Vec<u64> = news.archive.query(count, Scope::Partition(key.as_str()), 1).await?;
    let record = ArchiveRecord {
        id: key.clone(),
        partition_key: RECORDS.to_owned(),
        items: counts.into_iter().sum(),
        archived_at: news.now(),
    };
    news.locations.upsert(RECORDS, key.as_str(), &record).await
}
