//! The archive: partitions that ended years ago go to a container that is read by id only.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{
    feeds::News,
    migration::RECORDS,
    model::{PartitionKey, Store},
    relocations::{Done, Dues, Slice, end_moves},
};
use crate::{
    cosmos::{Query, Scope, StoreError},
    projection::Background,
    values::Timestamp,
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

fn dues(news: &News) -> Dues {
    let before = news.ages.archived_before(news.now());
    Dues { from: Store::Warm, to: Store::Archive, before, whole_partitions: true }
}

/// Brings partitions that are due to the archive, and writes a record for each.
pub(super) async fn archive(
    news: &News,
    background: &Background,
    slice: Slice,
) -> Result<Done, StoreError> {
    end_moves(&news.in_background(), Store::Archive).await?;
    let done = dues(news).relocate(news, background, slice).await?;
    for key in done.moved.keys() {
        note(news, key).await?;
    }
    tracing::info!(
        news.archived = done.n_moved(),
        news.failed = done.failed,
        news.partitions = done.moved.len(),
        "Archived feed items"
    );
    Ok(done)
}

/// Returns what a run would archive: the number of items of each partition.
pub(super) async fn dry_run(news: &News) -> Result<BTreeMap<PartitionKey, u64>, StoreError> {
    let (dues, news) = (dues(news), news.in_background());
    let (mut partitions, mut last) = (BTreeMap::new(), None);
    loop {
        let page = dues.page(&news, last.as_ref()).await?;
        for due in page.iter().filter(|due| dues.includes(due)) {
            *partitions.entry(due.partition_key.clone()).or_default() += 1;
        }
        match page.last().cloned() {
            Some(end) => last = Some(end),
            None => return Ok(partitions),
        }
    }
}

async fn note(news: &News, key: &PartitionKey) -> Result<(), StoreError> {
    let news = news.latest_committed();
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
