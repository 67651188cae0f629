//! `NewsArchive`: partitions that ended years ago go to a container that is read by id only.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use tributary_functions::prelude::*;

use crate::{
    model::{PartitionKey, Tier},
    moves::run::{DueItems, MovingRun, RunOutcome, RunSlice},
    progress::RECORDS_PARTITION,
    state::News,
};

/// The record of an archived partition: an item in `feeds_locations`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ArchiveRecord {
    id: PartitionKey,
    partition_key: String,
    /// The number of items of the partition in the archive.
    items: u64,
    /// The time at which the record was written, after the last of them.
    archived_at: Timestamp,
}

pub(crate) fn archive_run(news: &News, slice: RunSlice) -> MovingRun<'_> {
    let before = news.ages.archived_before(news.now());
    let dues = DueItems { from: Tier::Warm, to: Tier::Archive, before };
    MovingRun::begin(news.latest_committed().in_background(), &news.background, slice, dues)
}

pub(crate) async fn archive(news: &News, slice: RunSlice) -> Result<RunOutcome, StoreError> {
    let mut run = archive_run(news, slice);
    let mut due = BTreeSet::new();
    let ended = run_to_end(news, &mut run, &mut due).await;
    let recorded = write_records(news, &mut due).await;
    let outcome = run.outcome;
    tracing::info!(
        news.archived = outcome.n_moved(),
        news.failed = outcome.failed,
        news.partitions = outcome.moved.len(),
        "Archived feed items"
    );
    ended.and(recorded).map(|()| outcome)
}

async fn run_to_end(
    news: &News,
    run: &mut MovingRun<'_>,
    due: &mut BTreeSet<PartitionKey>,
) -> Result<(), StoreError> {
    run.end_moves(&[Tier::Warm, Tier::Archive], Timestamp::EPOCH).await?;
    while let Some(touched) = run.next_page().await? {
        due.extend(touched);
        // A record whose write has failed is still due.
        if let Err(error) = write_records(news, due).await {
            tracing::warn!(%error, "A record of the archive is written later");
        }
    }
    Ok(())
}

/// Writes the records of partitions that are due: each after the page with the items of its
/// partition, and again after each further page with such items.
async fn write_records(news: &News, due: &mut BTreeSet<PartitionKey>) -> Result<(), StoreError> {
    while let Some(key) = due.first().cloned() {
        news.background.pacer.charge(write_record(news, &key)).await?;
        due.remove(&key);
    }
    Ok(())
}

async fn write_record(news: &News, key: &PartitionKey) -> Result<(), StoreError> {
    let news = news.latest_committed().in_background();
    let count = Query::from("SELECT VALUE COUNT(1) FROM c WHERE c.partitionKey = @key")
        .with_parameter("@key", key)?;
    let counts: Vec<u64> = news.archive.query(count, Scope::Partition(key.as_ref()), 1).await?;
    let record = ArchiveRecord {
        id: key.clone(),
        partition_key: RECORDS_PARTITION.to_owned(),
        items: counts.into_iter().sum(),
        archived_at: news.now(),
    };
    news.locations.upsert(RECORDS_PARTITION, key.as_ref(), &record).await
}
