//! The recent work of this instance and its cost: requests and batches, in memory, for a page or a tool that
//! shows what each one has used.
//!
//! The records are off unless [`start`](super::start) is told otherwise, and then cost nothing. They name
//! partition keys, which may be ids of users: so they are for callers with a key, as dead letters are. The
//! memory is bounded: [`MAX_RECORDS`] records with [`MAX_PARTITIONS`] partitions each. Each instance has its
//! own records, and they end with it; nothing depends on them.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, OnceLock},
    time::Duration,
};

use schemars::JsonSchema;
use serde::Serialize;

use super::{Cost, milliseconds};
use crate::{
    lock::lock,
    values::{Timestamp, fresh_id},
};

const MAX_RECORDS: usize = 300;

const MAX_PARTITIONS: usize = 16;

const MAX_POSITIONS: usize = 16;

const MAX_KEY_CHARACTERS: usize = 100;

tokio::task_local! {
    /// The details of the work of the current task; none while nothing is recorded.
    static DETAIL: Option<SharedDetail>;
}

type SharedDetail = Arc<Mutex<WorkDetail>>;

/// A request or a batch of the change feed, and its cost.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct WorkRecord {
    /// The number of the record, which grows.
    sequence: u64,
    /// The function.
    #[schemars(example = &"CopyRooms")]
    function: &'static str,
    /// The time of its end.
    ended_at: Timestamp,
    /// Its duration in milliseconds.
    duration_ms: f64,
    /// Its request units.
    request_units: f64,
    /// The requests to the store, of which the SDK has repeated some.
    store_requests: u64,
    /// The requests among them that the store has refused with a 429.
    throttled: u64,
    #[serde(flatten)]
    detail: WorkDetail,
    /// The request, if it is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    request: Option<RequestRecord>,
    /// The batch, if it is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    batch: Option<BatchRecord>,
}

/// The cost of waiting for copies.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct WaitingCost {
    /// The request units.
    pub request_units: f64,
    /// The requests to the store.
    pub store_requests: u64,
}

/// A logical partition that was used.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct UsedPartition {
    /// The container.
    #[schemars(example = &"rooms")]
    pub container: &'static str,
    /// The partition key, cut to 100 characters; none of a query of several partitions.
    #[schemars(example = &"building-2")]
    pub key: Option<String>,
    /// The request units.
    pub request_units: f64,
    /// The requests to the store.
    pub store_requests: u64,
}

/// A physical partition that was used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct PhysicalPartition {
    /// The container.
    #[schemars(example = &"rooms")]
    pub container: String,
    /// The id of its range of partition keys.
    #[schemars(example = &"0")]
    pub id: String,
}

/// The position of a write in the change feed of its container.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct WrittenPosition {
    /// The container.
    #[schemars(example = &"rooms")]
    pub container: String,
    /// The physical partition.
    #[schemars(example = &"0")]
    pub partition: String,
    /// The number of the write (LSN).
    pub lsn: u64,
}

/// A request.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct RequestRecord {
    /// The method.
    #[schemars(example = &"GET")]
    pub method: &'static str,
    /// The template of the route.
    #[schemars(example = &"/api/rooms/{roomId}")]
    pub route: String,
    /// The status of the answer.
    pub status: u16,
}

/// A batch of the change feed.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct BatchRecord {
    /// The container whose change feed is read.
    #[schemars(example = &"rooms")]
    pub container: &'static str,
    /// The changes that were delivered.
    pub delivered: usize,
    /// The changes that have changed a copy.
    pub applied: usize,
    /// The changes that have changed nothing.
    pub unchanged: usize,
    /// The changes that were older than a copy.
    pub older: usize,
    /// The changes that became dead letters.
    pub dead_letters: usize,
    /// The changes that were not applied.
    pub failed: usize,
    /// The wait of the oldest change in milliseconds; none of a rebuild.
    pub lag_ms: Option<u64>,
    /// The position of the last change (LSN), as the change feed names it.
    pub lsn: Option<u64>,
}

/// The partitions that work has used.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct WorkDetail {
    /// The logical partitions; the first 16.
    partitions: Vec<UsedPartition>,
    /// The number of uses of further logical partitions.
    further_uses: usize,
    /// The physical partitions; the first 16.
    physical_partitions: Vec<PhysicalPartition>,
    /// The positions of its writes; the first 16.
    written: Vec<WrittenPosition>,
    /// The part of the cost that was for waiting until copies had the caller's writes.
    #[serde(skip_serializing_if = "Option::is_none")]
    waiting: Option<WaitingCost>,
}

struct RecentWork {
    instance: String,
    last: u64,
    records: VecDeque<WorkRecord>,
}

static RECENT: OnceLock<Mutex<RecentWork>> = OnceLock::new();

pub(super) fn start() {
    RECENT.get_or_init(|| {
        let work = RecentWork { instance: fresh_id(), last: 0, records: VecDeque::new() };
        Mutex::new(work)
    });
}

pub(crate) fn recent_work(after: u64) -> Option<(String, u64, Vec<WorkRecord>)> {
    let recent = lock(RECENT.get()?);
    let records = recent.records.iter().filter(|record| record.sequence > after).cloned();
    Some((recent.instance.clone(), recent.last, records.collect()))
}

pub(crate) async fn followed<F: Future>(work: F) -> (F::Output, Option<WorkDetail>) {
    let detail = RECENT.get().map(|_| SharedDetail::default());
    let output = DETAIL.scope(detail.clone(), work).await;
    (output, detail.map(|detail| lock(&detail).clone()))
}

pub(crate) async fn followed_apart<F: Future>(waiting: F) -> F::Output {
    let (output, detail) = followed(waiting).await;
    if let Some(detail) = detail.filter(|detail| !detail.partitions.is_empty()) {
        with_detail(|own| {
            let cost = own.waiting.get_or_insert_default();
            for one in &detail.partitions {
                cost.request_units += one.request_units;
                cost.store_requests += one.store_requests;
            }
        });
    }
    output
}

pub(crate) fn record(
    function: &'static str,
    duration: Duration,
    cost: Cost,
    detail: Option<WorkDetail>,
    (request, batch): (Option<RequestRecord>, Option<BatchRecord>),
) {
    let (Some(recent), Some(detail)) = (RECENT.get(), detail) else { return };
    let mut recent = lock(recent);
    recent.last += 1;
    let record = WorkRecord {
        sequence: recent.last,
        function,
        ended_at: Timestamp::now(),
        duration_ms: milliseconds(duration),
        request_units: cost.request_units,
        store_requests: cost.requests,
        throttled: cost.throttled,
        detail,
        request,
        batch,
    };
    if recent.records.len() == MAX_RECORDS {
        recent.records.pop_front();
    }
    recent.records.push_back(record);
}

pub(super) fn note_partition(container: &'static str, key: Option<&str>, cost: Cost) {
    with_detail(|detail| {
        let key = key.map(|key| key.chars().take(MAX_KEY_CHARACTERS).collect());
        let Cost { request_units, requests: store_requests, .. } = cost;
        detail.add_partition(UsedPartition { container, key, request_units, store_requests });
    });
}

/// `is_change` is true for writes that the change feed delivers.
pub(crate) fn note_positions<'a>(
    container: &str,
    is_change: bool,
    positions: impl Iterator<Item = (&'a str, u64)>,
) {
    with_detail(|detail| {
        for (partition, lsn) in positions {
            let (container, partition) = (container.to_owned(), partition.to_owned());
            let id = partition.clone();
            detail.add_physical(PhysicalPartition { container: container.clone(), id });
            if is_change {
                detail.add_written(WrittenPosition { container, partition, lsn });
            }
        }
    });
}

fn with_detail(note: impl FnOnce(&mut WorkDetail)) {
    // Outside of recorded work, the detail is not needed.
    let _ = DETAIL.try_with(|detail| {
        if let Some(detail) = detail {
            note(&mut lock(detail));
        }
    });
}

impl WorkDetail {
    pub(crate) fn note_share(&self, members: usize) {
        with_detail(|detail| {
            #[expect(clippy::cast_precision_loss, reason = "a group has few members")]
            let members = members.max(1) as f64;
            for one in &self.partitions {
                let request_units = one.request_units / members;
                detail.add_partition(UsedPartition { request_units, ..one.clone() });
            }
            detail.further_uses += self.further_uses;
            for one in &self.physical_partitions {
                detail.add_physical(one.clone());
            }
            for one in &self.written {
                detail.add_written(one.clone());
            }
        });
    }

    fn add_partition(&mut self, one: UsedPartition) {
        let mut known = self.partitions.iter_mut();
        let same =
            |known: &&mut UsedPartition| known.container == one.container && known.key == one.key;
        if let Some(known) = known.find(same) {
            known.request_units += one.request_units;
            known.store_requests += one.store_requests;
        } else if self.partitions.len() < MAX_PARTITIONS {
            self.partitions.push(one);
        } else {
            self.further_uses += 1;
        }
    }

    fn add_physical(&mut self, one: PhysicalPartition) {
        if self.physical_partitions.len() < MAX_PARTITIONS
            && !self.physical_partitions.contains(&one)
        {
            self.physical_partitions.push(one);
        }
    }

    fn add_written(&mut self, one: WrittenPosition) {
        let mut known = self.written.iter_mut();
        let same = |known: &&mut WrittenPosition| {
            known.container == one.container && known.partition == one.partition
        };
        if let Some(known) = known.find(same) {
            known.lsn = known.lsn.max(one.lsn);
        } else if self.written.len() < MAX_POSITIONS {
            self.written.push(one);
        }
    }
}
