//! A run that moves due items to a colder container, in a slice of time.
//!
//! A run ends the moves that a crash has left (`unfinished`). Then it asks for the due items, oldest
//! first, and moves them one by one. A moved item is no longer due, so the next run continues with the
//! remaining items, whatever ended this run.
//!
//! *A run ends inside its slice.* Each page and each item waits for the background budget, and none begins
//! after the deadline ([`Turns`]). The moves have half of the slice.
//!
//! *A bad item stops no other.* The log names it, the run counts it, and the item stays where it is. Rows
//! are read in any form, so an unreadable item does not end its page.
//!
//! *No item expires before it is in the colder container*: an item gets its time to live in the write that
//! makes it a carried copy. So a run that is late, or never made, loses nothing.
//!
//! *A reader of the colder container alone misses no item* before the moment that
//! [`MovingRun::moved_before`] returns: the oldest item that the run had to leave bounds it. The moves that
//! could not be ended bound it, too ([`UnfinishedMoves::hold`]).

use std::collections::{BTreeMap, BTreeSet};

use futures::{FutureExt, StreamExt, stream};
use serde::Deserialize;
use serde_json::Value;
use tributary_functions::{
    cosmos::{Background, JsonText, Turns},
    prelude::*,
};

use super::{
    age::{AgeMoveOutcome, move_to_colder},
    edit,
    stored::Place,
    unfinished::{self, UnfinishedMoves},
};
use crate::{
    News,
    model::{PartitionKey, Tier},
};

/// The items of one page of a query.
pub(super) const PAGE_ITEMS: u32 = 100;

pub(super) const MAX_CONCURRENT_MOVES: usize = 8;

/// The longest duration of a run, in slices of the background, which are 15 s.
#[derive(Debug, Clone, Copy)]
pub struct RunSlice(u32);

impl RunSlice {
    /// The duration for a timer: 4 minutes. The host ends a function after 10.
    pub const TIMER: Self = Self(16);
    /// The duration for a caller that waits: 1 minute. A caller over HTTP has 230 seconds.
    pub const CALL: Self = Self(4);
}

#[derive(Debug, Clone, Copy)]
pub struct DueItems {
    pub from: Tier,
    pub to: Tier,
    /// The end of the due dates: items of an earlier date are due.
    pub before: Timestamp,
}

/// The outcome of a run.
#[derive(Debug, Default)]
pub struct RunOutcome {
    pub moved: BTreeMap<PartitionKey, u64>,
    /// The number of items that were in the colder container already, since an earlier run was interrupted.
    pub already_there: u64,
    /// The number of items that could not be moved, and of moves that could not be ended.
    pub failed: u64,
    pub oldest_left: Option<Timestamp>,
    /// True if no due item remains.
    pub is_complete: bool,
}

impl RunOutcome {
    pub fn n_moved(&self) -> u64 {
        self.moved.values().sum()
    }

    fn leave(&mut self, date: Timestamp) {
        self.oldest_left = Some(self.oldest_left.map_or(date, |oldest| oldest.min(date)));
    }
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct DueItem {
    id: String,
    partition_key: PartitionKey,
    published_date: Timestamp,
    /// The place from which it has come. An unfinished move may still depart from there.
    arrived_from: Option<Place>,
}

/// A run that is under way.
pub struct MovingRun<'a> {
    news: News,
    turns_of_moves: Turns<'a>,
    turns: Turns<'a>,
    dues: DueItems,
    /// The last due item that was read.
    last: Option<JsonText>,
    has_asked_for_all: bool,
    pub outcome: RunOutcome,
}

impl<'a> MovingRun<'a> {
    /// Begins a run on containers that read the latest committed state.
    pub fn begin(
        news: News,
        background: &'a Background,
        RunSlice(slices): RunSlice,
        dues: DueItems,
    ) -> Self {
        Self {
            news,
            turns_of_moves: background.turns(slices / 2),
            turns: background.turns(slices),
            dues,
            last: None,
            has_asked_for_all: false,
            outcome: RunOutcome::default(),
        }
    }

    /// Ends the unfinished moves from some containers. The runs are known to have passed the date `passed`.
    pub async fn end_moves(
        &mut self,
        tiers: &[Tier],
        passed: Timestamp,
    ) -> Result<UnfinishedMoves, StoreError> {
        let turns = &self.turns_of_moves;
        let left = unfinished::end(&self.news, turns, tiers, passed).await?;
        self.outcome.failed += left.failed;
        Ok(left)
    }

    /// Moves the items of the next page, and returns their partitions; `None` if no item remains, or
    /// the slice is over.
    pub async fn next_page(&mut self) -> Result<Option<BTreeSet<PartitionKey>>, StoreError> {
        let Some(rows) = self.next_rows().await? else {
            self.outcome.is_complete = self.has_asked_for_all && self.outcome.failed == 0;
            return Ok(None);
        };
        let mut dues = Vec::with_capacity(rows.len());
        for row in rows {
            match row.parse::<DueItem>() {
                Some(due) => dues.push(due),
                // An item without these properties is in no list.
                None => self.note_failed(row.id().as_deref(), &StoreError::unreadable()),
            }
        }
        let news = &self.news.clone();
        let of = self.dues;
        let turns = self.turns;
        let mut ends = stream::iter(dues)
            .map(|due| async move { (turns.next(move_due(news, of, &due).boxed()).await, due) })
            .buffer_unordered(MAX_CONCURRENT_MOVES);
        let mut touched = BTreeSet::new();
        while let Some((relocated, due)) = ends.next().await {
            match relocated {
                Some(Ok(AgeMoveOutcome::Nothing)) => {}
                Some(Ok(AgeMoveOutcome::Moved)) => {
                    *self.outcome.moved.entry(due.partition_key.clone()).or_default() += 1;
                    touched.insert(due.partition_key);
                }
                Some(Ok(AgeMoveOutcome::AlreadyThere)) => {
                    self.outcome.already_there += 1;
                    touched.insert(due.partition_key);
                }
                Some(Err(error)) => {
                    self.note_failed(Some(&due.id), &error);
                    self.outcome.leave(due.published_date);
                }
                None => self.outcome.leave(due.published_date),
            }
        }
        Ok(Some(touched))
    }

    /// Counts the due items of each partition, without moving them. Returns the counts, and true if
    /// all items were counted before the slice was over.
    pub async fn count(mut self) -> Result<(BTreeMap<PartitionKey, u64>, bool), StoreError> {
        let mut partitions = BTreeMap::new();
        while let Some(rows) = self.next_rows().await? {
            for key in rows.iter().filter_map(|row| row.field("partitionKey")) {
                *partitions.entry(key).or_default() += 1;
            }
        }
        Ok((partitions, self.has_asked_for_all))
    }

    pub fn moved_before(&self) -> Timestamp {
        let asked_for = match &self.last {
            _ if self.has_asked_for_all => self.dues.before,
            Some(last) => last.field("publishedDate").unwrap_or(Timestamp::EPOCH),
            None => Timestamp::EPOCH,
        };
        self.outcome.oldest_left.map_or(asked_for, |left| left.min(asked_for))
    }

    /// Returns the next due items; `None` if there are no more, or the slice is over.
    async fn next_rows(&mut self) -> Result<Option<Vec<JsonText>>, StoreError> {
        let page = page(&self.news, self.dues, self.last.as_ref());
        let Some(rows) = self.turns.next(page).await else {
            if let Some(date) = self.last.as_ref().and_then(|last| last.field("publishedDate")) {
                self.outcome.leave(date);
            }
            return Ok(None);
        };
        let rows = rows?;
        match rows.last() {
            Some(last) => self.last = Some(last.clone()),
            None => self.has_asked_for_all = true,
        }
        Ok((!rows.is_empty()).then_some(rows))
    }

    fn note_failed(&mut self, id: Option<&str>, error: &StoreError) {
        let container = self.news.container(self.dues.from).id();
        tracing::warn!(%error, container, item.id = id, "An item stays where it is");
        self.outcome.failed += 1;
    }
}

async fn page(
    news: &News,
    dues: DueItems,
    after: Option<&JsonText>,
) -> Result<Vec<JsonText>, StoreError> {
    let page = match after {
        Some(_) => " AND c.publishedDate >= @date AND (c.publishedDate > @date OR c.id > @id)",
        None => "",
    };
    let text = format!(
        "SELECT TOP @top c.id, c.partitionKey, c.publishedDate, c.arrivedFrom FROM c WHERE \
         c.state = 'live' AND c.publishedDate < @before{page} \
         ORDER BY c.state ASC, c.publishedDate ASC, c.id ASC"
    );
    let mut query = Query::from(text)
        .with_parameter("@top", PAGE_ITEMS)?
        .with_parameter("@before", dues.before)?;
    if let Some(row) = after {
        let date: Option<Value> = row.field("publishedDate");
        query = query.with_parameter("@date", date)?.with_parameter("@id", row.id())?;
    }
    news.container(dues.from).query(query, Scope::Container, PAGE_ITEMS).await
}

/// Moves an item, after ending the move that has brought it here.
async fn move_due(
    news: &News,
    dues: DueItems,
    due: &DueItem,
) -> Result<AgeMoveOutcome, StoreError> {
    if let Some(left) = &due.arrived_from {
        retry(async |_| edit::end(news, left, &due.id).await).await?;
    }
    let from = news.container(dues.from);
    let to = news.container(dues.to);
    let key = due.partition_key.as_str();
    let id = due.id.as_str();
    retry(async |_| move_to_colder(from, to, key, id).await).await
}
